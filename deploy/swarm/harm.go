package swarm

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/lab"
)

// Can implements lab.Deployer. The first node manages the others, and has the unit that leads the trial.
func (d *Deployer) Can() lab.Capabilities {
	return lab.Capabilities{
		Faults: containers.Faults(), Links: func() error { return nil },
		Nodes: func(layout lab.Layout) []lab.Node { return containers.Nodes(layout, private.Names()) },
	}
}

// platform returns what is done to services and nodes of the swarm.
func (d *deployment) platform(layout lab.Layout) fleet.Platform[*service] {
	return fleet.Platform[*service]{
		Name: d.deployer.Name(), Faults: d.deployer.Can().Faults, SharesMemory: layout.SharedMemory > 0,
		AtOnce: atOnce, Span: lab.SpanContainer, New: d.newService, Reach: d.dialOf, Dial: d.dial,
		Started: d.reachPublished, Followed: d.awaitKnown,
		Discard: func(ctx context.Context, s *service) error { return s.remove(ctx) },
		Next:    d.next, Cut: d.cut, Clear: d.clear,
		Gone:     func(ctx context.Context, s *service) error { return s.Gone(ctx) },
		Describe: func(s *service) string { return fmt.Sprintf("container %.12s on %s", s.Container, s.node.Name) },
		NodeOf: func(s *service) string {
			if s.node == nil {
				return ""
			}
			return s.node.Name
		},
		Nodes: d.nodes(), OwnClocks: true, Made: &d.deployer.made,
		Daemons: func() ([]lab.Unit, string) { return d.cluster.Hosts.Units(), "" },
	}
}

// cut has the network of a unit drop all that comes and goes, or pass it again.
func (d *deployment) cut(ctx context.Context, s *service, off bool) error {
	if off {
		return s.filter(ctx, "--insert")
	}
	return s.filter(ctx, "--delete")
}

// filter changes the packet filter of the unit's own network.
func (s *service) filter(ctx context.Context, change string) error {
	for _, rule := range [][]string{{"INPUT", "!", "--in-interface", "lo"},
		{"OUTPUT", "!", "--out-interface", "lo"}} {
		args := append([]string{"--target=" + strconv.Itoa(s.HostPID()), "--net", "iptables", "--wait", change},
			rule...)
		text, err := exec.CommandContext(ctx, "nsenter", append(args, "--jump", "DROP")...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("filter the network of unit %s: %w: %s", s.Spec.Name, err,
				strings.TrimSpace(string(text)))
		}
	}
	return nil
}

// next has the swarm run a unit anew that has ended, with its name, environment and volume: where it was,
// or elsewhere, where its scheduler wants it, unless the layout does.
func (d *deployment) next(_ context.Context, ended *service, elsewhere bool) (*service, error) {
	s := d.newService(ended.Spec)
	s.id, s.made, s.former, s.token = ended.id, ended.made, ended.former, ended.token
	s.made.TaskTemplate.Placement = on(ended.node)
	if elsewhere {
		s.made.TaskTemplate.Placement = d.wanted(ended.Spec)
	}
	return s, nil
}

// AwaitOpen implements fleet.Instance.
func (s *service) AwaitOpen(ctx context.Context) error {
	return s.AwaitListening(ctx, s.deployment.dialOf(s.Spec.Name), upPatience)
}

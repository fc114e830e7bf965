package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// privateSite makes a private cluster, and another one if the first has ended.
type privateSite struct {
	deployer *Deployer
	folder   string // of the cluster's files
}

// Missing returns an error that names what this host lacks for pods, or nil.
func Missing() error { return private.Missing() }

// Resources of this host that a pod needs, with its shim and its pause process.
const (
	memoryPerPod      = 24 << 20
	threadsPerPod     = 30
	descriptorsPerPod = 3 // of the conductor: the control connection, the log, and one call
)

// preflight implements site.
func (s *privateSite) preflight(ctx context.Context, layout lab.Layout) error {
	d := s.deployer
	servers, contained, rest := containers.Split(layout)
	pods := slices.Concat(servers, contained)
	threads := len(pods) * threadsPerPod
	problems := []error{
		Missing(), d.processes.Preflight(ctx, rest), containers.CheckBeside(rest), fleet.CheckLimits(pods),
		fleet.CheckUnpublished(pods), links.Check(layout.Links, pods),
		containers.CheckPrograms(d.programs, images.Without(layout)), images.Check(ctx, pods),
		containers.CheckServices(layout.Services, "process or docker-host"),
		containers.CheckDescribed("Kubernetes", pods, lacks),
		process.CheckMemory(len(pods), memoryPerPod, 0), process.CheckNumbers(uint64(threads)),
		process.CheckDescriptors(len(pods) * descriptorsPerPod),
	}
	if room := len(private.Nodes()) * private.MaxPods; len(pods) > room {
		problems = append(problems, fmt.Errorf("%d units are too many for a cluster that holds %d", len(pods),
			room))
	}
	for _, spec := range pods {
		if strings.Contains(spec.Image, "@") {
			problems = append(problems, fmt.Errorf("unit %s: the nodes of Kubernetes know images by name, and %s is "+
				"a digest: type: docker tag %s NAME:1, and name that",
				spec.Name, spec.Image, spec.Image))
		}
	}
	_, err := containers.Places(private.Nodes(), slices.Concat(pods, layout.Prepare), layout.Links)
	return errors.Join(append(problems, err)...)
}

// can returns the capabilities of a private cluster. Its first node has no faults: this host reaches all
// services through it, and it runs the lead of the trial.
func (s *privateSite) can() lab.Capabilities {
	return lab.Capabilities{Faults: containers.Faults(), Links: func() error { return nil }, Spans: true,
		Nodes: func(layout lab.Layout) []lab.Node { return containers.Nodes(layout, private.Nodes()) },
		Autoscale: func() error { // a HorizontalPodAutoscaler asks metrics-server
			if err := private.MissingMetrics(); err != nil {
				return fmt.Errorf("autoscale: %w", err)
			}
			return nil
		}}
}

// enter brings up a cluster and makes the namespace of all pods in it.
func (s *privateSite) enter(ctx context.Context) (*cluster, error) {
	if err := os.MkdirAll(filepath.Dir(s.folder), 0o700); err != nil {
		return nil, err
	}
	begun := time.Now()
	label := s.deployer.label
	up, err := private.Up(ctx, s.folder, label)
	if err != nil {
		return nil, err
	}
	c := &cluster{API: up.API, name: "of this host", namespace: "cleave", patience: upPatience,
		leadNode: private.Nodes()[0], private: up, alive: up.Alive}
	if err := c.makeNamespace(ctx, label); err != nil {
		return nil, errors.Join(err, up.Close())
	}
	s.deployer.made.Platform(begun)
	return c, nil
}

// leave implements site.
func (s *privateSite) leave(c *cluster) error { return c.private.Close() }

// load loads an image onto all nodes.
func (s *privateSite) load(
	ctx context.Context, content string, isUsers bool,
) (name string, size int, err error) {
	name = content // of a user's image
	var archive []byte
	if !isUsers {
		name = "cleave.invalid/host:" + s.deployer.label
		if content != "" {
			name = "cleave.invalid/" + strings.ToLower(filepath.Base(content)) + ":" + s.deployer.label
		}
		if archive, _, err = containers.Archive(name, content, nil); err != nil {
			return "", 0, err
		}
	}
	nodes := s.deployer.cluster.private.Nodes
	return name, len(archive), fleet.SideBySide(ctx, len(nodes), nodes,
		func(ctx context.Context, node *private.Node) error {
			if isUsers {
				return images.Send(ctx, name, node.Import)
			}
			return node.Import(ctx, bytes.NewReader(archive))
		})
}

// places implements site.
func (s *privateSite) places(specs []lab.UnitSpec, links map[string]lab.Network) (map[string]string, error) {
	return containers.Places(private.Nodes(), specs, links)
}

// complete implements site.
func (s *privateSite) complete(d *deployment, p *fleet.Platform[*pod]) {
	p.Refuse = refuse
	p.Cut = cut
	p.Gone = gone
	p.Nodes = d.nodes()
	p.Images = images.Sizes
	p.Vacate = func(ctx context.Context, p *pod) error { return p.leave(ctx, p.End) }
	p.Describe = func(p *pod) string { return "pod " + p.name + " on " + p.nodeName }
	p.Reach = func(unit string) string { return d.Relays.UnitAddress(unit, d.Endpoints[unit].Dial) }
	p.Next = func(ctx context.Context, ended *pod, _ bool) (*pod, error) {
		return d.newPod(ended.Spec), ended.remove(ctx)
	}
	p.Daemons = func() ([]lab.Unit, string) { return d.cluster.private.Hosts.Units(), "" }
	p.Started = func(ctx context.Context, stage []lab.UnitSpec) error {
		if err := d.started(ctx, stage); err != nil {
			return err
		}
		return d.awaitRoutes(ctx, stage)
	}
}

// awaitRoutes waits until calls of a stage's services reach our units, or these have ended. kube-proxy learns
// of a pod with a delay, and refuses calls until then.
func (d *deployment) awaitRoutes(ctx context.Context, stage []lab.UnitSpec) error {
	for _, spec := range stage {
		if !spec.Listens || spec.Foreign || isScaled(spec) {
			continue
		}
		p := d.Named(spec.Name)
		if err := d.AwaitOpen(ctx, p); err != nil && !p.HasEnded() {
			return err
		}
	}
	return nil
}

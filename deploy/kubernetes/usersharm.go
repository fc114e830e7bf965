package kubernetes

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// withStarter has the starter be the first process of a pod of the user's cluster whose unit shall
// have faults. It is the same user as the unit, and has the environment that this gets.
func (p *pod) withStarter(runs *api.Container, files map[string][]byte) error {
	if p.starter == nil || p.Prepares {
		return nil
	}
	words, err := p.deployment.shared().Command(p.Spec)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(anyAddress, strconv.Itoa(starterPort))
	const key = "orders"
	files[key], err = containers.Packed(lab.StarterOrders{Run: words, Faults: p.starter.Orders(address)}, maxSecret)
	runs.Command = []string{"/" + lab.StarterProgram, lab.StarterRuns}
	given := api.Mount{Name: "files", MountPath: lab.StarterOrdersFile, SubPath: key, ReadOnly: true}
	runs.VolumeMounts = append(runs.VolumeMounts, given)
	return err
}

// harmForeign does a fault to a pod of the user's cluster.
func (d *deployment) harmForeign(ctx context.Context, p *pod, f lab.Fault) (proof string, err error) {
	switch {
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case !slices.Contains(d.deployer.Faults(), f.Kind):
		err = fmt.Errorf("it needs powers on the nodes of %s that Cleave does not have", d.deployer.users.Context)
	default:
		proof, err = p.starter.Harm(ctx, d.Supervisor, p.Unit, f.Kind, p.over)
	}
	if err != nil {
		return "", fmt.Errorf("%s unit %s: %w", f.Kind, f.Target, err)
	}
	return proof, nil
}

// healForeign undoes it. A unit that was killed begins another life in its pod.
func (d *deployment) healForeign(ctx context.Context, old *pod, f lab.Fault) error {
	if f.Kind == lab.FaultPause {
		_, err := old.starter.Tell(ctx, lab.StarterContinue)
		return err
	}
	if !d.IsDoomed(old.Unit) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", f.Target)
	}
	p := *old
	p.Unit = supervise.NewUnit(old.Spec)
	p.Log = old.Log
	p.lives, p.over = context.WithCancel(d.watching)
	d.Add(&p)
	if err := p.starter.Again(ctx, p.Unit, p.connect, d.endpoints[f.Target].Bind, d.reach); err != nil {
		return fmt.Errorf("start unit %s again: %w", f.Target, err)
	}
	return nil
}

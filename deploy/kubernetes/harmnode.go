package kubernetes

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
)

// nodes returns what is done to the nodes of a private cluster. It empties one as `kubectl drain` does: each
// pod is one that nobody else would make again.
func (d *deployment) nodes() fleet.Nodes[*pod] {
	named := d.cluster.Named
	return fleet.Nodes[*pod]{
		Faults: containers.NodeFaults(), Stay: true, LongestCut: containers.LongestCut,
		Named: func(name string) fleet.Node {
			if n := named(name); n != nil {
				return n
			}
			return nil
		},
		Probe: func(name string) string { return named(name).KubeletAddress() },
		Lost:  func(ctx context.Context, name string) (bool, error) { return named(name).Lost(ctx) },
		Perished: func(ctx context.Context, p *pod) error {
			p.HangUp()
			return gone(ctx, p)
		},
		Close: func(ctx context.Context, name string, closed bool) error { return named(name).Cordon(ctx, closed) },
		Evict: func(ctx context.Context, p *pod) error { return p.leave(ctx, p.evict) },
		AwaitEmpty: func(ctx context.Context, name string) error {
			ctx, cancel := context.WithTimeoutCause(ctx, removePatience, fmt.Errorf("not so after %v", removePatience))
			defer cancel()
			return named(name).AwaitEmpty(ctx)
		},
	}
}

// nodeOf returns the node of a pod, which the autoscaler may have added just now.
func (d *deployment) nodeOf(p *pod) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.nodeName
}

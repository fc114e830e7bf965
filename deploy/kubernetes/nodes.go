package kubernetes

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
)

// nodes declares what the fleet can do to the nodes of a private cluster: faults, and drains. A node is
// drained as `kubectl drain` does it, by evictions. No controller makes the evicted pods again, so the fleet
// does.
func (d *deployment) nodes() fleet.Nodes[*pod] {
	named := d.cluster.Named
	return fleet.Nodes[*pod]{
		Faults: containers.NodeFaults(), Stay: true, LongestCut: containers.LongestCut,
		Named: func(name string) fleet.Node {
			if n := named(name); n != nil {
				return n
			}
			return nil // and not a nil *private.Node, which would be no nil fleet.Node
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

// nodeOf returns the name of a pod's node. The mutex guards it, as the autoscaler may be adding the pod.
func (d *deployment) nodeOf(p *pod) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.nodeName
}

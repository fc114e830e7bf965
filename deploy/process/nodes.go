package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// nodesOf returns the nodes that a layout names.
func nodesOf(layout lab.Layout) (names []string) {
	for _, spec := range slices.Concat(layout.Units, layout.Prepare) {
		if spec.Node != "" && !slices.Contains(names, spec.Node) {
			names = append(names, spec.Node)
		}
	}
	return names
}

// checkNodes returns an error if this host cannot make the nodes of a layout, or if units on them would not
// reach one of its services.
func checkNodes(layout lab.Layout) error {
	names := nodesOf(layout)
	if len(names) == 0 {
		return nil
	}
	err := hosts.Missing()
	if err != nil {
		err = fmt.Errorf("units are on %s: %w", strings.Join(names, ", "), err)
	}
	return errors.Join(err, containers.CheckServices(layout.Services, "process and without nodes"))
}

// makeNodes makes the nodes that a layout names; nil if it names none. Each is a network namespace of this
// host with an address of its own; processes and files are this host's.
func makeNodes(ctx context.Context, label string, layout lab.Layout) (*hosts.Set, error) {
	names := nodesOf(layout)
	if len(names) == 0 {
		return nil, nil
	}
	return hosts.Make(ctx, label, names...)
}

// addressOf returns the address of a node for its units; node is "" for this host.
func addressOf(network *hosts.Set, node string) string {
	if network == nil {
		return launch.LoopbackHost
	}
	if host := network.Named(node); host != nil {
		return host.Address
	}
	return network.Here()
}

// nodeFaults returns the faults that can be done to a node.
func nodeFaults() []lab.FaultKind { return []lab.FaultKind{lab.FaultCut, lab.FaultKill} }

// nodesToHarm returns the nodes that a layout names, and those of its replicated disk, with their faults.
func nodesToHarm(layout lab.Layout) []lab.Node {
	all := lab.Nodes(nodesOf(layout), nodeFaults()...)
	if layout.OnReplicatedDisk() {
		all = append(all, lab.Nodes(gluster.Bricks(), lab.FaultKill, lab.FaultRestart)...)
	}
	return all
}

// nodes returns how faults of nodes are done. A node consists of its link, its first process and its units.
func (d *deployment) nodes() fleet.Nodes[*unit] {
	return fleet.Nodes[*unit]{
		Faults: nodeFaults(),
		Named: func(name string) fleet.Node {
			if host := d.network.Named(name); host != nil {
				return host
			}
			return nil
		},
		// No program listens at the port, but while the node is up it refuses connections, which is an answer.
		Probe: func(name string) string { return net.JoinHostPort(d.network.Named(name).Address, "9") },
		Perished: func(ctx context.Context, u *unit) error {
			_, err := u.Kill(ctx)
			return err
		},
	}
}

// seenBy returns the endpoints at which a unit calls the others: those on its own node at the addresses at
// which they listen, without the relay of a delayed link.
func (d *deployment) seenBy(spec lab.UnitSpec) map[string]lab.Endpoint {
	return d.Wanted.SeenBy(spec, d.Endpoints, func(unit string) string { return d.Endpoints[unit].Bind })
}

// diskFolder is the folder of a trial with the copies of its replicated disk.
const diskFolder = "replicated-disk"

// replicate starts a replicated disk and moves the layout's replicated folders and volumes to it; it does
// nothing if there are none.
func (d *deployment) replicate(ctx context.Context, layout lab.Layout) (err error) {
	folders := slices.Clone(layout.Replicated)
	for _, spec := range layout.Units {
		if !spec.Replicated {
			continue
		}
		if err := os.MkdirAll(d.Volume(spec), 0o700); err != nil {
			return err
		}
		folders = append(folders, d.Volume(spec))
	}
	if len(folders) == 0 {
		return nil
	}
	if d.disk, err = gluster.Start(ctx, filepath.Join(d.group.dir, diskFolder), d.group.label,
		d.Fail); err != nil {
		return err
	}
	for _, folder := range folders {
		if err := d.disk.MountOver(folder); err != nil {
			return err
		}
	}
	return nil
}

// bricks returns the servers that keep the copies of the replicated disk.
func (d *deployment) bricks() []lab.Unit {
	if d.disk == nil {
		return nil
	}
	return d.disk.Units()
}

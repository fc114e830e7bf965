package swarm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/lab"
)

// own is the private swarm of a deployer.
type own struct {
	deployer *Deployer
	dir      string
	cluster  *private.Cluster // nil until the first trial
}

// Missing says what this host lacks for a private swarm; nil: nothing.
func Missing() error { return private.Missing() }

// What a swarm takes of this host, seen with Docker 20.10: 120 MB for the two daemons of
// a node, and for a container 10 MiB and 15 threads.
const (
	memoryOfNodes       = private.Count * 120 << 20
	memoryPerContainer  = 16 << 20
	threadsPerContainer = 16
)

func (o *own) preflight(ctx context.Context, layout lab.Layout) error {
	programs := o.deployer.programs
	servers, contained, rest := containers.Part(layout)
	all := slices.Concat(servers, contained)
	_, err := containers.Places(private.Names(), slices.Concat(all, layout.Prepare), layout.Links)
	return errors.Join(
		Missing(), o.deployer.processes.Preflight(ctx, rest), containers.CheckBeside(rest),
		fleet.CheckLimits(all), err,
		links.Check(layout.Links, all), containers.CheckDescribed("Swarm", all, lacks),
		containers.CheckPrograms(programs, slices.DeleteFunc(slices.Concat(layout.Prepare, layout.Units),
			images.IsUnit)), images.Check(ctx, all),
		containers.CheckServices(layout.Services, lab.DockerHost),
		process.CheckMemory(len(all), memoryPerContainer, memoryOfNodes),
		process.CheckNumbers(uint64(len(all)*threadsPerContainer)),
	)
}

// can returns what a private swarm can do. Its first node has no faults: it manages the others, and has the
// unit that leads the trial.
func (o *own) can() lab.Capabilities {
	return lab.Capabilities{
		Faults: containers.Faults(), Links: func() error { return nil }, Spans: true,
		Nodes: func(layout lab.Layout) []lab.Node { return containers.Nodes(layout, private.Names()) },
	}
}

// enter brings up the swarm, and waits for all of its nodes.
func (o *own) enter(ctx context.Context) error {
	if o.cluster == nil {
		begun, d := time.Now(), o.deployer
		up, err := private.Up(ctx, d.label, o.dir)
		if err != nil {
			return err
		}
		o.cluster = up
		bare, err := d.images.Bare(ctx)
		if err == nil {
			err = o.cluster.Stay(ctx, bare, d.labels())
		}
		if err != nil {
			d.images.Forget()
			return errors.Join(fmt.Errorf("bring all nodes into the network of the units: %w", err), o.leave())
		}
		d.made.Platform(begun)
	}
	// A node that was cut off in the trial before is back with the others after a while only.
	if err := private.Each(ctx, o.cluster.Nodes, o.cluster.AwaitPeers); err != nil {
		return fmt.Errorf("wait for all nodes of the swarm: %w", err)
	}
	return nil
}

// leave ends the swarm.
func (o *own) leave() error {
	if o.cluster == nil {
		return nil
	}
	err := o.cluster.Close()
	o.cluster = nil
	return err
}

// load loads an image onto all nodes and returns its ID, which is the same there.
func (o *own) load(ctx context.Context, content string, isUsers bool) (id string, size int, err error) {
	nodes := o.cluster.Nodes
	if isUsers {
		ids := make([]string, len(nodes))
		err = private.Each(ctx, nodes, func(ctx context.Context, n *private.Node) error {
			return images.Send(ctx, content, func(ctx context.Context, archive io.Reader) (err error) {
				ids[slices.Index(nodes, n)], err = n.Engine.Load(ctx, archive)
				return err
			})
		})
		return ids[0], 0, err
	}
	tells := "none"
	if content != "" {
		tells = filepath.Base(content)
	}
	archive, id, err := containers.Archive(leftovers.ImageName+"swarm-"+tells+":"+o.deployer.label, content,
		o.deployer.labels())
	if err != nil {
		return "", 0, err
	}
	return id, len(archive), private.Each(ctx, nodes, func(ctx context.Context, n *private.Node) error {
		_, err := n.Engine.Load(ctx, bytes.NewReader(archive))
		return err
	})
}

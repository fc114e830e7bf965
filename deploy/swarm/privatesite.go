package swarm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
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

// privateSite is the private swarm of a deployer. It lasts from the first trial to Close.
type privateSite struct {
	deployer *Deployer
	dir      string
	cluster  *private.Cluster // nil until the first trial
}

// Missing returns an error that names what this host lacks for a private swarm, or nil.
func Missing() error { return private.Missing() }

// Resources of this host that a swarm needs, rounded up. Measured with Docker 20.10: 120 MB for the two
// daemons of a node (dockerd and containerd), and 10 MiB and 15 threads for a container.
const (
	memoryOfNodes       = private.Count * 120 << 20
	memoryPerContainer  = 16 << 20
	threadsPerContainer = 16
)

// preflight implements site.
func (p *privateSite) preflight(ctx context.Context, layout lab.Layout) error {
	servers, contained, rest := containers.Split(layout)
	all := slices.Concat(servers, contained)
	_, err := containers.Places(private.Names(), slices.Concat(all, layout.Prepare), layout.Links)
	return errors.Join(
		Missing(), p.deployer.processes.Preflight(ctx, rest), containers.CheckBeside(rest),
		fleet.CheckLimits(all), err,
		links.Check(layout.Links, all), containers.CheckDescribed("Swarm", all, lacks),
		containers.CheckPrograms(p.deployer.programs, images.Without(layout)), images.Check(ctx, all),
		containers.CheckServices(layout.Services, lab.DockerHost),
		process.CheckMemory(len(all), memoryPerContainer, memoryOfNodes),
		process.CheckNumbers(uint64(len(all)*threadsPerContainer)),
	)
}

// can returns the capabilities of a private swarm.
func (p *privateSite) can() lab.Capabilities {
	return lab.Capabilities{
		Faults: containers.Faults(), Links: func() error { return nil }, Spans: true,
		Nodes: func(layout lab.Layout) []lab.Node { return containers.Nodes(layout, private.Names()) },
	}
}

// enter makes the swarm, if there is none yet, and waits for all of its nodes. It fails if one of them still
// has a fault of an earlier trial: all trials of a study need the same nodes.
func (p *privateSite) enter(ctx context.Context) error {
	if p.cluster == nil {
		begun := time.Now()
		d := p.deployer
		up, err := private.Up(ctx, d.label, p.dir)
		if err != nil {
			return err
		}
		p.cluster = up
		bare, err := d.images.Bare(ctx)
		if err == nil {
			err = p.cluster.StartSleepers(ctx, bare, d.labels())
		}
		if err != nil {
			d.images.Forget()
			return errors.Join(fmt.Errorf("bring all nodes into the network of the units: %w", err), p.leave())
		}
		d.made.Platform(begun)
	}
	if down := p.cluster.Down(); len(down) > 0 {
		return fmt.Errorf("%s of the swarm did not recover from a fault of an earlier trial: see the error of "+
			"that trial, and run cleave again, which makes a new swarm", strings.Join(down, ", "))
	}
	// A node that was cut off in the last trial needs a while to join the others again.
	if err := p.cluster.AwaitPeers(ctx); err != nil {
		return fmt.Errorf("wait for all nodes of the swarm: %w", err)
	}
	return nil
}

// leave ends the swarm, if there is one.
func (p *privateSite) leave() error {
	if p.cluster == nil {
		return nil
	}
	err := p.cluster.Close()
	p.cluster = nil
	return err
}

// load implements site: it loads an image onto all nodes and returns its ID, which is the same on all of
// them, and the size of images of our own; that of a user's image is 0. See containers.Images.Load.
func (p *privateSite) load(
	ctx context.Context, content string, isUsers bool,
) (id string, size int, err error) {
	nodes := p.cluster.Nodes
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
	program := "none"
	if content != "" {
		program = filepath.Base(content)
	}
	archive, id, err := containers.Archive(leftovers.ImageName+"swarm-"+program+":"+p.deployer.label, content,
		p.deployer.labels())
	if err != nil {
		return "", 0, err
	}
	return id, len(archive), private.Each(ctx, nodes, func(ctx context.Context, n *private.Node) error {
		_, err := n.Engine.Load(ctx, bytes.NewReader(archive))
		return err
	})
}

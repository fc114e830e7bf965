// Package swarm deploys units as services of a Docker Swarm that Cleave makes on this host
// (package private): four nodes, each a Docker daemon on a host of its own. The swarm is
// there from the first trial to Close. A swarm of the user's is for package users.
//
// A unit is a service of one task. Swarm chooses its node, unless the layout names one,
// and it stays there when it is started again, with its data, until that node is emptied.
// Units call each other by name in an overlay network; this host calls them at ports of their nodes. Names
// stand for addresses (DNS round robin) and ports are those of one node (mode host): the other
// ways of Swarm need IPVS, which not every kernel has.
//
// What is here of deployers of containers in general is in package containers.
//
// Entry points: New, Deployer.Deploy.
package swarm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
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

// Deployer starts units as services of a swarm. It must be closed after the last trial.
type Deployer struct {
	processes *process.Deployer // for units that are no containers
	programs  string            // folder of our unit programs, or the only one
	label     string
	dir       string // of the swarm

	preparing sync.Mutex
	cluster   *private.Cluster  // nil until the first trial
	images    map[string]string // their IDs, by what is in it: see contentOf
	services  atomic.Int64      // how many there have been
	made      fleet.Made
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer of services that run the unit programs in a folder; see
// process.New. What is no container goes to processes. label marks everything that is
// made. The swarm is kept in a folder, which is made for it and removed.
func New(processes *process.Deployer, programs, label, dir string) *Deployer {
	return &Deployer{processes: processes, programs: programs, label: label, dir: dir,
		images: map[string]string{}}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return lab.Swarm }

// Missing says what this host lacks for a private swarm; nil: nothing.
func Missing() error { return private.Missing() }

// What a swarm takes of this host, seen with Docker 20.10: 120 MB for the two daemons of
// a node, and for a container 10 MiB and 15 threads.
const (
	memoryOfNodes       = private.Count * 120 << 20
	memoryPerContainer  = 16 << 20
	threadsPerContainer = 16
)

// Preflight implements lab.Deployer.
func (d *Deployer) Preflight(layout lab.Layout) error {
	servers, contained, rest := containers.Part(layout)
	all := slices.Concat(servers, contained)
	_, err := containers.Places(private.Names(), slices.Concat(all, layout.Prepare), layout.Links)
	return errors.Join(
		Missing(), d.processes.Preflight(rest), containers.CheckBeside(rest), fleet.CheckLimits(all), err,
		links.Check(layout.Links, all), containers.CheckDescribed("Swarm", all, lacks), containers.CheckPorts(all),
		containers.CheckPrograms(d.programs, slices.DeleteFunc(slices.Concat(layout.Prepare, layout.Units),
			images.IsUnit)), images.Check(all),
		containers.CheckServices(layout.Services, lab.DockerHost),
		process.CheckMemory(len(all), memoryPerContainer, memoryOfNodes),
		process.CheckNumbers(uint64(len(all)*threadsPerContainer)),
	)
}

// prepared returns the swarm and the images that units run in, on all of its nodes: the
// first trial makes them for all.
func (d *Deployer) prepared(
	ctx context.Context, units []lab.UnitSpec,
) (*private.Cluster, map[string]string, error) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.cluster == nil {
		begun := time.Now()
		made, err := private.Up(ctx, d.label, d.dir)
		if err != nil {
			return nil, nil, err
		}
		image, err := d.image(ctx, made, "")
		if err == nil {
			err = made.Stay(ctx, image, d.labels())
		}
		if err != nil {
			clear(d.images)
			return nil, nil, errors.Join(fmt.Errorf("bring all nodes into the network of the units: %w", err),
				made.Close())
		}
		d.cluster = made
		d.made.Platform(begun)
	}
	// A node that was cut off in the trial before is back with the others after a while only.
	if err := private.Each(ctx, d.cluster.Nodes, d.cluster.AwaitPeers); err != nil {
		return nil, nil, fmt.Errorf("wait for all nodes of the swarm: %w", err)
	}
	for _, spec := range units {
		bring := d.image
		if images.IsUnit(spec) {
			bring = d.usersImage
		}
		if _, err := bring(ctx, d.cluster, d.contentOf(spec)); err != nil {
			return nil, nil, err
		}
	}
	return d.cluster, maps.Clone(d.images), nil
}

// contentOf returns what the image of a unit has: a program of ours by its path, none (""), or, by its
// name, what is in an image of the user's.
func (d *Deployer) contentOf(spec lab.UnitSpec) string {
	return cmp.Or(spec.Image, containers.UnitProgram(d.programs, spec))
}

// usersImage brings an image of the user's to all nodes and returns its ID there.
func (d *Deployer) usersImage(ctx context.Context, c *private.Cluster, name string) (id string, err error) {
	if d.images[name] != "" {
		return d.images[name], nil
	}
	begun, ids := time.Now(), make([]string, len(c.Nodes))
	err = private.Each(ctx, c.Nodes, func(ctx context.Context, n *private.Node) error {
		return images.Send(ctx, name, func(ctx context.Context, archive io.Reader) (err error) {
			ids[slices.Index(c.Nodes, n)], err = n.Engine.Load(ctx, archive)
			return err
		})
	})
	if err != nil {
		return "", err
	}
	d.images[name] = ids[0] // the daemons of all nodes are the same program
	d.made.Image("", 0, begun)
	return ids[0], nil
}

// image brings the image of a program of ours, or of none, to all nodes and returns its ID.
func (d *Deployer) image(ctx context.Context, c *private.Cluster, program string) (id string, err error) {
	if d.images[program] != "" {
		return d.images[program], nil
	}
	begun, tells := time.Now(), "none"
	if program != "" {
		tells = filepath.Base(program)
	}
	archive, id, err := containers.Archive(leftovers.ImageName+"swarm-"+tells+":"+d.label, program, d.labels())
	if err != nil {
		return "", err
	}
	err = private.Each(ctx, c.Nodes, func(ctx context.Context, n *private.Node) error {
		_, err := n.Engine.Load(ctx, bytes.NewReader(archive))
		return err
	})
	if err != nil {
		return "", err
	}
	d.images[program] = id
	d.made.Image(program, int64(len(archive)), begun)
	return id, nil
}

// labels mark what is made.
func (d *Deployer) labels() map[string]string {
	return map[string]string{leftovers.DockerLabel: d.label}
}

// Close ends the swarm.
func (d *Deployer) Close() error {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.cluster == nil {
		return nil
	}
	err := d.cluster.Close()
	d.cluster = nil
	clear(d.images)
	return err
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (_ lab.Deployment, err error) {
	servers, contained, rest := containers.Part(layout)
	placed := slices.Concat(servers, contained, layout.Prepare)
	cluster, loaded, err := d.prepared(ctx, placed)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	running := &deployment{
		deployer: d, cluster: cluster, images: loaded, lead: layout.Lead,
		outside: map[string]lab.Endpoint{}, detours: map[string]detour{},
	}
	running.Fleet = fleet.New(ctx, fleet.NewSupervisor(layout, fleet.HandedOver(dir)), dir,
		running.platform(layout))
	running.Wanted = links.Of(layout.Links, placed)
	running.trial = containers.Trial{Label: d.label, Dir: dir, Endpoints: running.Endpoints, Binds: true,
		VolumesInDir: true}
	defer func() {
		if err != nil {
			err = errors.Join(err, running.Stop())
		}
	}()
	running.assign(placed)
	if running.places, err = containers.Places(private.Names(), placed, layout.Links); err != nil {
		return nil, err
	}
	units := slices.Concat(servers, contained)
	if err := running.Furnish(ctx, units, cluster.Hosts.Here(), running.host, cluster.Hosts.Show); err != nil {
		return nil, err
	}
	if running.trial.Memory, err = containers.MakeMemory(dir, layout.SharedMemory); err != nil {
		return nil, err
	}
	if err := running.Begin(ctx, units, layout.Prepare); err != nil {
		return nil, err
	}
	// The other deployer removes the folder with its end: it comes last.
	if running.Beside, err = d.processes.Join(ctx, rest, dir, running.Supervisor,
		running.outside); err != nil {
		return nil, err
	}
	return running, nil
}

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*service]
	deployer *Deployer
	cluster  *private.Cluster
	images   map[string]string
	lead     string
	places   map[string]string // nodes of the swarm, by the names that the layout has for nodes
	trial    containers.Trial  // its endpoints are the addresses in the overlay network
	ports    map[string]ports  // by unit

	mu      sync.Mutex
	outside map[string]lab.Endpoint  // the addresses seen from this host, of units that have a node
	latest  map[string]*private.Node // of units that have one: they stay there
	first   map[string]*private.Node // those that they had at first
	detours map[string]detour        // by unit
	made    []string                 // IDs of all services that were made
}

// removePatience is how long the swarm may take to remove the units of a trial.
const removePatience = 60 * time.Second

// clear removes what the swarm has of the trial, and leaves links and ports as they were.
func (d *deployment) clear() error {
	return errors.Join(d.Wanted.Lift(d.Watching), d.removeAll(), d.straighten(d.Watching))
}

// removeAll removes the services of the trial, and their containers at once: none of them
// has anything to put in order but what is asked first (endGently).
func (d *deployment) removeAll() error {
	ctx, cancel := context.WithTimeoutCause(d.Watching, removePatience,
		fmt.Errorf("not removed after %v", removePatience))
	defer cancel()
	_ = fleet.ForAll(ctx, atOnce, d.All(), func(ctx context.Context, s *service) error {
		s.endGently(ctx)
		return nil
	})
	d.mu.Lock()
	made := slices.Clone(d.made)
	d.mu.Unlock()
	err := errors.Join(fleet.ForAll(ctx, atOnce, made, d.cluster.Manager().RemoveService),
		fleet.ForAll(ctx, atOnce, d.cluster.Nodes, d.removeContainers))
	if err != nil {
		return fmt.Errorf("the swarm still has something of the trial: %w", err)
	}
	return nil
}

// removeContainers removes those of a node. The swarm may be about to do the same.
func (d *deployment) removeContainers(ctx context.Context, n *private.Node) error {
	for {
		things, err := n.Units(ctx)
		if err != nil {
			return fmt.Errorf("containers on %s: %w", n.Name, err)
		}
		if len(things) == 0 {
			return nil
		}
		for _, thing := range things {
			_ = n.Engine.Remove(ctx, thing.ID) // looked at again
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d containers on %s: %w", len(things), n.Name, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

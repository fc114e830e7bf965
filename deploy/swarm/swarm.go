// Package swarm deploys units as services of a Docker Swarm: one that Cleave makes on this host (package
// private), with four nodes, each a Docker daemon on a host of its own, which is there from the first trial
// to Close; or one that the user names (Users).
//
// A unit is a service of one task. Swarm chooses its node, unless the layout names one,
// and it stays there when it is started again, with its data, until that node is emptied.
// Units call each other by name in an overlay network. Names
// stand for addresses (DNS round robin) and ports are those of one node (mode host): the other
// ways of Swarm need IPVS, which not every kernel has.
//
// Units of a private swarm have folders of this host, which calls them at ports of their nodes, and their
// daemons do faults. There is nothing of this host on the nodes of the user's: images come from a registry,
// volumes are the services' own, programs of the conductor's, such as the load generator, are services, too,
// and a starter (package unit/starter) does in each container what this host's folders and powers do
// elsewhere. The conductor speaks to one manager, and reaches units through doors, of which every node has
// one. What needs a node's own powers is refused. All that is made carries the conductor's label and a name
// that begins with it. Nothing else is changed.
//
// What is here of deployers of containers in general is in package containers.
//
// Entry points: FromEnvironment for a swarm of the user's; New, Deployer.Deploy.
package swarm

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// Deployer starts units as services of a swarm. It must be closed after the last trial.
type Deployer struct {
	fleet.Gate
	processes *process.Deployer // for units that are no containers
	programs  string            // folder of our unit programs, or the only one
	label     string
	site      site

	preparing sync.Mutex
	images    *containers.Images
	services  atomic.Int64 // how many there have been
	made      fleet.Made
}

var _ lab.Deployer = (*Deployer)(nil)

// site is a swarm on which units run: a private one (own), or one of the user's (home).
type site interface {
	can() lab.Capabilities
	preflight(ctx context.Context, layout lab.Layout) error
	// enter makes what is there for all trials, unless it is there.
	enter(ctx context.Context) error
	// load loads an image onto the nodes: see containers.Images.
	load(ctx context.Context, content string, isUsers bool) (image string, bytes int, err error)
	// begin returns the site as a trial has it.
	begin(d *deployment) siteTrial
	// leave removes what enter has made.
	leave() error
}

// New returns a deployer of services that run the unit programs in a folder; see
// process.New. What is no container goes to processes. label marks everything that is
// made. Services run on the swarm of users, or, where that is nil, on a private one, which is kept in a
// folder that is made for it and removed.
func New(processes *process.Deployer, programs, label, dir string, users *Users) *Deployer {
	d := &Deployer{processes: processes, programs: programs, label: label}
	if users != nil {
		d.site = &home{deployer: d, swarm: users, name: prefix + label}
	} else {
		d.site = &own{deployer: d, dir: dir}
	}
	d.images = &containers.Images{Programs: programs, IsRemote: users != nil, Load: d.site.load,
		Made: &d.made}
	return d
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return lab.Swarm }

// Can implements lab.Deployer.
func (d *Deployer) Can() lab.Capabilities { return d.site.can() }

// Preflight implements lab.Deployer.
func (d *Deployer) Preflight(ctx context.Context, layout lab.Layout) error {
	return d.site.preflight(ctx, layout)
}

// prepare makes what is there for all trials, with the images of units: the first trial makes both for all.
func (d *Deployer) prepare(ctx context.Context, units []lab.UnitSpec) error {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if err := d.Admit(ctx); err != nil {
		return err
	}
	if err := d.site.enter(ctx); err != nil {
		return err
	}
	return d.images.Bring(ctx, units)
}

// labels mark what is made.
func (d *Deployer) labels() map[string]string {
	return map[string]string{leftovers.DockerLabel: d.label}
}

// Close removes what was made for all trials.
func (d *Deployer) Close() error {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	d.images.Forget()
	return d.site.leave()
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	parts := containers.Parts(layout, d.images.IsRemote)
	if err := d.prepare(ctx, parts.OnPlatform()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	running := newDeployment(ctx, d, layout, dir)
	running.assign(parts.OnPlatform())
	open := func() error { return running.open(ctx, layout, parts.Units) }
	if err := running.Launch(ctx, parts, open, d.processes, running.outside); err != nil {
		return nil, err
	}
	return running, nil
}

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*service]
	siteTrial
	deployer *Deployer
	manager  *engine.Client
	network  string        // of the units, by its name or ID
	patience time.Duration // until the unit of a service can be reached
	lead     string
	trial    containers.Trial        // its endpoints are the addresses in the network of the units
	outside  map[string]lab.Endpoint // the addresses seen from this host, of units that have a node of ours
}

// siteTrial implements what a site does for one trial.
type siteTrial interface {
	// complete declares what is done there to services and nodes.
	complete(p *fleet.Platform[*service])
	// open makes ready what units need before they start.
	open(ctx context.Context, layout lab.Layout, units []lab.UnitSpec) error
	// trialOf returns the trial as a unit sees it.
	trialOf(spec lab.UnitSpec) containers.Trial
	// tasks returns what is known of the tasks of a service.
	tasks(ctx context.Context, service string) ([]engine.Task, error)
	// place returns where the service of a unit may be, and which of its ports its node has.
	place(spec lab.UnitSpec) (engine.Placement, []engine.PublishedPort)
	// newSiteLife returns what the site does to a life of a service.
	newSiteLife(s *service) siteLife
}

// newDeployment has no service yet.
func newDeployment(ctx context.Context, d *Deployer, layout lab.Layout, dir string) *deployment {
	made := &deployment{deployer: d, lead: layout.Lead, outside: map[string]lab.Endpoint{}}
	made.siteTrial = d.site.begin(made)
	platform := fleet.Platform[*service]{
		Name: d.Name(), Faults: d.Can().Faults, SharesMemory: layout.SharedMemory > 0, AtOnce: atOnce,
		Span: lab.SpanContainer, New: made.newService, OwnClocks: true, Made: &d.made,
		Discard: func(ctx context.Context, s *service) error { return s.remove(ctx) },
	}
	made.complete(&platform)
	made.Fleet = fleet.New(ctx, fleet.NewSupervisor(layout, fleet.HandedOver(dir)), dir, platform)
	made.trial = containers.Trial{Label: d.label, Dir: dir, Endpoints: made.Endpoints, Binds: true,
		VolumesInDir: !d.images.IsRemote, Apart: d.images.IsRemote}
	return made
}

// atOnce is the number of services that are started, or removed, at the same time.
const atOnce = 16

const (
	// controlPort is the port at which a unit waits for its conductor: it has an address of its own.
	// starterPort is that of its starter, where it has one, and firstPort the first that it listens on.
	controlPort = 8080
	starterPort = controlPort - 1
	firstPort   = controlPort + 1
)

// portsOf returns the ports of a unit: that at which it waits for its conductor, then what it listens on.
func portsOf(spec lab.UnitSpec) []int {
	ports := []int{controlPort}
	for i, name := range spec.Endpoints() {
		if name == spec.Name && spec.Port != 0 {
			ports = append(ports, spec.Port)
		} else {
			ports = append(ports, firstPort+i)
		}
	}
	return ports
}

// anyAddress returns what is bound to where everybody in the network of the units may call.
func anyAddress(port int) string { return net.JoinHostPort("0.0.0.0", strconv.Itoa(port)) }

// inOverlay returns the address of a unit in the network of the units, where it listens at a port.
func inOverlay(unit string, port int) string { return net.JoinHostPort(unit, strconv.Itoa(port)) }

// assign gives every unit its addresses in the network of the units.
func (d *deployment) assign(specs []lab.UnitSpec) {
	for _, spec := range specs {
		for i, name := range spec.Endpoints() {
			port := portsOf(spec)[1+i]
			d.trial.Endpoints[name] = lab.Endpoint{Bind: anyAddress(port), Dial: inOverlay(spec.Name, port)}
		}
	}
}

// Meter implements lab.Deployment: of units on nodes that are not ours each says itself what it has used.
func (d *deployment) Meter() lab.Meter {
	if d.deployer.images.IsRemote {
		return d.SelfMeter()
	}
	return nil
}

// removeAll removes the services of the trial.
func (d *deployment) removeAll(ctx context.Context) error {
	return fleet.ForAll(ctx, atOnce, d.Everything(),
		func(ctx context.Context, s *service) error { return s.remove(ctx) })
}

// removePatience is how long the swarm may take to remove the units of a trial.
const removePatience = time.Minute

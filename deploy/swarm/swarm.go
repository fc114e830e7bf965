// Package swarm deploys units as services of a Docker Swarm: a private one that Cleave makes on this host
// (package private), with four nodes, from the first trial to Close; or one that the user names (UserSwarm).
//
// A unit is a service of one task. Swarm chooses its node, unless the layout names one. When the unit is
// restarted it stays on that node, with its data, until the node is drained. Units call each other by name in
// an overlay network. Names resolve to addresses of tasks (DNS round robin) and ports are published on one
// node (mode host): the other modes of Swarm need IPVS, which not every kernel has.
//
// On a private swarm units use folders of this host, this host calls them at published ports of their nodes,
// and the Docker daemons do the faults.
//
// The nodes of a user's swarm share nothing with this host. Images come from a registry, volumes belong to
// the services, and programs of the conductor, such as the load generator, are services, too. A starter
// (package unit/starter) in each container writes files and does faults. The conductor talks to one manager,
// and reaches units through a proxy on every node. Layouts that need control over nodes are refused. All
// objects that Cleave makes there carry the conductor's label and a name that begins with it. Cleave changes
// nothing else.
//
// Package containers has what all deployers of containers share.
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
	services  atomic.Int64 // number of names given to services and secrets so far
	made      fleet.Made   // the private swarm, and the images
}

var _ lab.Deployer = (*Deployer)(nil)

// site is a swarm on which units run: a private one (privateSite), or one of the user's (userSite).
type site interface {
	can() lab.Capabilities
	preflight(ctx context.Context, layout lab.Layout) error
	// enter makes the objects that all trials share, unless they exist.
	enter(ctx context.Context) error
	// load loads an image onto the nodes: see containers.Images.
	load(ctx context.Context, content string, isUsers bool) (image string, bytes int, err error)
	// begin returns the site's part of a trial, and sets the manager, network and patience of its deployment.
	begin(d *deployment) siteTrial
	// leave removes what enter has made.
	leave() error
}

// New returns a deployer of services that run the unit programs in a folder (see process.New). processes
// deploys the units that are no containers. label marks everything that the deployer makes. Services run on
// the swarm of users. If that is nil, they run on a private one, whose data is in dir: Close removes that
// folder.
func New(processes *process.Deployer, programs, label, dir string, users *UserSwarm) *Deployer {
	d := &Deployer{processes: processes, programs: programs, label: label}
	if users != nil {
		d.site = &userSite{deployer: d, swarm: users, name: prefix + label}
	} else {
		d.site = &privateSite{deployer: d, dir: dir}
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

// prepare makes what all trials share, and the images of these units, unless earlier trials have done so.
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

// labels returns the labels of all objects that the deployer makes.
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
	network  string        // of the units: its name or ID
	patience time.Duration // limits how long a service may take until its unit can be reached
	lead     string
	trial    containers.Trial        // its endpoints are the addresses in the network of the units
	outside  map[string]lab.Endpoint // on a private swarm: the addresses at which this host reaches units
}

// siteTrial implements what a site does for one trial.
type siteTrial interface {
	// complete adds to the platform what the site can do to services and nodes.
	complete(p *fleet.Platform[*service])
	// open makes what units need before they start.
	open(ctx context.Context, layout lab.Layout, units []lab.UnitSpec) error
	// trialOf returns the trial with the endpoints that a unit gets.
	trialOf(spec lab.UnitSpec) containers.Trial
	// tasks returns the tasks of a service in their last known state.
	tasks(ctx context.Context, service string) ([]engine.Task, error)
	// place returns the nodes on which a unit may run, and the ports that its node publishes.
	place(spec lab.UnitSpec) (engine.Placement, []engine.PublishedPort)
	// newSiteLife returns the site's part of the first life of a service.
	newSiteLife(s *service) siteLife
}

// newDeployment returns a deployment without services.
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

// inOverlay returns the address at which other units call a port of a unit.
func inOverlay(unit string, port int) string { return net.JoinHostPort(unit, strconv.Itoa(port)) }

// assign gives every unit its addresses in the network of the units.
func (d *deployment) assign(specs []lab.UnitSpec) {
	for _, spec := range specs {
		ports := containers.PortsOf(spec)
		for i, name := range spec.Endpoints() {
			d.trial.Endpoints[name] = lab.Endpoint{Bind: containers.AnyAddress(ports[i]),
				Dial: inOverlay(spec.Name, ports[i])}
		}
	}
}

// Meter implements lab.Deployment. On a swarm of the user's each unit reports its own usage; the units of a
// private one are metered as those of this host.
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

// removePatience limits how long the swarm may take to remove the units of a trial.
const removePatience = time.Minute

// Package users deploys units as services of a Docker Swarm that the user names. There is
// nothing of this host on its nodes: images come from a registry, volumes are the services'
// own, programs of the conductor's, such as the load generator, are services, too, and a
// starter (package unit/starter) does in each container what this host's folders and powers do
// elsewhere: it ends, stops and starts the processes of units that shall have faults, too. The
// conductor speaks to one manager, and reaches units through doors, of which every node has one.
// What needs a node's own powers is refused.
//
// All that is made carries the conductor's label and a name that begins with it. Nothing else
// is changed.
//
// Entry points: FromEnvironment; New, Deployer.Deploy.
package users

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/lab"
)

// Deployer starts units as services. It must be closed after the last trial.
type Deployer struct {
	processes *process.Deployer // whom nothing is left for
	programs  string            // folder of our unit programs, or the only one
	starter   string
	label     string
	swarm     *Swarm

	preparing sync.Mutex
	home      *home             // nil until the first trial
	images    map[string]string // their names, by the program in it
	services  atomic.Int64      // how many there have been
	made      fleet.Made
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer of services that run the unit programs in a folder; see process.New.
// starter is the program of that name. label marks everything that is made.
func New(processes *process.Deployer, programs, starter, label string, swarm *Swarm) *Deployer {
	return &Deployer{processes: processes, programs: programs, starter: starter, label: label, swarm: swarm,
		images: map[string]string{}}
}

// AskBefore has somebody asked before every trial.
func (d *Deployer) AskBefore(admit func(context.Context) error) { d.swarm.admit = admit }

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return lab.Swarm }

// Preflight implements lab.Deployer.
func (d *Deployer) Preflight(layout lab.Layout) error {
	return d.swarm.preflight(d.programs, d.starter, layout)
}

// prepared returns our home on the swarm and the names of the images that units run in. What is
// missing is made: the first trial makes it for all.
func (d *Deployer) prepared(ctx context.Context, units []lab.UnitSpec) (*home, error) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.swarm.admit != nil {
		if err := d.swarm.admit(ctx); err != nil {
			return nil, err
		}
	}
	if err := d.swarm.look(); err != nil { // Preflight does not know servers
		return nil, err
	}
	for _, program := range append([]string{""}, programsOf(d, units)...) {
		if err := d.push(ctx, program); err != nil {
			return nil, err
		}
	}
	if d.home == nil {
		var err error
		if d.home, err = d.swarm.enter(ctx, d.label, d.images[""]); err != nil {
			return nil, err
		}
	}
	return d.home, nil
}

// programsOf returns the programs in the images of units.
func programsOf(d *Deployer, units []lab.UnitSpec) []string {
	var all []string
	for _, spec := range units {
		all = append(all, d.programOf(spec))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (d *Deployer) programOf(spec lab.UnitSpec) string {
	if spec.Program != "" {
		return containers.PushedProgram(spec)
	}
	return containers.UnitProgram(d.programs, spec)
}

// push puts the image of a program, or of none, into the registry, with the starter beside it.
func (d *Deployer) push(ctx context.Context, program string) error {
	if d.images[program] != "" {
		return nil
	}
	begun := time.Now()
	name, config, layer, err := containers.Pushed(program, d.starter)
	if err != nil {
		return err
	}
	if program == "" {
		name = lab.StarterProgram
	}
	d.images[program], err = d.swarm.images.Push(ctx, registry.Image{Name: name, Config: config, Layer: layer})
	d.made.Image(program, int64(len(layer)), begun)
	return err
}

// Close removes our home.
func (d *Deployer) Close() error {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.home == nil {
		return nil
	}
	err := d.home.leave()
	d.home = nil
	return err
}

// newsPatience is how late the manager hears that a program has ended.
const newsPatience = 3 * time.Second

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (_ lab.Deployment, err error) {
	servers, contained, rest := containers.Part(layout)
	last := rest.Units // programs of the conductor's
	rest.Units = nil
	all := slices.Concat(servers, contained, last, layout.Prepare)
	home, err := d.prepared(ctx, all)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	running := newDeployment(ctx, d, home, layout, dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, running.Stop())
		}
	}()
	users := map[string]string{}
	for _, spec := range servers { // whom Preflight does not know
		if err := d.swarm.elsewhere().Check(spec, users); err != nil {
			return nil, err
		}
	}
	running.assign(all)
	go running.watch()
	if err := running.Begin(ctx, slices.Concat(servers, contained), layout.Prepare); err != nil {
		return nil, err
	}
	if err := running.Begin(ctx, last, nil); err != nil {
		return nil, err
	}
	// The other deployer removes the folder with its end.
	if running.Beside, err = d.processes.Join(ctx, rest, dir, running.Supervisor, nil); err != nil {
		return nil, err
	}
	return running, nil
}

// newDeployment has no service yet.
func newDeployment(ctx context.Context, d *Deployer, home *home, layout lab.Layout, dir string) *deployment {
	supervisor := fleet.NewSupervisor(layout, fleet.HandedOver(dir))
	supervisor.NewsTake(newsPatience)
	made := &deployment{
		deployer: d, home: home,
		news: newNews(),
	}
	made.Fleet = fleet.New(ctx, supervisor, dir, made.platform())
	made.trial = containers.Trial{Label: d.label, Dir: dir, Endpoints: made.Endpoints}
	made.doors = supervisor.NewDoors(func(endpoint string) (net.Conn, error) {
		return home.through(made.Watching, made.trial.Endpoints[endpoint].Dial)
	})
	return made
}

// Package process deploys units as processes of this host.
//
// Units run in a process group of their own, led by a janitor. The janitor holds
// the read end of a pipe whose write end only the conductor has: when the
// conductor closes it, or dies in whatever way, the janitor ends every process
// of the group and removes the trial's directory. Each unit is also killed by
// the kernel when the thread that started it goes away. So nothing survives,
// not even a kill -9 of the conductor.
//
// A foreign program may start others, daemons too. It runs below a keeper, a
// process of ours that adopts all orphans and ends them when the conductor says
// so or is gone; the janitor waits for the keepers.
//
// Entry points: New, Deployer.Deploy and, for processes of their own, Janitor and
// Keep.
package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/relay"
)

// Deployer starts units as processes. Its fields are set once, by New.
type Deployer struct {
	programs string   // folder of our unit programs, or the only one
	janitor  []string // command that runs Janitor on the directory appended to it
	keeper   []string // command that runs Keep on what is appended to it
	label    string   // value of CLEAVE_RUN
	grace    time.Duration
}

var (
	_ lab.Deployer = (*Deployer)(nil)
	_ lab.Ender    = (*deployment)(nil)
)

// New returns a deployer of the unit programs in a folder; where units name none (lab.UnitSpec.Own), programs
// is the path of the one that all of them run. The janitor command is called with a directory as its last
// argument and must call Janitor; the keeper command is called with what KeeperArguments reads and must
// call Keep. label marks everything that is started.
func New(programs string, janitor, keeper []string, label string) *Deployer {
	return &Deployer{programs: programs, janitor: janitor, keeper: keeper, label: label, grace: stopGrace}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return "process" }

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	return d.Join(ctx, layout, dir, fleet.NewSupervisor(layout, fleet.HandedOver(dir)), nil)
}

// Join is Deploy for a layout that is a part of another: its units come under the
// same supervisor as those that run elsewhere, whose endpoints are known.
func (d *Deployer) Join(ctx context.Context, layout lab.Layout, dir string, supervisor *fleet.Supervisor,
	known map[string]lab.Endpoint) (lab.Deployment, error) {
	network, err := makeNetwork(ctx, d.label, layout)
	if err != nil {
		return nil, err
	}
	endpoints, ports, err := assignEndpoints(layout, network)
	if err != nil {
		return nil, errors.Join(err, network.close())
	}
	maps.Copy(endpoints, known)
	wanted := links.Of(layout.Links, layout.Units)
	relays, err := relay.Before(wanted.Relayed(layout.Units), endpoints, network.addressOf(""))
	if err != nil {
		ports.Close()
		return nil, errors.Join(err, network.close())
	}
	group, err := startGroup(d.janitor, dir, d.label)
	if err != nil {
		ports.Close()
		return nil, errors.Join(err, relays.Close(), network.close())
	}
	running := &deployment{
		endpoints: endpoints, network: network, links: wanted, group: group, launcher: launch.NewLauncher(),
		ports: ports, limits: map[string]*cgroup.Group{},
	}
	running.Fleet = fleet.New(ctx, supervisor, dir, fleet.Platform[*unit]{
		Name: d.Name(), Faults: d.Faults(), SharesMemory: layout.SharedMemory > 0,
		Next: running.next, Reach: running.reach,
		NodeOf: func(u *unit) string { return u.Spec.Node }, Nodes: running.nodes(),
	})
	running.Relays = relays
	running.restart = func(spec lab.UnitSpec) (*exec.Cmd, error) { return d.command(spec, nil, running) }
	if err := d.startUnits(ctx, layout, running); err != nil {
		return nil, errors.Join(err, running.Stop())
	}
	return running, nil
}

func (d *Deployer) startUnits(ctx context.Context, layout lab.Layout, running *deployment) error {
	if err := running.links.Make(ctx, running.network.named, running.Relays); err != nil {
		return err
	}
	if err := volume.Prepare(layout.Units, running.volume); err != nil {
		return err
	}
	if err := running.replicate(ctx, layout); err != nil {
		return err
	}
	memory, err := sharedMemory(layout.SharedMemory)
	if err != nil {
		return err
	}
	if memory != nil {
		defer func() { _ = memory.Close() }() // the units have it by then
	}
	return running.Begin(ctx, fleet.Steps{
		AtOnce: 1, // that is fastest: the launcher has one thread
		Start:  func(_ context.Context, spec lab.UnitSpec) error { return d.startUnit(spec, memory, running) },
		Prepare: func(ctx context.Context, spec lab.UnitSpec, visit fleet.Visit) error {
			return d.prepare(ctx, running, spec, visit)
		},
		Reach: running.reach,
	}, layout.Units, layout.Prepare)
}

// reach returns where this host reaches a unit.
func (d *deployment) reach(unit string) string { return d.endpoints[unit].Dial }

func (d *Deployer) startUnit(spec lab.UnitSpec, memory *os.File, running *deployment) error {
	if err := fleet.MakeVolume(running.group.dir, spec, running.seenBy(spec)); err != nil {
		return err
	}
	command, err := d.command(spec, memory, running)
	if err != nil {
		return err
	}
	u := running.newUnit(spec, command)
	if err := u.Start(context.Background()); err != nil {
		return err
	}
	running.Add(u)
	return nil
}

// volume returns the folder that a unit gets.
func (d *deployment) volume(spec lab.UnitSpec) string { return fleet.Volume(d.group.dir, spec) }

// command returns the command of any unit, whose own addresses must be free.
func (d *Deployer) command(spec lab.UnitSpec, memory *os.File, running *deployment) (*exec.Cmd, error) {
	if !spec.Foreign {
		return d.unitCommand(spec, memory, running), nil
	}
	grace := d.grace
	if spec.Server != nil {
		grace = 0 // there is nothing to put in order
	}
	command, err := d.keeperCommand(spec, grace, running)
	if err != nil {
		return nil, err
	}
	return command, CheckBinds(spec)
}

// unitCommand returns the command of a unit of our own.
func (d *Deployer) unitCommand(spec lab.UnitSpec, memory *os.File, running *deployment) *exec.Cmd {
	program := d.programOf(spec)
	args := slices.Clone(spec.Args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{dir}", running.volume(spec))
	}
	command := exec.Command(program, args...)
	command.Env = d.environment(spec, running)
	if memory != nil {
		command.ExtraFiles = []*os.File{memory}
	}
	return command
}

// programOf returns the file that a unit runs.
func (d *Deployer) programOf(spec lab.UnitSpec) string {
	if spec.Program != "" {
		return spec.Program
	}
	return filepath.Join(d.programs, spec.Own)
}

// environment returns all that a unit gets.
func (d *Deployer) environment(spec lab.UnitSpec, running *deployment) []string {
	return fleet.Environment(spec, d.label, running.group.dir, running.seenBy(spec))
}

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*unit]
	endpoints map[string]lab.Endpoint
	network   *network
	links     *links.Wanted
	group     *group
	launcher  *launch.Launcher
	disk      *gluster.Volume // replicated; nil: none
	ports     *launch.Ports
	// restart is the command of a unit that is started once more.
	restart func(spec lab.UnitSpec) (*exec.Cmd, error)

	mu       sync.Mutex
	limits   map[string]*cgroup.Group // by the names of units that have some
	ending   bool                     // foreign units may end
	stopOnce sync.Once
	stopErr  error
}

// Units implements lab.Deployment.
func (d *deployment) Units() []lab.Unit {
	var units []lab.Unit
	for _, u := range d.All() {
		span := lab.Span("")
		if u.Spec.Foreign {
			span = lab.SpanBelow
		}
		units = append(units, lab.Unit{Name: u.Spec.Name, Role: u.Spec.Role, PID: u.PID, Span: span,
			NameBy: u.Spec.NameBy})
	}
	if d.disk != nil {
		units = append(units, d.disk.Units()...)
	}
	return units
}

// Endpoint implements lab.Deployment.
func (d *deployment) Endpoint(unit string) (lab.Endpoint, error) {
	endpoint, listens := d.endpoints[unit]
	if !listens {
		return endpoint, fmt.Errorf("there is no unit %q that listens", unit)
	}
	return endpoint, nil
}

// Stop implements lab.Deployment.
func (d *deployment) Stop() error {
	d.stopOnce.Do(func() {
		d.MayEnd()
		d.mu.Lock()
		d.ending = true
		d.mu.Unlock()
		all := d.Everything()
		for _, u := range all {
			if u.Spec.Foreign && u.commands != nil {
				_ = u.commands.Close() // the keeper's signal; it may have ended
			}
		}
		d.stopErr = errors.Join(d.closeDisk(all), d.group.end())
		for _, u := range all {
			<-u.Ended
			d.stopErr = errors.Join(d.stopErr, u.Unkept)
		}
		d.launcher.Close()
		d.ports.Close()
		d.stopErr = errors.Join(d.stopErr, d.Relays.Close(), d.network.close())
	})
	return d.stopErr
}

// EndForeign implements lab.Ender.
func (d *deployment) EndForeign(ctx context.Context) error {
	return d.Supervisor.EndForeign(ctx, d.group.dir, func(ended *fleet.Unit) error {
		if u := d.Named(ended.Spec.Name); u != nil { // else it runs elsewhere
			return u.commands.Close() // the keeper's signal
		}
		return nil
	})
}

func (d *deployment) isEnding() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ending
}

// Package process deploys units as processes of this host.
//
// Units run in a process group of their own, led by a janitor. The janitor reads
// a pipe whose write end the conductor has: when the conductor closes it, or dies
// in whatever way, the janitor ends every process of the group and removes the
// trial's directory. Each unit is also killed by the kernel when the thread that
// started it ends. So nothing survives, not even a kill -9 of the conductor.
//
// A foreign program may start others, daemons too. It runs below a keeper, a
// process of ours that adopts all orphans. The keeper ends them when the
// conductor closes the keeper's own pipe or dies. The janitor waits for the
// keepers, which have copies of the write end of its pipe.
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
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/lab"
)

// Deployer starts units as processes. Its fields are set once, by New.
type Deployer struct {
	programs string   // folder of our unit programs, or the only one
	janitor  []string // command that runs Janitor on the directory appended to it
	keeper   []string // command that runs Keep with the arguments appended to it
	label    string   // value of CLEAVE_RUN
	grace    time.Duration
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer of unit programs. programs is their folder, or the path of the only one if units
// name none (lab.UnitSpec.Own). The janitor command is called with a directory as its last
// argument and must call Janitor; the keeper command is called with the arguments of Keep and must
// call it. label marks everything that is started.
func New(programs string, janitor, keeper []string, label string) *Deployer {
	return &Deployer{programs: programs, janitor: janitor, keeper: keeper, label: label, grace: stopGrace}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return lab.Process }

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	running, err := d.Join(ctx, layout, dir, fleet.NewSupervisor(layout, fleet.HandedOver(dir)), nil)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir)) // otherwise the janitor has removed it
	}
	return running, nil
}

// Join is Deploy for a part of a layout: its units get the same supervisor as those
// that run elsewhere, and may call these at the known endpoints.
func (d *Deployer) Join(ctx context.Context, layout lab.Layout, dir string, supervisor *fleet.Supervisor,
	known map[string]lab.Endpoint) (lab.Deployment, error) {
	network, err := makeNodes(ctx, d.label, layout)
	if err != nil {
		return nil, err
	}
	endpoints, ports, err := assignEndpoints(layout, network)
	if err != nil {
		return nil, errors.Join(err, network.Close())
	}
	maps.Copy(endpoints, known)
	group, err := startGroup(d.janitor, dir, d.label)
	if err != nil {
		ports.Close()
		return nil, errors.Join(err, network.Close())
	}
	running := d.newDeployment(ctx, layout, group, supervisor)
	running.network = network
	running.ports = ports
	running.Endpoints = endpoints
	if err := running.startUnits(ctx, layout); err != nil {
		return nil, errors.Join(err, running.Stop())
	}
	return running, nil
}

// newDeployment returns a deployment without units.
func (d *Deployer) newDeployment(
	ctx context.Context, layout lab.Layout, group *group, supervisor *fleet.Supervisor,
) *deployment {
	made := &deployment{
		deployer: d, group: group, launcher: launch.NewLauncher(), limits: map[string]*cgroup.Group{},
	}
	made.Fleet = fleet.New(ctx, supervisor, group.dir, fleet.Platform[*unit]{
		Name: d.Name(), Faults: d.Can().Faults, SharesMemory: layout.SharedMemory > 0, Keepers: true,
		AtOnce: 1, // the launcher has one thread, so that more would only wait for each other
		New:    made.newUnit, AwaitOpen: made.awaitOpen,
		Reach:   func(unit string) string { return made.Endpoints[unit].Dial },
		Further: made.bricks, Clear: made.clear,
		NodeOf: func(u *unit) string { return u.Spec.Node }, Nodes: made.nodes(),
	})
	made.Wanted = links.Of(layout.Links, layout.Units)
	return made
}

// startUnits makes what the units need, and starts them.
func (d *deployment) startUnits(ctx context.Context, layout lab.Layout) (err error) {
	if err := d.Furnish(ctx, layout.Units, addressOf(d.network, ""), d.network.Named, nil); err != nil {
		return err
	}
	if err := d.replicate(ctx, layout); err != nil {
		return err
	}
	if d.memory, err = sharedMemory(layout.SharedMemory); err != nil {
		return err
	}
	if d.memory != nil {
		defer func() {
			_ = d.memory.Close() // the units have inherited it by then
			d.memory = nil
		}()
	}
	return d.Begin(ctx, layout.Units, layout.Prepare)
}

// command returns the command of a unit. It fails if another program listens at an address of a foreign unit.
func (d *deployment) command(u *fleet.Unit) (*exec.Cmd, error) {
	spec, grace := u.Spec, d.deployer.grace
	if !spec.Foreign {
		return d.unitCommand(spec), nil
	}
	if spec.Server != nil && !u.Visited {
		// A server needs no time for an orderly end: its files are removed with the trial, and its setup has
		// succeeded or been given up. Without a grace the keeper stops its processes before it kills them, so that
		// they leave no further shared memory.
		grace = 0
	}
	command, err := d.keeperCommand(spec, grace)
	if err != nil || u.Prepares {
		return command, err
	}
	return command, CheckBinds(spec)
}

// unitCommand returns the command of a unit of our own.
func (d *deployment) unitCommand(spec lab.UnitSpec) *exec.Cmd {
	args := slices.Clone(spec.Args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{dir}", d.Volume(spec))
	}
	command := exec.Command(d.deployer.programOf(spec), args...)
	command.Env = d.environment(spec)
	if d.memory != nil {
		command.ExtraFiles = []*os.File{d.memory}
	}
	return command
}

// programOf returns the program of a unit: its own, or a unit program of ours.
func (d *Deployer) programOf(spec lab.UnitSpec) string {
	if spec.Program != "" {
		return spec.Program
	}
	return filepath.Join(d.programs, spec.Own)
}

// environment returns the complete environment of a unit, as KEY=value.
func (d *deployment) environment(spec lab.UnitSpec) []string {
	return fleet.Environment(spec, d.group.label, d.group.dir, d.seenBy(spec))
}

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*unit]
	deployer *Deployer
	network  *hosts.Set // the nodes that the layout names; nil: none
	group    *group
	launcher *launch.Launcher
	disk     *gluster.Volume // replicated; nil: none
	memory   *os.File        // shared by the units; nil: none, or they have inherited it
	ports    *launch.Ports

	mu     sync.Mutex
	limits map[string]*cgroup.Group // by the names of units with limits
}

// clear ends all units, and removes what was made for them.
func (d *deployment) clear() (err error) {
	all := d.Everything()
	for _, u := range all {
		if u.Spec.Foreign {
			_ = u.End(context.Background()) // it may have ended
		}
	}
	if d.disk != nil { // units may have files on it
		err = errors.Join(endAll(all), d.disk.Close())
	}
	err = errors.Join(err, d.group.end(), endAll(all)) // a killed janitor has left units running
	for _, u := range all {
		if u.HasEnded() {
			err = errors.Join(err, u.Unkept)
		}
	}
	d.launcher.Close()
	d.ports.Close()
	return errors.Join(err, d.network.Close())
}

// endPatience bounds how long all units together may take to end, once ours are killed and keepers have lost
// their conductor. A keeper needs the grace of its program and twice killPatience.
const endPatience = time.Minute

// endAll kills the units that are programs of our own, waits until all units have ended, and returns an error
// for each that does not end.
func endAll(all []*unit) (err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), endPatience,
		fmt.Errorf("it still runs after %v: remove it with: cleave clean", endPatience))
	defer cancel()
	for _, u := range all {
		if !u.Spec.Foreign {
			_ = u.kill() // it fails for foreign ones only
		}
	}
	for _, u := range all {
		if late := u.AwaitEnd(ctx); !u.HasEnded() {
			err = errors.Join(err, late)
		}
	}
	return err
}

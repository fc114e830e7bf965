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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/launch"
)

// Deployer starts units as processes. Its fields are set once, by New.
type Deployer struct {
	program string   // path of cleave-unit
	janitor []string // command that runs Janitor on the directory appended to it
	keeper  []string // command that runs Keep on what is appended to it
	label   string   // value of CLEAVE_RUN
	grace   time.Duration
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer that starts program with each unit's arguments. The
// janitor command is called with a directory as its last argument and must call
// Janitor; the keeper command is called with what KeeperArguments reads and must
// call Keep. label marks everything that is started.
func New(program string, janitor, keeper []string, label string) *Deployer {
	return &Deployer{program: program, janitor: janitor, keeper: keeper, label: label, grace: stopGrace}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return "process" }

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	addresses, ports, err := assignAddresses(layout)
	if err != nil {
		return nil, err
	}
	group, err := startGroup(d.janitor, dir, d.label)
	if err != nil {
		ports.Close()
		return nil, err
	}
	running := newDeployment(layout, group)
	running.ports = ports
	running.restart = func(spec lab.UnitSpec) (*exec.Cmd, error) { return d.command(spec, nil, addresses, dir) }
	if err := d.startUnits(ctx, layout, running, addresses, dir); err != nil {
		return nil, errors.Join(err, running.Stop())
	}
	return running, nil
}

func (d *Deployer) startUnits(ctx context.Context, layout lab.Layout, running *deployment, addresses map[string]string, dir string) error {
	for _, spec := range layout.Prepare {
		if err := d.prepare(ctx, running, spec, addresses, dir); err != nil {
			return fmt.Errorf("prepare the trial: %w", err)
		}
	}
	memory, err := sharedMemory(layout.SharedMemory)
	if err != nil {
		return err
	}
	if memory != nil {
		defer func() { _ = memory.Close() }() // the units have it by then
	}
	for _, spec := range layout.Units {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.startUnit(spec, memory, running, addresses, dir); err != nil {
			return err
		}
	}
	return nil
}

func (d *Deployer) startUnit(spec lab.UnitSpec, memory *os.File, running *deployment, addresses map[string]string, dir string) error {
	command, err := d.command(spec, memory, addresses, dir)
	if err != nil {
		return err
	}
	for name, data := range spec.Files {
		if err := os.WriteFile(filepath.Join(dir, spec.Name+"-"+name), data, 0o600); err != nil {
			return fmt.Errorf("write a file of unit %s: %w", spec.Name, err)
		}
	}
	u := &unit{spec: spec, command: command, log: &tail{}}
	if err := running.launch(u); err != nil {
		return fmt.Errorf("start unit %s (%s): %w", spec.Name, command.Path, err)
	}
	running.add(u)
	return nil
}

// command is that of any unit, whose own addresses must be free.
func (d *Deployer) command(spec lab.UnitSpec, memory *os.File, addresses map[string]string, dir string) (*exec.Cmd, error) {
	if !spec.Foreign {
		return d.unitCommand(spec, memory, addresses, dir), nil
	}
	command, err := d.keeperCommand(spec, addresses, dir)
	if err != nil {
		return nil, err
	}
	return command, checkBinds(spec)
}

// unitCommand is the command of a unit of our own.
func (d *Deployer) unitCommand(spec lab.UnitSpec, memory *os.File, addresses map[string]string, dir string) *exec.Cmd {
	program := spec.Program
	if program == "" {
		program = d.program
	}
	args := slices.Clone(spec.Args)
	for i := range args {
		if len(spec.Files) > 0 {
			args[i] = strings.ReplaceAll(args[i], "{dir}", dir)
		}
	}
	command := exec.Command(program, args...)
	command.Env = d.environment(spec, addresses, dir)
	if memory != nil {
		command.ExtraFiles = []*os.File{memory}
	}
	return command
}

// environment is all that a unit gets: nothing of the conductor's own
// environment reaches the system under test.
func (d *Deployer) environment(spec lab.UnitSpec, addresses map[string]string, dir string) []string {
	environment := []string{"CLEAVE_RUN=" + d.label, "CLEAVE_DIR=" + dir}
	if address, ok := addresses[spec.Name]; ok {
		environment = append(environment, "CLEAVE_ADDRESS="+address)
	}
	for _, peer := range spec.Peers {
		environment = append(environment, lab.PeerVariable(peer)+"="+addresses[peer])
	}
	return append(environment, spec.Env...)
}

// deployment is a running layout.
type deployment struct {
	lead     string
	group    *group
	launcher *launch.Launcher
	prepared []*unit // commands that ran before the units
	shares   bool    // the units share memory
	ports    *launch.Ports
	// restart is the command of a unit that is started once more.
	restart func(spec lab.UnitSpec) (*exec.Cmd, error)

	events   chan lab.Event // from the lead unit
	failures chan error     // the first failure of any unit
	mu       sync.Mutex
	units    []*unit
	stopping bool // the units may end
	ending   bool // the foreign ones too
	stopOnce sync.Once
	stopErr  error
}

func newDeployment(layout lab.Layout, group *group) *deployment {
	return &deployment{
		lead: layout.Lead, group: group, launcher: launch.NewLauncher(),
		shares: layout.SharedMemory > 0, events: make(chan lab.Event, 4), failures: make(chan error, 1),
	}
}

// add takes a unit into the layout that runs.
func (d *deployment) add(u *unit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.units = append(d.units, u)
}

// all are the units as they are now.
func (d *deployment) all() []*unit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.units)
}

// Units implements lab.Deployment.
func (d *deployment) Units() []lab.Unit {
	var units []lab.Unit
	for _, u := range d.all() {
		span := lab.Span("")
		if u.spec.Foreign {
			span = lab.SpanBelow
		}
		units = append(units, lab.Unit{Name: u.spec.Name, Role: u.spec.Role, PID: u.command.Process.Pid, Span: span})
	}
	return units
}

// Await implements lab.Deployment.
func (d *deployment) Await(ctx context.Context, kind lab.EventKind) (lab.Event, error) {
	select {
	case event := <-d.events:
		if event.Event != kind {
			return event, fmt.Errorf("unit %s said %q, expected %q", d.lead, event.Event, kind)
		}
		return event, nil
	case err := <-d.failures:
		return lab.Event{}, err
	case <-ctx.Done():
		return lab.Event{}, fmt.Errorf("wait for %q from unit %s: %w", kind, d.lead, context.Cause(ctx))
	}
}

// Command implements lab.Deployment.
func (d *deployment) Command(command lab.Command) error {
	if command.Command == lab.CommandStop {
		d.mu.Lock()
		d.stopping = true
		d.mu.Unlock()
	}
	lead := d.leadUnit()
	if lead == nil {
		return fmt.Errorf("the layout has no unit %q to lead it", d.lead)
	}
	return lead.send(command)
}

// leadUnit is nil where the layout has none.
func (d *deployment) leadUnit() *unit { return d.named(d.lead) }

// named is nil where no unit has the name.
func (d *deployment) named(name string) *unit {
	units := d.all()
	i := slices.IndexFunc(units, func(u *unit) bool { return u.spec.Name == name })
	if i < 0 {
		return nil
	}
	return units[i]
}

// Reports implements lab.Deployment.
func (d *deployment) Reports(ctx context.Context) ([]lab.UnitReport, error) {
	if lead := d.leadUnit(); lead != nil {
		if err := lead.awaitEnd(ctx); err != nil {
			return nil, err
		}
	}
	units := d.all()
	for _, u := range units {
		if !u.spec.Foreign && u.spec.Name != d.lead {
			_ = u.send(lab.Command{Command: lab.CommandStop}) // refused by those that have ended
		}
	}
	var reports []lab.UnitReport
	for _, u := range units {
		if u.spec.Foreign {
			continue
		}
		if err := u.awaitEnd(ctx); err != nil {
			return reports, err
		}
		if u.report != nil {
			reports = append(reports, lab.UnitReport{Unit: u.spec.Name, PID: u.command.Process.Pid, Data: u.report})
		}
	}
	select {
	case err := <-d.failures:
		return reports, err
	default:
		return reports, nil
	}
}

// Logs implements lab.Deployment.
func (d *deployment) Logs() map[string]string {
	logs := map[string]string{}
	for _, u := range slices.Concat(d.prepared, d.all()) {
		if text := u.log.String(); text != "" {
			logs[u.spec.Name] = text
		}
	}
	return logs
}

// Stop implements lab.Deployment.
func (d *deployment) Stop() error {
	d.stopOnce.Do(func() {
		d.mu.Lock()
		d.stopping, d.ending = true, true
		d.mu.Unlock()
		all := slices.Concat(d.prepared, d.all())
		for _, u := range all {
			if u.spec.Foreign {
				_ = u.commands.Close() // the keeper's signal; it may have ended
			}
		}
		d.stopErr = d.group.end()
		for _, u := range all {
			<-u.ended
			d.stopErr = errors.Join(d.stopErr, u.unkept)
		}
		d.launcher.Close()
		d.ports.Close()
	})
	return d.stopErr
}

// fail keeps the first failure; later ones are its consequences.
func (d *deployment) fail(err error) {
	select {
	case d.failures <- err:
	default:
	}
}

func (d *deployment) mayEnd() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopping
}

func (d *deployment) isEnding() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ending
}

package bigtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
)

const (
	// unitProgram is the name under which a test binary is the program of units.
	unitProgram = "unit-of-big"
	// eventTimeout limits the wait for an event: far longer than any trial of the tests takes.
	eventTimeout = 3 * time.Minute
)

// Deployment is a running trial.
type Deployment struct {
	lab.Deployment
	trial Trial
	// Dir is the folder of the first unit, which all units share that have Unix sockets.
	Dir string
}

// Start starts the named units of a trial, or all if none is named. The end of the test ends them. A test
// that names units plays the others itself; then the first of the named ones leads.
func Start(tb testing.TB, trial Trial, names ...string) *Deployment {
	tb.Helper()
	layout, err := big.System{}.Layout(trial.variant(), trial.point(), 1)
	testset.Must(tb, err)
	var played map[string]lab.Endpoint
	if len(names) > 0 {
		played = leaveOut(tb, &layout, names)
	}
	program, err := os.Executable()
	testset.Must(tb, err)
	programs := tb.TempDir()
	testset.Must(tb, os.Symlink(program, filepath.Join(programs, unitProgram)))
	for i := range layout.Units {
		layout.Units[i].Own = unitProgram
	}
	deployer, err := trials.Deployer(programs)
	testset.Must(tb, err)
	// Not tb.TempDir: a Unix socket's path may have 107 bytes only.
	dir, err := os.MkdirTemp("", "big")
	testset.Must(tb, err)
	deployed, err := deployer.Join(context.Background(), layout, dir,
		fleet.NewSupervisor(layout, fleet.HandedOver(dir)), played)
	testset.Must(tb, err)
	tb.Cleanup(func() {
		if err := deployed.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return &Deployment{deployed, trial, fleet.Volume(dir, layout.Units[0])}
}

// leaveOut removes all units but the named ones from a layout, and returns reserved endpoints of the others
// that listen.
func leaveOut(tb testing.TB, layout *lab.Layout, names []string) map[string]lab.Endpoint {
	tb.Helper()
	isNamed := func(spec lab.UnitSpec) bool { return slices.Contains(names, spec.Name) }
	ports, err := launch.ReservePorts(len(layout.Units))
	testset.Must(tb, err)
	tb.Cleanup(ports.Close)
	endpoints := map[string]lab.Endpoint{}
	for i, spec := range layout.Units {
		if address := launch.Loopback(ports.Numbers[i]); spec.Listens && !isNamed(spec) {
			endpoints[spec.Name] = lab.Endpoint{Bind: address, Dial: address}
		}
	}
	layout.Units = slices.DeleteFunc(layout.Units, func(spec lab.UnitSpec) bool { return !isNamed(spec) })
	layout.Lead = names[0]
	return endpoints
}

// Address returns the address of a unit that listens, or that the test plays.
func (d *Deployment) Address(unit string) string {
	at, _ := d.Endpoint(unit) // without one, nobody is found there
	return at.Dial
}

// AwaitEvent returns the lead's next event of a kind. It fails as soon as any unit fails or ends.
func (d *Deployment) AwaitEvent(kind lab.EventKind) (lab.Event, error) {
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	return d.Await(ctx, kind)
}

// AwaitFailure waits until a unit fails and returns why.
func (d *Deployment) AwaitFailure() string {
	event, err := d.AwaitEvent(lab.EventFinished)
	if err == nil {
		return fmt.Sprintf("no unit has failed: %+v", event)
	}
	return err.Error()
}

// finish plays the rest of a trial whose units are ready, and returns its audit.
func (d *Deployment) finish() (lab.Audit, error) {
	if err := d.Command(lab.Command{Command: lab.CommandStart}); err != nil {
		return lab.Audit{}, err
	}
	if _, err := d.AwaitEvent(lab.EventFinished); err != nil {
		return lab.Audit{}, err
	}
	if err := d.Command(lab.Command{Command: lab.CommandStop}); err != nil {
		return lab.Audit{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	reports, err := d.Reports(ctx)
	return big.System{}.Audit(d.trial.variant(), d.trial.point(), reports), err
}

// kill kills a unit with SIGKILL.
func (d *Deployment) kill(name string) error {
	for _, u := range d.Units() {
		if u.Name == name {
			return syscall.Kill(u.PID, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("no unit %q", name)
}

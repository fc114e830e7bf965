package deploytest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// deploy deploys a layout until the end of the test. It skips the test if the deployer cannot do it here.
func (s *suite) deploy(t *testing.T, l lab.Layout) lab.Deployment {
	t.Helper()
	err := s.Preflight(t.Context(), l)
	var incapable *lab.Incapable
	if errors.As(err, &incapable) {
		t.Skip(err)
	}
	testset.Must(t, err)
	d, err := s.Deploy(t.Context(), l, s.dir)
	testset.Must(t, err)
	s.deployed = append(s.deployed, d)
	return d
}

// play deploys a layout and has its lead do its job.
func (s *suite) play(t *testing.T, l lab.Layout) lab.Deployment {
	t.Helper()
	d := s.deploy(t, l)
	job(t, d)
	return d
}

// Deploy deploys a layout in a folder of its own. The deployment is stopped with the test.
func Deploy(t *testing.T, deployer lab.Deployer, l lab.Layout) lab.Deployment {
	t.Helper()
	d, err := deployer.Deploy(t.Context(), l, Folder(t))
	testset.Must(t, err)
	t.Cleanup(func() { _ = d.Stop() }) // a test that checks the error has called Stop before
	return d
}

// stop stops a deployment twice: the second call must do nothing.
func stop(t *testing.T, d lab.Deployment) {
	t.Helper()
	for range 2 {
		if err := d.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
}

// Within returns a context that ends with the test, or after patience.
func Within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// job waits until the lead is ready and has it do its job.
func job(t *testing.T, d lab.Deployment) {
	t.Helper()
	Await(t, d, lab.EventReady)
	finish(t, d)
}

// finish has a lead that is ready do its job, and returns the time that this took, in seconds.
func finish(t *testing.T, d lab.Deployment) float64 {
	t.Helper()
	testset.Must(t, d.Command(lab.Command{Command: lab.CommandStart}))
	took := Await(t, d, lab.EventFinished).ElapsedSeconds
	if took <= 0 {
		t.Fatalf("the job took %g s", took)
	}
	return took
}

// Await returns the next event of the lead. It ends the test if that is of another kind.
func Await(t *testing.T, d lab.Deployment, kind lab.EventKind) lab.Event {
	t.Helper()
	event, err := d.Await(Within(t), kind)
	testset.Must(t, err)
	return event
}

// goesOn expects that a trial has not failed.
func goesOn(t *testing.T, d lab.Deployment) {
	t.Helper()
	if err := d.Failure(); err != nil {
		t.Errorf("the trial has failed: %v", err)
	}
}

// endpointOf returns the endpoint of a unit.
func endpointOf(t *testing.T, d lab.Deployment, unit string) lab.Endpoint {
	t.Helper()
	endpoint, err := d.Endpoint(unit)
	testset.Must(t, err)
	return endpoint
}

// reportsOf ends the units that report, and returns their reports.
func reportsOf(t *testing.T, d lab.Deployment) []lab.UnitReport {
	t.Helper()
	testset.Must(t, d.Command(lab.Command{Command: lab.CommandStop}))
	reports, err := d.Reports(Within(t))
	testset.Must(t, err)
	return reports
}

// end ends the units and returns what each reported, as JSON, by name.
func end(t *testing.T, d lab.Deployment) map[string]string {
	t.Helper()
	reports := reportsOf(t, d)
	all := map[string]string{}
	var order []string
	for _, r := range reports {
		all[r.Unit] = string(r.Data)
		order = append(order, r.Unit)
	}
	var units []string
	for _, u := range d.Units() {
		units = append(units, u.Name)
	}
	if !slices.Equal(order, units) {
		t.Errorf("reports of %q, want them in the order of the units %q", order, units)
	}
	return all
}

// ask returns the answer of a unit to the host of the conductor; "" if there is none soon.
func ask(t *testing.T, d lab.Deployment, unit string) string {
	t.Helper()
	return answerAt(endpointOf(t, d, unit), soon)
}

// answers expects that the answer of a unit is want.
func answers(t *testing.T, d lab.Deployment, unit, want string) {
	t.Helper()
	expect(t, endpointOf(t, d, unit), soon, want, unit)
}

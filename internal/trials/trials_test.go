package trials

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// fake is a deployer and its only deployment, with this process as its unit. It records
// its steps.
type fake struct {
	lab.Deployment        // nil: its other methods are not called
	fails          string // the step that fails
	steps          []string
	dir            string
}

var errFake = errors.New("fake failure")

func (f *fake) step(name string) error {
	f.steps = append(f.steps, name)
	if f.fails == name {
		return errFake
	}
	return nil
}

func (f *fake) Name() string                                { return "fake" }
func (f *fake) Can() (can lab.Capabilities)                 { return can }
func (f *fake) Preflight(context.Context, lab.Layout) error { return f.step("preflight") }
func (f *fake) Units() []lab.Unit {
	return []lab.Unit{{Name: "unit", Role: "core", PID: os.Getpid()}}
}
func (f *fake) Command(c lab.Command) error { return f.step(string(c.Command)) }
func (f *fake) HandedOver() string          { return "" }
func (f *fake) Failed() <-chan struct{}     { return nil }
func (f *fake) Failure() error              { return nil }
func (f *fake) Logs() map[string]string     { return map[string]string{"unit": "last words"} }
func (f *fake) Stop() error                 { return errors.Join(f.step("tear down"), os.RemoveAll(f.dir)) }
func (f *fake) Meter() lab.Meter            { return nil }
func (f *fake) NodeOf(string) string        { return "" }

func (f *fake) Clocks(context.Context) ([]lab.ClockReading, error)      { return nil, nil }
func (f *fake) Arrivals(context.Context, func(lab.Arrived) error) error { return nil }
func (f *fake) PlatformCost() (cost lab.PlatformCost)                   { return cost }
func (f *fake) Daemons() ([]lab.Unit, string)                           { return nil, "" }
func (f *fake) Accounts(_, _ time.Time) ([]lab.PlatformUsage, string)   { return nil, "" }

func (f *fake) Deploy(_ context.Context, _ lab.Layout, dir string) (lab.Deployment, error) {
	f.dir = dir
	return f, f.step("deploy")
}

func (f *fake) Await(_ context.Context, kind lab.EventKind) (lab.Event, error) {
	return lab.Event{Event: kind, ElapsedSeconds: 2.5}, f.step("await " + string(kind))
}

func (f *fake) Reports(context.Context) ([]lab.UnitReport, error) {
	return []lab.UnitReport{{Unit: "unit"}}, f.step("reports")
}

func (f *fake) Endpoint(string) (lab.Endpoint, error) { return lab.Endpoint{}, nil }

// allSteps returns the steps of a trial without a failure.
func allSteps() []string {
	return []string{"preflight", "deploy", "await ready", "start", "await finished", "stop", "reports", "judge",
		"tear down"}
}

// play plays a trial of the fake and checks that its folder is empty afterwards.
func play(t *testing.T, f *fake, judge func(Outcome) error) error {
	t.Helper()
	dir := t.TempDir()
	err := Play(t.Context(), f, lab.Layout{}, dir, judge)
	if f.dir != "" && filepath.Dir(f.dir) != dir {
		t.Errorf("the trial is in %s, want it below %s", f.dir, dir)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the trial has left %v, %v", left, err)
	}
	return err
}

func TestPlay(t *testing.T) {
	f := &fake{}
	var got Outcome
	if err := play(t, f, func(o Outcome) error { got = o; return f.step("judge") }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.steps, allSteps()) {
		t.Errorf("steps %q, want %q", f.steps, allSteps())
	}
	if got.Finished.ElapsedSeconds != 2.5 || len(got.Reports) != 1 {
		t.Errorf("outcome %+v, want the finish and the report of the unit", got)
	}
	if got.Used.WindowSeconds <= 0 || got.Used.Roles["core"].Units != 1 {
		t.Errorf("used %+v, want the unit, between two marks", got.Used)
	}
}

// TestPlayFails: after a failed step no further steps are made, except the teardown of a
// deployment.
func TestPlayFails(t *testing.T) {
	for i, step := range allSteps() {
		f := &fake{fails: step}
		err := play(t, f, func(Outcome) error { return f.step("judge") })
		if !errors.Is(err, errFake) {
			t.Errorf("%s fails: %v", step, err)
		}
		deployed := slices.Index(allSteps(), "deploy") < i
		want := slices.Clone(allSteps()[:i+1])
		if deployed && step != "tear down" {
			want = append(want, "tear down")
		}
		if !slices.Equal(f.steps, want) {
			t.Errorf("%s fails: steps %q, want %q", step, f.steps, want)
		}
		if logged := err != nil && strings.Contains(err.Error(), "last words"); logged != deployed {
			t.Errorf("%s fails: %v; logs in it: %v", step, err, logged)
		}
	}
}

func TestPart(t *testing.T) {
	for _, c := range []struct {
		args []string
		part bool
	}{
		{[]string{"janitor", "folder"}, true}, {[]string{"keeper"}, true},
		{nil, false}, {[]string{"janitor"}, false}, {[]string{"-rounds", "2"}, false},
	} {
		if part := Part(c.args); (part != nil) != c.part {
			t.Errorf("%q: a part: %v, want %v", c.args, part != nil, c.part)
		}
	}
	if err := Part([]string{"keeper"})(); err == nil || !strings.Contains(err.Error(), "not by hand") {
		t.Errorf("a keeper without arguments: %v", err)
	}
}

func TestUnits(t *testing.T) {
	t.Chdir(t.TempDir())
	testset.Must(t, os.WriteFile("file", nil, 0o755))
	for _, missing := range []string{"unit", "", "file"} {
		if _, err := Units(missing); err == nil || !strings.Contains(err.Error(), "make build") {
			t.Errorf("units %q: %v, want what to do", missing, err)
		}
	}
	testset.Must(t, os.Mkdir("unit", 0o755))
	if path, err := Units("unit"); err != nil || !filepath.IsAbs(path) {
		t.Errorf("units %q, %v, want its absolute path", path, err)
	}
}

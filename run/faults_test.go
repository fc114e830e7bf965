package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// parts are units and services that can be killed and started again. They log what happens to them.
type parts struct {
	log   []string
	stuck string // the part that does not start again
}

func (p *parts) Harm(_ context.Context, f lab.Fault) (string, error) {
	p.log = append(p.log, string(f.Kind)+" "+f.Target)
	return "seen", nil
}

func (p *parts) Heal(_ context.Context, f lab.Fault) error {
	if f.Target == p.stuck {
		return errors.New("its port is taken")
	}
	p.log = append(p.log, "start "+f.Target)
	return nil
}

// loggedMetering logs its calls in the log of the parts.
type loggedMetering struct {
	metering
	parts *parts
}

func (n loggedMetering) Suspend(unit string) error {
	n.parts.log = append(n.parts.log, "suspend "+unit)
	return nil
}

func (n loggedMetering) Resume(unit lab.Unit) error {
	n.parts.log = append(n.parts.log, fmt.Sprintf("resume %s %d", unit.Name, unit.PID))
	return nil
}

// world is a shop on a database, both of which can be killed. It is also the injector: it does all faults
// when the injection begins.
type world struct {
	*shop
	parts   *parts
	late    bool              // no fault takes effect, as if the load had ended before
	refused error             // result of Check
	left    []lab.FaultRecord // those that the audit got
}

func (w *world) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	running, err := w.shop.Deploy(ctx, layout, dir)
	return harmable{running, w.parts}, err
}

// harmable is a deployment that passes faults on to the parts.
type harmable struct {
	lab.Deployment
	parts *parts
}

func (h harmable) Harm(ctx context.Context, f lab.Fault) (string, error) { return h.parts.Harm(ctx, f) }
func (h harmable) Heal(ctx context.Context, f lab.Fault) error           { return h.parts.Heal(ctx, f) }

func (w *world) Watch(context.Context, []lab.Unit) (lab.Metering, error) {
	return loggedMetering{parts: w.parts}, nil
}

func (w *world) AuditLive(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	w.left = left.Faults
	return w.shop.AuditLive(ctx, v, p, left)
}

func (w *world) Check([]lab.Fault, lab.Layout) error { return w.refused }

func (w *world) Begin(ctx context.Context, faults []lab.Fault, targets []lab.FaultTarget) lab.Injection {
	var done injected
	for _, f := range faults {
		r := lab.FaultRecord{Fault: f, Error: "the load was over"}
		i := slices.IndexFunc(targets, func(t lab.FaultTarget) bool { return t.Name == f.Target })
		if i >= 0 && !w.late {
			r.Effective, r.Error = true, ""
			_, err := targets[i].Parts.Harm(ctx, f)
			if err = errors.Join(err, targets[i].Parts.Heal(ctx, f)); err != nil {
				r.Error = err.Error()
			}
		}
		done = append(done, r)
	}
	return done
}

// injected holds the records of faults that were done.
type injected []lab.FaultRecord

func (i injected) Over() {}

func (i injected) End() []lab.FaultRecord { return i }

// newWorld returns a world with a conductor and a plan that kills a unit and the database.
func newWorld(t *testing.T) (*world, *Conductor, lab.Plan) {
	s, c := newShop(t)
	w := &world{shop: s, parts: &parts{}}
	c.System, c.Deployers, c.Meter, c.Injector = w, map[string]lab.Deployer{"process": w}, w, w
	p := plan(1)
	p.Study.Faults = []lab.Fault{{Target: "one", Kind: lab.FaultKill}, {Target: "database", Kind: lab.FaultKill}}
	return w, c, p
}

// TestFaultsAreDoneToUnitsAndServices checks that metering is suspended before a process is killed and
// resumed after the next one has started, and that the audit gets the faults.
func TestFaultsAreDoneToUnitsAndServices(t *testing.T) {
	w, c, p := newWorld(t)
	testset.Must(t, c.Play(t.Context(), p))
	want := []string{
		"suspend one", "kill one", "start one", "resume one 1",
		"suspend database", "kill database", "start database", "resume database 7",
	}
	if !slices.Equal(w.parts.log, want) {
		t.Errorf("order %q, want %q", w.parts.log, want)
	}
	if trial := w.saved[0]; !trial.Valid || len(trial.Faults) != 2 || len(w.left) != 2 {
		t.Errorf("valid %v (%s), faults %+v, the audit got %+v", trial.Valid, trial.Reason, trial.Faults,
			w.left)
	}
}

// TestFaultsThatSpoilATrial checks that a trial does not count if a fault was not healed or had no effect,
// and that a failed trial keeps the records of its faults.
func TestFaultsThatSpoilATrial(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		want   string
	}{
		"not started again": {func(w *world) { w.parts.stuck = "one" }, "fault kill of one: its port is taken"},
		"without effect": {func(w *world) { w.late = true },
			"audit unknown: fault kill of one did not take effect: the load was over"},
		"in a failed trial": {func(w *world) { w.spoil = map[int]error{1: errors.New("unit two died")} },
			"unit two died"},
	} {
		w, conductor, p := newWorld(t)
		p.Study.Design.MaxRepeats = 0
		c.change(w)
		if err := conductor.Play(t.Context(), p); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if trial := w.saved[0]; trial.Valid || !strings.HasPrefix(trial.Reason, c.want) || len(trial.Faults) != 2 {
			t.Errorf("%s: valid %v, reason %q, faults %+v, want %q", name, trial.Valid, trial.Reason, trial.Faults,
				c.want)
		}
	}
}

// embedded is a backing without processes.
type embedded struct{ lab.Backing }

func (embedded) Permanent() string { return "it is part of the units" }

// unable is a deployer that cannot kill.
type unable struct{ *world }

func (unable) Can() lab.Capabilities {
	return lab.Capabilities{Faults: []lab.FaultKind{lab.FaultPause}}
}

func TestFaultsThatAreRefusedBeforeTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world, *Conductor)
		want   string
	}{
		"no such target": {func(w *world, _ *Conductor) { w.refused = errors.New("there is no cellar") },
			"a at s1: there is no cellar"},
		"embedded": {func(_ *world, c *Conductor) { c.Backings["mariadb"] = embedded{c.Backings["mariadb"]} },
			`fault of "database": it is part of the units`},
		"not here": {func(w *world, c *Conductor) { c.Deployers["process"] = unable{w} },
			`fault kill of "one": the deployment process cannot do it; it can: [pause]`},
		"no injector": {func(_ *world, c *Conductor) { c.Injector = nil }, "there is no injector"},
	} {
		w, conductor, p := newWorld(t)
		c.change(w, conductor)
		err := conductor.Play(t.Context(), p)
		var refused *PlanError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || len(w.saved) > 0 {
			t.Errorf("%s: %v, want %q before anything is played", name, err, c.want)
		}
	}
}

// TestADeploymentWithoutFaultsSpoilsTheTrial checks that a trial does not count if its deployment refuses a
// fault.
func TestADeploymentWithoutFaultsSpoilsTheTrial(t *testing.T) {
	s, c := newShop(t)
	w := &world{shop: s, parts: &parts{}}
	c.Injector = w
	p := plan(1)
	p.Study.Faults = []lab.Fault{{Target: "one", Kind: lab.FaultKill}}
	testset.Must(t, c.Play(t.Context(), p))
	if trial := s.saved[0]; trial.Valid || !strings.Contains(trial.Reason,
		"the deployment supports no faults") {
		t.Errorf("valid %v, reason %q", trial.Valid, trial.Reason)
	}
}

// onNodes is a deployment of units on nodes in which every fault succeeds.
type onNodes struct{ placed }

func (onNodes) Units() []lab.Unit {
	return []lab.Unit{{Name: "front"}, {Name: "stock"}, {Name: "database"}}
}
func (onNodes) Harm(context.Context, lab.Fault) (string, error) { return "done", nil }

// TestMeteringIsSuspendedForKilledUnits checks that metering is suspended for the unit that a fault ends, or
// for all units on the node that it ends.
func TestMeteringIsSuspendedForKilledUnits(t *testing.T) {
	for target, units := range map[string][]string{"node-2": {"stock", "database"}, "front": {"front"},
		"node-3": nil} {
		o := onNodes{placed: placed{nodes: map[string]string{"front": "node-1", "stock": "node-2",
			"database": "node-2"}}}
		var killed, drained []string // drained units are replaced at once
		for _, unit := range units {
			killed, drained = append(killed, "suspend "+unit), append(drained, "resume "+unit+" 0")
		}
		drained = slices.Concat(killed, drained)
		for kind, want := range map[lab.FaultKind][]string{lab.FaultKill: killed, lab.FaultDrain: drained} {
			calls := &parts{}
			m := metered{Deployment: o, metering: loggedMetering{parts: calls}}
			if _, err := m.Harm(t.Context(), lab.Fault{Kind: kind, Target: target}); err != nil ||
				!slices.Equal(calls.log, want) {
				t.Errorf("%s:%s: the meter gets the calls %q (%v), want %q", kind, target, calls.log, err, want)
			}
		}
	}
}

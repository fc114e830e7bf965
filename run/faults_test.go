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

// faultyShop is a shop on a database, both of which can be killed. It is also the injector: it does all
// faults when the injection begins.
type faultyShop struct {
	*shop
	parts   *parts
	late    bool              // no fault takes effect, as if the load had ended before
	refused error             // result of Check
	left    []lab.FaultRecord // those that the audit got
}

func (s *faultyShop) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	running, err := s.shop.Deploy(ctx, layout, dir)
	return harmable{running, s.parts}, err
}

// harmable is a deployment that passes faults on to the parts.
type harmable struct {
	lab.Deployment
	parts *parts
}

func (h harmable) Harm(ctx context.Context, f lab.Fault) (string, error) { return h.parts.Harm(ctx, f) }
func (h harmable) Heal(ctx context.Context, f lab.Fault) error           { return h.parts.Heal(ctx, f) }

func (s *faultyShop) Watch(context.Context, []lab.Unit) (lab.Metering, error) {
	return loggedMetering{parts: s.parts}, nil
}

func (s *faultyShop) AuditLive(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	s.left = left.Faults
	return s.shop.AuditLive(ctx, v, p, left)
}

func (s *faultyShop) Check([]lab.Fault, lab.Layout) error { return s.refused }

func (s *faultyShop) Begin(ctx context.Context, faults []lab.Fault, targets []lab.FaultTarget) lab.Injection {
	var done injected
	for _, f := range faults {
		r := lab.FaultRecord{Fault: f, Error: "the load was over"}
		i := slices.IndexFunc(targets, func(t lab.FaultTarget) bool { return t.Name == f.Target })
		if i >= 0 && !s.late {
			r.Effective = true
			r.Error = ""
			_, err := targets[i].Harmer.Harm(ctx, f)
			if err = errors.Join(err, targets[i].Harmer.Heal(ctx, f)); err != nil {
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

// newFaultyShop returns a faultyShop with a conductor and a plan that kills a unit and the database.
func newFaultyShop(t *testing.T) (*faultyShop, *Conductor, lab.Plan) {
	shop, c := newShop(t)
	s := &faultyShop{shop: shop, parts: &parts{}}
	c.System = s
	c.Deployers = map[string]lab.Deployer{"process": s}
	c.Meter = s
	c.Injector = s
	p := plan(1)
	p.Study.Faults = []lab.Fault{{Target: "one", Kind: lab.FaultKill}, {Target: "database", Kind: lab.FaultKill}}
	return s, c, p
}

// expectRefused checks that a conductor refuses a plan with a PlanError that contains want. name describes
// the case.
func (s *faultyShop) expectRefused(t *testing.T, name string, c *Conductor, p lab.Plan, want string) {
	t.Helper()
	_, err := c.Lacks(t.Context(), p)
	var refused *PlanError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// TestFaultsAreDoneToUnitsAndServices checks that metering is suspended before a process is killed and
// resumed after the next one has started, and that the audit gets the faults.
func TestFaultsAreDoneToUnitsAndServices(t *testing.T) {
	s, c, p := newFaultyShop(t)
	testset.Must(t, c.Play(t.Context(), p))
	want := []string{
		"suspend one", "kill one", "start one", "resume one 1",
		"suspend database", "kill database", "start database", "resume database 7",
	}
	if !slices.Equal(s.parts.log, want) {
		t.Errorf("order %q, want %q", s.parts.log, want)
	}
	if trial := s.saved[0]; !trial.Valid || len(trial.Faults) != 2 || len(s.left) != 2 {
		t.Errorf("valid %v (%s), faults %+v, the audit got %+v", trial.Valid, trial.Reason, trial.Faults,
			s.left)
	}
}

// TestFaultsThatSpoilATrial checks that a trial does not count if a fault was not healed or had no effect,
// and that a failed trial keeps the records of its faults.
func TestFaultsThatSpoilATrial(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*faultyShop)
		want   string
	}{
		"not started again": {func(s *faultyShop) { s.parts.stuck = "one" },
			"fault kill of one: its port is taken"},
		"without effect": {func(s *faultyShop) { s.late = true },
			"audit unknown: fault kill of one did not take effect: the load was over"},
		"in a failed trial": {func(s *faultyShop) { s.spoil = map[int]error{1: errors.New("unit two died")} },
			"unit two died"},
	} {
		s, conductor, p := newFaultyShop(t)
		p.Study.Design.MaxRepeats = 0
		c.change(s)
		if err := conductor.Play(t.Context(), p); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if trial := s.saved[0]; trial.Valid || !strings.HasPrefix(trial.Reason, c.want) || len(trial.Faults) != 2 {
			t.Errorf("%s: valid %v, reason %q, faults %+v, want %q", name, trial.Valid, trial.Reason, trial.Faults,
				c.want)
		}
	}
}

// unable is a deployer that cannot kill.
type unable struct{ *faultyShop }

func (unable) Can() lab.Capabilities {
	return lab.Capabilities{Faults: []lab.FaultKind{lab.FaultPause}}
}

func TestFaultsThatAreRefusedBeforeTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*faultyShop, *Conductor)
		want   string
	}{
		"no such target": {func(s *faultyShop, _ *Conductor) { s.refused = errors.New("there is no cellar") },
			"a at s1: there is no cellar"},
		"embedded": {func(_ *faultyShop, c *Conductor) {
			c.Backings["mariadb"] = lab.Backing{Permanent: "it is part of the units"}
		},
			`fault of "database": it is part of the units`},
		"not here": {func(s *faultyShop, c *Conductor) { c.Deployers["process"] = unable{s} },
			`fault kill of "one": the deployment process cannot do it; it can: [pause]`},
	} {
		s, conductor, p := newFaultyShop(t)
		c.change(s, conductor)
		s.expectRefused(t, name, conductor, p, c.want)
	}
}

// TestADeploymentWithoutFaultsSpoilsTheTrial checks that a trial does not count if its deployment refuses a
// fault.
func TestADeploymentWithoutFaultsSpoilsTheTrial(t *testing.T) {
	s, c := newShop(t)
	c.Injector = &faultyShop{shop: s, parts: &parts{}}
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
			killed = append(killed, "suspend "+unit)
			drained = append(drained, "resume "+unit+" 0")
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

// TestOverlappingFaultsOfOneTarget checks that a killed unit is metered again when the kill is healed, even
// if another fault of the unit begins or is healed in the meantime.
func TestOverlappingFaultsOfOneTarget(t *testing.T) {
	kill := lab.Fault{Target: "front", Kind: lab.FaultKill}
	cut := lab.Fault{Target: "front", Kind: lab.FaultCut}
	for name, c := range map[string]struct {
		first, second lab.Fault
		want          []string
	}{
		"the kill begins first": {kill, cut, []string{"suspend front", "kill front", "cut front", "start front",
			"resume front 0", "start front"}},
		"the cut begins first": {cut, kill, []string{"cut front", "suspend front", "kill front", "start front",
			"start front", "resume front 0"}},
	} {
		calls := &parts{}
		m := metered{Deployment: harmable{onNodes{}, calls}, metering: loggedMetering{parts: calls}}
		_, err := m.Harm(t.Context(), c.first)
		_, other := m.Harm(t.Context(), c.second)
		err = errors.Join(err, other, m.Heal(t.Context(), c.first), m.Heal(t.Context(), c.second))
		if err != nil || !slices.Equal(calls.log, c.want) {
			t.Errorf("%s: the calls are %q (%v), want %q", name, calls.log, err, c.want)
		}
	}
}

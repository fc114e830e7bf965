package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// parts stands in for the parts of a run and notes what is done to them, and when.
type parts struct {
	begun time.Time
	takes time.Duration // to start again
	kill  error         // result of Harm
	start error         // result of Heal
	mu    sync.Mutex
	log   []string
}

func (p *parts) note(what, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, fmt.Sprintf("%g %s %s", time.Since(p.begun).Seconds(), what, name))
}

func (p *parts) Harm(_ context.Context, f lab.Fault) (string, error) {
	p.note(string(f.Kind), f.Target)
	return "seen", p.kill
}

func (p *parts) Heal(_ context.Context, f lab.Fault) error {
	time.Sleep(p.takes)
	p.note("heal "+string(f.Kind)+" of", f.Target)
	return p.start
}

func (p *parts) Noticed(string) time.Duration { return 0 }

// targets returns targets with these names. All but the database are units.
func (p *parts) targets(names ...string) []lab.FaultTarget {
	var all []lab.FaultTarget
	for _, name := range names {
		all = append(all, lab.FaultTarget{Name: name, Unit: name != "database", Harmer: p})
	}
	return all
}

func TestFaultsArePlayedByTheClock(t *testing.T) {
	every := lab.Fault{Target: lab.EveryUnit, Kind: lab.FaultKill, After: 2, Heal: 1}
	one := lab.Fault{Target: "database", Kind: lab.FaultPause, After: 2.5, Heal: 4}
	for name, c := range map[string]struct {
		faults []lab.Fault
		takes  time.Duration
		want   string
	}{
		"every unit in turn": {[]lab.Fault{every}, 0,
			"2 kill a, 3 heal kill of a, 4 kill b, 5 heal kill of b"},
		"slow to start again": {[]lab.Fault{every}, 3 * time.Second,
			"2 kill a, 6 heal kill of a, 7 kill b, 11 heal kill of b"},
		"two targets may overlap": {[]lab.Fault{every, one}, 0,
			"2 kill a, 2.5 pause database, 3 heal kill of a, 4 kill b, 5 heal kill of b, 6.5 heal pause of database"},
		"every replica in turn": {[]lab.Fault{{Target: "b", Kind: lab.FaultUpdate, After: 2},
			{Target: "b", Kind: lab.FaultPause, After: 20}}, 3 * time.Second,
			"2 update b, 5 heal update of b, 5 update b-2, 8 heal update of b-2, 20 pause b, 23 heal pause of b"},
		"no such target": {[]lab.Fault{{Target: "attic", Kind: lab.FaultKill}}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &parts{begun: time.Now(), takes: c.takes}
				injection := Injector{}.Begin(t.Context(), c.faults,
					append(p.targets("a", "b", "database"), lab.FaultTarget{Name: "b-2", Group: "b", Harmer: p}))
				time.Sleep(time.Minute)
				records := injection.End()
				if got := strings.Join(p.log, ", "); got != c.want || len(records) < len(c.faults) {
					t.Errorf("played %s, want %s, and records of all: %+v", got, c.want, records)
				}
				for _, r := range records {
					if effective := r.Error == "" && r.Effective && r.Healed >= r.Began+r.Heal &&
						r.Began >= r.After; effective != (c.want != "") {
						t.Errorf("record %+v", r)
					}
				}
			})
		})
	}
}

// TestAFaultWaitsForTheHealingOfAnother: a fault that its target cannot have yet, because a healing takes
// longer than planned, is done afterwards and says so. The order of waiting faults is that of their times.
func TestAFaultWaitsForTheHealingOfAnother(t *testing.T) {
	kill := func(after float64) lab.Fault {
		return lab.Fault{Target: "a", Kind: lab.FaultKill, After: after, Heal: 1}
	}
	slow := lab.Fault{Target: "b", Kind: lab.FaultSlow, After: 1, Heal: 5}
	every := lab.Fault{Target: lab.EveryUnit, Kind: lab.FaultPause, After: 3}
	const late = "it began 3.00 s late, when the fault kill of its target was healed; seen"
	for name, c := range map[string]struct {
		faults []lab.Fault
		want   string
		proofs []string
		missed string // part of the error of the last record; "" if it was done
	}{
		"killed again": {[]lab.Fault{kill(1), kill(3)},
			"1 kill a, 6 heal kill of a, 6 kill a, 11 heal kill of a", []string{"seen", late}, ""},
		"in order": {[]lab.Fault{kill(1), kill(3), {Target: "a", Kind: lab.FaultPause, After: 4}},
			"1 kill a, 6 heal kill of a, 6 kill a, 11 heal kill of a, 11 pause a, 15 heal pause of a",
			[]string{"seen", late, "it began 7.00 s late, when the fault kill of its target was healed; seen"}, ""},
		"one of every unit": {[]lab.Fault{kill(1), every},
			"1 kill a, 6 heal kill of a, 6 pause a, 10 heal pause of a, 10 pause b, 14 heal pause of b",
			[]string{"seen", late, "seen"}, ""},
		"nothing to wait for": {[]lab.Fault{slow, {Target: "b", Kind: lab.FaultKill, After: 3, Heal: 1}},
			"1 slow b, 3 kill b, 8 heal kill of b, 10 heal slow of b", []string{"seen", "seen"}, ""},
		"until the load is over": {[]lab.Fault{kill(25), kill(27)}, "25 kill a, 30 heal kill of a",
			[]string{"seen", ""}, "the load was over after 28.0 s, and it was due after 27.0 s, when its target " +
				"still had the fault kill: let it begin earlier"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &parts{begun: time.Now(), takes: 4 * time.Second}
				injection := Injector{}.Begin(t.Context(), c.faults, p.targets("a", "b"))
				time.Sleep(28 * time.Second)
				records := injection.End()
				var proofs []string
				for _, r := range records {
					proofs = append(proofs, r.Proof)
				}
				if got := strings.Join(p.log, ", "); got != c.want || !slices.Equal(proofs, c.proofs) {
					t.Errorf("played %s, want %s, and records %+v, want the proofs %q", got, c.want, records, c.proofs)
				}
				last := records[len(records)-1].Error
				if (last == "") != (c.missed == "") || !strings.Contains(last, c.missed) {
					t.Errorf("error %q, want %q", last, c.missed)
				}
			})
		})
	}
}

func TestWhatSpoilsAFault(t *testing.T) {
	for name, c := range map[string]struct {
		parts     *parts
		after     float64
		effective bool
		want      string
	}{
		"it cannot be killed": {&parts{kill: errors.New("it had ended before")}, 1, false,
			"it had ended before"},
		"it does not start": {&parts{start: errors.New("port taken")}, 1, true,
			"could not be healed: port taken"},
		"the load is over before it": {&parts{}, 6, false,
			"the load was over after 5.0 s, and it was due after 6.0 s: let it begin earlier, " +
				"or the load last longer"},
		"no duration holds its time": {&parts{}, 1e12, false, "the load was over after 5.0 s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.parts.begun = time.Now()
				injection := Injector{}.Begin(t.Context(), []lab.Fault{{Target: "a", Kind: lab.FaultKill, After: c.after,
					Heal: 1}}, c.parts.targets("a"))
				time.Sleep(5 * time.Second)
				r := injection.End()[0]
				if r.Effective != c.effective || (r.Proof != "") != c.effective || !strings.Contains(r.Error, c.want) {
					t.Errorf("record %+v, want %q", r, c.want)
				}
			})
		})
	}
}

// TestTheEndWaitsForTheHealing: End returns after a unit that was killed during the load is started again.
// After the load no other unit is killed.
func TestTheEndWaitsForTheHealing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parts{begun: time.Now()}
		injection := Injector{}.Begin(t.Context(), []lab.Fault{{Target: lab.EveryUnit, Kind: lab.FaultKill,
			After: 1, Heal: 10}}, p.targets("a", "b"))
		time.Sleep(2 * time.Second)
		records := injection.End()
		if got := strings.Join(p.log, ", "); got != "1 kill a, 11 heal kill of a" || len(records) != 2 ||
			records[0].Healed != 11 || records[1].Error == "" {
			t.Errorf("played %s, recorded %+v", got, records)
		}
	})
}

// TestAfterAFailureNothingIsHealed: once the trial's context has ended, faults neither begin nor heal, and
// their records say so.
func TestAfterAFailureNothingIsHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parts{begun: time.Now()}
		ctx, fail := context.WithCancel(t.Context())
		injection := Injector{}.Begin(ctx, []lab.Fault{{Target: "a", Kind: lab.FaultKill, After: 1, Heal: 10},
			{Target: "b", Kind: lab.FaultKill, After: 3}}, p.targets("a", "b"))
		time.Sleep(2 * time.Second)
		fail()
		records := injection.End()
		if got := strings.Join(p.log, ", "); got != "1 kill a" || len(records) != 2 ||
			!records[0].Effective || !strings.Contains(records[0].Error, "not healed") ||
			records[1].Effective ||
			records[1].Error != "the trial ended early after 2.0 s, and it was due after 3.0 s" {
			t.Errorf("played %s, recorded %+v", got, records)
		}
	})
}

func TestFaultsThatCannotBeDone(t *testing.T) {
	layout := lab.Layout{Lead: "generator", Units: []lab.UnitSpec{{Name: "shop"}, {Name: "generator"}},
		Services: []lab.ServiceSpec{{Name: "database"}}}
	nodes := layout
	nodes.Nodes = lab.Nodes([]string{"node-2", "node-3"}, lab.FaultDrain)
	nodes.Nodes[1].Pinned = []string{"front", "stock"}
	for _, c := range []struct {
		fault  lab.Fault
		layout lab.Layout
		want   string // empty: it can
	}{
		{lab.Fault{Target: "shop", Kind: lab.FaultKill}, layout, ""},
		{lab.Fault{Target: "database", Kind: lab.FaultKill}, layout, ""},
		{lab.Fault{Target: lab.EveryUnit, Kind: lab.FaultKill}, layout, ""},
		{lab.Fault{Target: "broker", Kind: lab.FaultKill}, layout,
			"no such unit, backing service or node; there are: shop, database, every-unit"},
		{lab.Fault{Target: "generator", Kind: lab.FaultKill}, layout, "it leads the trial"},
		{lab.Fault{Target: "shop", Kind: "bribe"}, layout, `no fault "bribe"`},
		{lab.Fault{Target: "shop", Kind: lab.FaultKill, After: -1}, layout, "negative"},
		{lab.Fault{Target: "database", Kind: lab.FaultRestart}, layout, ""},
		{lab.Fault{Target: "database", Kind: lab.FaultRestart, Heal: 1}, layout, "started again at once"},
		{lab.Fault{Target: "shop", Kind: lab.FaultUpdate, Heal: 1}, layout, "started again at once"},
		{lab.Fault{Target: "node-2", Kind: lab.FaultDrain}, nodes, ""},
		{lab.Fault{Target: "node-3", Kind: lab.FaultDrain}, nodes,
			"pins front, stock to it, which cannot move"},
		{lab.Fault{Target: "node-3", Kind: lab.FaultKill}, nodes, "only these can be done: [drain]"},
		{lab.Fault{Target: lab.EveryUnit, Kind: lab.FaultKill},
			lab.Layout{Lead: "core", Units: []lab.UnitSpec{{Name: "core"}}}, "no unit but"},
	} {
		err := Injector{}.Check([]lab.Fault{c.fault}, c.layout)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.fault, err, c.want)
		}
	}
}

// TestFaultsThatExcludeEachOther: a fault that its target cannot have beside an earlier one is refused before
// the trial.
func TestFaultsThatExcludeEachOther(t *testing.T) {
	layout := lab.Layout{Units: []lab.UnitSpec{{Name: "a"}, {Name: "b"}, {Name: "killed"}},
		Nodes: lab.Nodes([]string{"node-2"}, lab.FaultCut, lab.FaultKill, lab.FaultDrain)}
	earlier := []lab.Fault{{Target: "a", Kind: lab.FaultCut, After: 1, Heal: 2},
		{Target: "killed", Kind: lab.FaultKill, After: 1, Heal: 2},
		{Target: "node-2", Kind: lab.FaultKill, After: 1, Heal: 2}}
	for _, c := range []struct {
		later lab.Fault
		want  string
	}{
		{lab.Fault{Target: "killed", Kind: lab.FaultPause, After: 2, Heal: 1}, "the fault kill"},
		{lab.Fault{Target: "killed", Kind: lab.FaultSlow, After: 2, Heal: 1, Delay: 1}, "the fault kill"},
		{lab.Fault{Target: "killed", Kind: lab.FaultFill, After: 2, Heal: 1}, "the fault kill"},
		{lab.Fault{Target: "killed", Kind: lab.FaultRestart, After: 2}, "the fault kill"},
		{lab.Fault{Target: "killed", Kind: lab.FaultUpdate, After: 2}, "the fault kill"},
		{lab.Fault{Target: "killed", Kind: lab.FaultPause, After: 3, Heal: 1}, ""},
		{lab.Fault{Target: "node-2", Kind: lab.FaultCut, After: 2, Heal: 1}, "the fault kill"},
		{lab.Fault{Target: "node-2", Kind: lab.FaultDrain, After: 2, Heal: 1}, ""}, // it may be empty
		{lab.Fault{Target: "a", Kind: lab.FaultKill, After: 2, Heal: 1},
			`kill of "a": it begins after 2 s, and until 3 s that has the fault cut: let it begin later`},
		{lab.Fault{Target: "a", Kind: lab.FaultCut, After: 1, Heal: 1}, "the fault cut"},
		{lab.Fault{Target: "a", Kind: lab.FaultKill, After: 3, Heal: 1}, ""},
		{lab.Fault{Target: "a", Kind: lab.FaultPause, After: 2, Heal: 2}, ""},
		{lab.Fault{Target: "b", Kind: lab.FaultKill, After: 2, Heal: 1}, ""},
	} {
		err := Injector{}.Check(append([]lab.Fault{c.later}, earlier...), layout)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.later, err, c.want)
		}
	}
}

package loaded

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
)

// at returns a point with one factor.
func at(factor string, level float64) lab.Point {
	return lab.Point{Name: "point", Levels: map[string]float64{factor: level}}
}

func TestTheGeneratorIsAUnitThatLoadsTheFront(t *testing.T) {
	g := loadedtest.Generator{Report: lab.LoadReport{Sent: 3}}
	b := Base{Generator: &g, Load: lab.Load{Duration: 7, Cores: []int{1}, Scenario: []byte("the study's")},
		Counted: "orders"}
	unit, err := b.Unit(lab.LoadJob{Load: lab.Load{Scenario: []byte("the system's")}, Seed: 4},
		at(lab.FactorUsers, 5), "shop")
	testset.Must(t, err)
	if unit.Name != lab.RoleGenerator || unit.Role != lab.RoleGenerator || len(unit.Peers) != 1 ||
		unit.Peers[0] != "shop" || len(unit.Cores) != 1 || unit.Program != "load" {
		t.Errorf("unit %+v", unit)
	}
	if g.Job.Users != 5 || g.Job.Duration != 7 || g.Job.Unit != "shop" || g.Job.History != History ||
		g.Job.Seed != 4 || string(g.Job.Scenario) != "the system's" || g.Job.Ready.Path != "/health" {
		t.Errorf("job %+v", g.Job)
	}
	counted := b.CheckPoint(9, 1.5)
	if _, err := b.Unit(lab.LoadJob{}, counted, "shop"); err != nil || g.Job.Count != 9 || g.Job.Over != 2 ||
		g.Job.Duration != Longest {
		t.Errorf("counted: %+v, %v", g.Job, err)
	}
	notCounted := at(lab.FactorUsers, 5)
	notCounted.Levels[Over] = 10
	_, err = b.Unit(lab.LoadJob{}, notCounted, "shop")
	if err == nil || !strings.Contains(err.Error(), "over") {
		t.Errorf("seconds for users: %v", err)
	}
	if _, err := (Base{Generator: &g}).Unit(lab.LoadJob{}, counted, "shop"); err == nil {
		t.Error("a counted load is accepted although the system has no such factor")
	}
	if r, err := b.Report([]lab.UnitReport{{Unit: "shop"}}); err == nil {
		t.Errorf("without a report of the generator: %+v", r)
	}
	if r, err := b.Report([]lab.UnitReport{{Unit: "shop"}, {Unit: lab.RoleGenerator}}); err != nil ||
		r.Sent != 3 {
		t.Errorf("report %+v, %v", r, err)
	}
}

// TestAPointSaysHowTheGeneratorConnects: its factors override the load of the study, which is for all points.
func TestAPointSaysHowTheGeneratorConnects(t *testing.T) {
	var g loadedtest.Generator
	b := Base{Generator: &g, Load: lab.Load{Client: lab.LoadClient{Connections: 64, HTTP2: true}}}
	p := at(lab.FactorRate, 100)
	if _, err := b.Unit(lab.LoadJob{}, p, "shop"); err != nil || g.Job.Client.Connections != 64 ||
		g.Job.Client.Threads != 0 {
		t.Errorf("for a point without these factors: %+v, %v", g.Job.Client, err)
	}
	p.Levels[lab.FactorConnections] = 256
	p.Levels[lab.FactorThreads] = 2
	if _, err := b.Unit(lab.LoadJob{}, p, "shop"); err != nil || g.Job.Client.Connections != 256 ||
		g.Job.Client.Threads != 2 || !g.Job.Client.HTTP2 {
		t.Errorf("the generator connects as %+v, %v", g.Job.Client, err)
	}
}

// TestWhetherARateWasHeld: With adds the figures of the rate, and makes the audit unknown if the generator
// was the limit. A search and a counted load have no rate to hold.
func TestWhetherARateWasHeld(t *testing.T) {
	for name, c := range map[string]struct {
		load    lab.LoadReport
		factor  string
		verdict lab.AuditVerdict
		want    map[string]float64
	}{
		"held": {lab.LoadReport{Offered: 10, Achieved: 10, Duration: 10}, lab.FactorRate,
			lab.AuditValid, map[string]float64{lab.FigureHeld: 1, lab.FigureLimited: 0, lab.FigureOffered: 10}},
		"one begun late": {lab.LoadReport{Offered: 10, Achieved: 9.5, Duration: 2}, lab.FactorPerMinute,
			lab.AuditValid, map[string]float64{lab.FigureHeld: 1}},
		"not held": {lab.LoadReport{Offered: 10, Achieved: 9, Duration: 10, Sent: 4, OK: 3},
			lab.FactorRate, lab.AuditValid, map[string]float64{lab.FigureHeld: 0, lab.FigureAchieved: 9,
				lab.FigureErrors: 0.25}},
		"generator limited": {lab.LoadReport{Offered: 10, Achieved: 9, Duration: 10, Limited: []string{"late"}},
			lab.FactorRate, lab.AuditUnknown, map[string]float64{lab.FigureLimited: 1}},
		"users": {lab.LoadReport{Achieved: 9, Duration: 10}, lab.FactorUsers, lab.AuditValid,
			map[string]float64{lab.FigureLimited: 0}},
	} {
		got := Base{Counted: "orders"}.With(lab.Audit{Verdict: lab.AuditValid}, "shop", at(c.factor, 10), c.load)
		if got.Verdict != c.verdict {
			t.Errorf("%s: %s, want %s", name, got.Verdict, c.verdict)
		}
		for figure, want := range c.want {
			if value, known := got.Figures[figure]; !known || value != want {
				t.Errorf("%s: %s is %g, want %g", name, figure, value, want)
			}
		}
	}
	for _, factor := range []string{lab.FactorSearchFrom, "orders"} {
		if got := (Base{Counted: "orders"}).With(lab.Audit{}, "shop", at(factor, 1),
			lab.LoadReport{Limited: []string{"late"}}); len(got.Figures) != 1 {
			t.Errorf("%s: figures %v, want what was achieved alone", factor, got.Figures)
		}
	}
}

// TestReadMetrics: the kind of load decides which measures of the generator become values.
func TestReadMetrics(t *testing.T) {
	metrics := []lab.Metric{{Name: "goodput", Quantity: "goodput"}, {Name: "capacity", Quantity: lab.Capacity},
		Words{}.AchievedShare()}
	load := lab.LoadReport{Offered: 40, Achieved: 10, Sent: 4, OK: 3,
		Measures: []lab.Measure{{Quantity: lab.Goodput, Value: 2}, {Quantity: lab.Capacity, Value: 3},
			{Quantity: "other", Value: 1}}}
	for factor, want := range map[string]map[string]float64{
		lab.FactorRate:       {"goodput": 2, "capacity": 3, lab.FigureErrors: 0.25, "achieved_share": 0.25},
		lab.FactorUsers:      {"goodput": 2, "capacity": 3, lab.FigureErrors: 0.25},
		lab.FactorSearchFrom: {"capacity": 3},
	} {
		got := ReadMetrics(metrics, at(factor, 1), load).Values
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", factor, got, want)
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %g, want %g", factor, name, got[name], value)
			}
		}
	}
}

// TestCostThatWasNotMeteredIsLeftOut: a sum without a unit would be too low.
func TestCostThatWasNotMeteredIsLeftOut(t *testing.T) {
	metered := lab.Metered{Roles: map[string]lab.Usage{lab.RoleGenerator: {CPUSeconds: 50, PeakMemoryBytes: 500},
		"front":  {CPUSeconds: 1, PeakMemoryBytes: 10, Unavailable: map[string]string{"peak_memory_bytes": "gone"}},
		"orders": {CPUSeconds: 3, PeakMemoryBytes: 30},
		"proxy":  {CPUSeconds: 7, Unavailable: map[string]string{"cpu_seconds": "gone"}}}}
	for excluded, want := range map[string]map[string]float64{
		"proxy": {CPUPerOperation: 2}, "front": {peakMemory: 30}, "": {},
	} {
		values := map[string]float64{}
		AddCost(values, metered, 2, excluded)
		if !maps.Equal(values, want) {
			t.Errorf("without %q: %v, want %v", excluded, values, want)
		}
	}
}

// TestTheLongestTimeWithoutAnAnswer is between the beginning of the measured load and the end of its last
// operation, without the warm-up, and only in trials with faults.
func TestTheLongestTimeWithoutAnAnswer(t *testing.T) {
	const early, right, wrong = `{"end":"ok","warm_up":true,"finished_ns":1}`,
		`{"end":"ok","begun_unix_ns":100,"intended_ns":%d,"finished_ns":%d}`,
		`{"end":"fail","begun_unix_ns":100,"intended_ns":%d,"finished_ns":%d}`
	for name, c := range map[string]struct {
		lines []string
		want  float64
	}{
		"in the middle": {[]string{early, fmt.Sprintf(right, 0, 1000000000), fmt.Sprintf(wrong, 0, 3000000000),
			fmt.Sprintf(right, 4000000000, 5500000000), fmt.Sprintf(right, 2000000000, 6000000000)}, 4.5},
		"at the beginning": {[]string{early, fmt.Sprintf(wrong, 1000000000, 1500000000),
			fmt.Sprintf(right, 2000000000, 4000000000)}, 3},
		"at the end": {[]string{fmt.Sprintf(right, 0, 1000000000), fmt.Sprintf(wrong, 0, 3000000000)}, 2},
		"always":     {[]string{fmt.Sprintf(wrong, 0, 3000000000)}, 3},
		"no load":    {[]string{early}, 0},
	} {
		left := loadedtest.Left(t, c.lines...)
		for _, faults := range [][]lab.FaultRecord{nil, make([]lab.FaultRecord, 1)} {
			found := lab.Measured{Values: map[string]float64{}}
			left.Faults = faults
			err := addOutage(found, left)
			if got, has := found.Values[lab.Outage]; err != nil || has != (faults != nil && c.want > 0) ||
				has && got != c.want {
				t.Errorf("%s, %d faults: %g s, %t (%v); want %g", name, len(faults), got, has, err, c.want)
			}
		}
	}
}

// TestTheFirstAnswer is the one that ended first, wherever in the history it is: the threads of the generator
// add their attempts in batches.
func TestTheFirstAnswer(t *testing.T) {
	since := time.Unix(100, 0)
	for name, c := range map[string]struct {
		lines []string
		want  float64 // 0: there is none
	}{
		"after a failure": {[]string{`{"end":"fail","begun_unix_ns":101000000000,"finished_ns":1}`,
			`{"end":"ok","warm_up":true,"begun_unix_ns":101000000000,"finished_ns":500000000}`}, 1.5},
		"of another thread": {[]string{`{"end":"ok","begun_unix_ns":101000000000,"finished_ns":900000000}`,
			`{"end":"ok","begun_unix_ns":101000000000,"finished_ns":500000000}`}, 1.5},
		"none": {[]string{`{"end":"fail"}`}, 0},
	} {
		seconds, found, err := FirstAnswer(loadedtest.Left(t, c.lines...).Dir, since)
		if found != (c.want > 0) || found && seconds != c.want || err != nil {
			t.Errorf("%s: %g s, %t, %v; want %g s", name, seconds, found, err, c.want)
		}
	}
	torn := loadedtest.Left(t, `{"end":"ok"}`, "{").Dir
	if seconds, _, err := FirstAnswer(torn, since); err == nil {
		t.Errorf("the first answer of a torn history came after %g s: an earlier one may be missing", seconds)
	}
}

// TestTheHistoryIsReadLineByLine: lines before a torn one are used.
func TestTheHistoryIsReadLineByLine(t *testing.T) {
	torn := loadedtest.Left(t, `{"operation":"a","end":"ok","noted":{"id":"1"}}`,
		`{"operation":"b","warm_up":true}`, "{").Dir
	type noted struct{ ID string }
	var all []Attempt[noted]
	err := EachAttempt(torn, func(a Attempt[noted]) { all = append(all, a) })
	if err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a torn line: %v", err)
	}
	if len(all) != 2 || all[0].Noted.ID != "1" || all[0].Line != 1 || all[0].End != EndedOK || !all[1].WarmUp ||
		all[1].Line != 2 {
		t.Errorf("attempts %+v", all)
	}
	stray := loadedtest.Left(t, `{"end":"ok"}`, `]`, `{"end":"ok"}`).Dir
	err = EachAttempt(stray, func(Attempt[noted]) {})
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a stray bracket: %v", err)
	}
}

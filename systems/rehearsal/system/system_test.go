package system

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
	"github.com/cleave-lab/cleave/systems/rehearsal"
)

// newSystem returns a system that plays the small shop, and its generator.
func newSystem(t *testing.T) (System, *loadedtest.Generator) {
	t.Helper()
	text, err := os.ReadFile("../testdata/shop.model.yaml")
	testset.Must(t, err)
	g := &loadedtest.Generator{Report: lab.LoadReport{Sent: 4, OK: 4}}
	return System{Generator: g, Model: string(text)}, g
}

// variant returns a variant with knobs such as "calls=grpc".
func variant(architecture string, knobs ...string) lab.Variant {
	v := lab.Variant{System: rehearsal.Name, Architecture: architecture, Deployment: lab.Process,
		Knobs: map[string]string{}}
	for _, knob := range knobs {
		name, value, _ := strings.Cut(knob, "=")
		v.Knobs[name] = value
	}
	return v
}

// TestUnitsPlayTheCPUTimesOfTheRate: the model was measured with half of the CPU time at a higher rate; units
// get the CPU times and the pause that belong to the rate of the point.
func TestUnitsPlayTheCPUTimesOfTheRate(t *testing.T) {
	s, _ := newSystem(t)
	m, err := model.Parse("", []byte(s.Model))
	testset.Must(t, err)
	low := model.Measurement{Rate: 10, Time: m.Operations[0].Call.CPU, CPU: m.Operations[0].Call.CPU}
	high := low
	high.Rate = 100
	high.CPU.Mean = low.CPU.Mean / 2
	m.Measured = []model.Measurement{low, high}
	var text strings.Builder
	testset.Must(t, m.Write(&text))
	s.Model = text.String()
	for factor, perSecond := range map[string]float64{lab.FactorRate: 1, lab.FactorPerMinute: 60} {
		cpu := map[float64]float64{}
		for rate, pause := range map[float64]string{10: "0.1", 100: "0.01"} {
			layout, err := s.Layout(variant(rehearsal.AsIs),
				lab.Point{Levels: map[string]float64{factor: rate * perSecond}}, 1)
			testset.Must(t, err)
			if job := layout.Units[0].Args[0]; !strings.Contains(job, `"pause_seconds":`+pause+`}`) {
				t.Errorf("%s: at %g/s the job of a unit is %s, want a pause of %s s", factor, rate, job, pause)
			}
			played, err := model.Parse("", layout.Units[0].Files[rehearsal.ModelFile])
			testset.Must(t, err)
			cpu[rate] = played.Operations[0].Call.CPU.Seconds()
		}
		if ratio := cpu[10] / cpu[100]; ratio < 1.99 || ratio > 2.01 {
			t.Errorf("%s: at 10/s a call takes %g s, at 100/s %g s, want half", factor, cpu[10], cpu[100])
		}
	}
}

// TestLayout: every unit has the model and its peers, and only units without a database can be replicated.
func TestLayout(t *testing.T) {
	s, g := newSystem(t)
	layout, err := s.Layout(variant(rehearsal.AsIs), lab.Point{Levels: map[string]float64{lab.FactorRate: 9}}, 1)
	testset.Must(t, err)
	var units []string
	for _, u := range layout.Units {
		units = append(units, fmt.Sprintf("%s>%s %t", u.Name, strings.Join(u.Peers, "+"), u.Scalable))
		_, err := model.Parse("", u.Files[rehearsal.ModelFile])
		if has := err == nil; has != (u.Name != lab.RoleGenerator) {
			t.Errorf("%s has a model: %t", u.Name, has)
		}
	}
	want := "shop>shop+payments+cache false, payments>shop true, cache> false, generator>shop false"
	if got := strings.Join(units, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if g.Job.Rate != 9 || g.Job.Unit != "shop" || !strings.Contains(string(g.Job.Scenario), `"weight":3`) {
		t.Errorf("the load is %+v", g.Job)
	}
}

// TestOperationsHaveNamesOfTheirOwn in a scenario, where a $ would be a variable.
func TestOperationsHaveNamesOfTheirOwn(t *testing.T) {
	var operations []model.Operation
	for _, name := range []string{"a$", "a", "a_", "$a", "a$$", "a__"} {
		operations = append(operations, model.Operation{Name: name})
	}
	got := scenarioNames(operations)
	if all := strings.Join(got, " "); strings.Contains(all, "$") || len(slices.Compact(slices.Sorted(
		slices.Values(got)))) != len(operations) || got[1] != "a" || got[2] != "a_" {
		t.Errorf("the names are %s", all)
	}
}

// TestComponentsLeaveOneAfterAnother in the steps from one placement to another.
func TestComponentsLeaveOneAfterAnother(t *testing.T) {
	s, _ := newSystem(t)
	stops, got := loadedtest.Steps(t, s, variant(rehearsal.AsIs),
		variant(rehearsal.AsIs, "placement=orders,stock,payments+mail,front", "calls=grpc"))
	var names, placements []string
	for _, stop := range stops {
		names = append(names, stop.Name)
		placements = append(placements, stop.Knobs["placement"])
	}
	if strings.Join(names, " ") != "as-is orders-apart stock-apart calls-grpc" {
		t.Errorf("the stops are %v: %s", names, got)
	}
	want := []string{"as-is", "front+stock,mail+payments,orders", "orders,stock,payments+mail,front",
		"orders,stock,payments+mail,front"}
	if !slices.Equal(placements, want) {
		t.Errorf("the placements are %q", placements)
	}
}

// TestComponentsJoinInOneStep: a step is named for what it does to the units.
func TestComponentsJoinInOneStep(t *testing.T) {
	s, _ := newSystem(t)
	stops, got := loadedtest.Steps(t, s, variant(rehearsal.Apart),
		variant(rehearsal.Apart, "placement=front+orders,stock,payments,mail"))
	if len(stops) < 2 || stops[1].Name != "front-orders-together" {
		t.Errorf("the stops are %+v: %s", stops, got)
	}
}

// TestExplanationsHaveARateOfTheModel: the lowest rate at which it was measured, without capacities.
func TestExplanationsHaveARateOfTheModel(t *testing.T) {
	s, _ := newSystem(t)
	before, _, _ := strings.Cut(s.Model, "measured:")
	for measured, want := range map[string]float64{"": usualRate, "20": 20, "200": 200, "300 200 400": 200,
		"900/64": usualRate, "20/1 90": 90} { // rate/users is a capacity
		text := before
		for i, rate := range strings.Fields(measured) {
			if i == 0 {
				text += "measured:\n"
			}
			text += "  - {rate: " + strings.ReplaceAll(rate, "/", ", users: ") +
				", time: {mean: 3ms, source: guess}, cpu: {mean: 400us, source: guess}}\n"
		}
		if _, err := model.Parse(rehearsal.ModelFile, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := (System{Model: text}).Explanation().Rate; got != want {
			t.Errorf("measured at %q: explained at %g, want %g", measured, got, want)
		}
	}
}

// tallies returns the tallies of calls, each given as the numbers of calls made and of calls played.
func tallies(of ...[2]int64) (all []rehearsal.Tally) {
	for _, n := range of {
		all = append(all, rehearsal.Tally{Made: n[0], Served: n[1], Done: n[1]})
	}
	return all
}

// TestAudit: every mismatch between attempts of clients, calls made, calls played and the model is found.
func TestAudit(t *testing.T) {
	s, _ := newSystem(t)
	v := variant(rehearsal.Together)
	design, err := s.design(v)
	testset.Must(t, err)
	// Two orders and two looks, each of the looks with two counts.
	right := tallies([2]int64{0, 2}, [2]int64{2, 2}, [2]int64{4, 4}, [2]int64{2, 2}, [2]int64{1, 1},
		[2]int64{2, 2}, [2]int64{2, 2}, [2]int64{0, 2}, [2]int64{3, 3}, [2]int64{3, 3})
	if len(right) != len(design.Calls) {
		t.Fatalf("the model has %d calls", len(design.Calls))
	}
	history := `{"operation":"order","end":"ok"} {"operation":"order","end":"ok"} {"operation":"look","end":"ok"} ` +
		`{"operation":"look","end":"ok"}`
	for name, c := range map[string]struct {
		change  func(calls []rehearsal.Tally)
		history string
		want    lab.AuditVerdict
		problem string
	}{
		"as it should be": {func([]rehearsal.Tally) {}, history, lab.AuditValid, ""},
		"a call is lost": {func(c []rehearsal.Tally) { c[3].Served, c[3].Done = 1, 1 }, history,
			lab.AuditInvalid, "lost: Pay of payments (call 3) was played to its end 1 times, and 2 were made"},
		"a call is cut short, as one operation was": {func(c []rehearsal.Tally) {
			c[0].Done = 1
			c[3] = rehearsal.Tally{Made: 2, Served: 1, Done: 1}
		}, strings.Replace(history, "ok", "fail", 1), lab.AuditValid, ""},
		"a call is made up": {func(c []rehearsal.Tally) { c[3].Served++; c[3].Done++ }, history, lab.AuditInvalid,
			"made_up: Pay of payments (call 3) was played 3 times and made 2 times"},
		"an operation is made up": {func(c []rehearsal.Tally) { c[7].Served++ }, history, lab.AuditInvalid,
			"made_up: GET /stock of front (call 7) was played 3 times and made 2 times"},
		"a call is made too often": {func(c []rehearsal.Tally) { c[2] = tallies([2]int64{5, 5})[0] },
			history, lab.AuditInvalid,
			"off_the_model: Reserve of stock (call 2) was made 5 times by 2 executions of its caller, each"},
		"nothing was tried": {func(c []rehearsal.Tally) { clear(c) }, "", lab.AuditUnknown,
			"no operation was answered"},
	} {
		calls := slices.Clone(right)
		c.change(calls)
		account, err := json.Marshal(rehearsal.Account{Calls: calls})
		testset.Must(t, err)
		left := loadedtest.Left(t, c.history)
		left.Reports = append(left.Reports, lab.UnitReport{Unit: "shop", Data: account})
		audit := s.AuditLive(t.Context(), v, lab.Point{}, left)
		problems := strings.Join(audit.Problems, "\n")
		if audit.Verdict != c.want || !strings.Contains(problems, c.problem) {
			t.Errorf("%s: %s %s, want %s", name, audit.Verdict, problems, c.want)
		}
	}
}

// TestMeasure: the demanded CPU time per operation, and the ratio of the CPU time of burns to its target.
func TestMeasure(t *testing.T) {
	s, _ := newSystem(t)
	none := [2]int64{}
	account, err := json.Marshal(rehearsal.Account{Demanded: 2, SampledAsked: 4, SampledTook: 5,
		Calls: tallies([2]int64{0, 3}, none, none, none, none, none, none, [2]int64{0, 1}, none, none)})
	testset.Must(t, err)
	found, err := s.Measure(t.Context(), variant(rehearsal.Together), lab.Point{}, lab.Metered{},
		lab.Leftover{Reports: []lab.UnitReport{{Unit: lab.RoleGenerator}, {Unit: "all", Data: account}}})
	if err != nil || found.Values[demanded] != 0.5 || found.Values[burnt] != 1.25 {
		t.Errorf("%v, %v", found.Values, err)
	}
}

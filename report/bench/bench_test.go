//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// ask sends requests one after the other and returns the statuses.
func ask(t *testing.T, s *server, path string, requests int) (statuses []int) {
	t.Helper()
	for range requests {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		statuses = append(statuses, w.Code)
	}
	return statuses
}

// TestFlagsThatLeaveNothingToMeasure are refused before anything is played.
func TestFlagsThatLeaveNothingToMeasure(t *testing.T) {
	for _, run := range []func(context.Context, []string) error{bench, watching} {
		err := run(t.Context(), []string{"-rounds", "0"})
		if err == nil || !strings.Contains(err.Error(), "-rounds is 0") {
			t.Errorf("error %v", err)
		}
	}
}

// TestCPUIsBurnedToTheTruth: the process uses the CPU time of its requests, all of its other work included.
func TestCPUIsBurnedToTheTruth(t *testing.T) {
	s := &server{cpu: 2 * time.Millisecond}
	ask(t, s, "/", 1)
	before := processCPU()
	ask(t, s, "/", 50)
	if used := processCPU() - before; math.Abs(used.Seconds()/0.1-1) > 0.05 {
		t.Errorf("50 requests of 2 ms used %v, want 100 ms", used)
	}
	for idle := processCPU() + 50*time.Millisecond; processCPU() < idle; {
	}
	time.Sleep(pause)
	before = processCPU()
	ask(t, s, "/", 50)
	if used := processCPU() - before; math.Abs(used.Seconds()/0.1-1) > 0.05 {
		t.Errorf("after a pause in which the process used 50 ms, 50 requests of 2 ms used %v, want 100 ms", used)
	}
}

// TestEveryHundredthAnswerFails: requests for /used are not counted.
func TestEveryHundredthAnswerFails(t *testing.T) {
	s := &server{errorEvery: 100}
	ask(t, s, "/used", 7)
	for i, status := range ask(t, s, "/", 300) {
		if failed := status == http.StatusInternalServerError; failed != ((i+1)%100 == 0) {
			t.Errorf("request %d: status %d", i+1, status)
		}
	}
}

// TestAnswersAreDue at the time that follows from the settings of the server.
func TestAnswersAreDue(t *testing.T) {
	const ms = time.Millisecond
	began := time.Now()
	for name, c := range map[string]struct {
		server    *server
		came, due []time.Duration
	}{
		"at once":       {&server{}, []time.Duration{0, ms}, []time.Duration{0, ms}},
		"after a sleep": {&server{sleep: 20 * ms}, []time.Duration{0, 5 * ms}, []time.Duration{20 * ms, 25 * ms}},
		"every other is slow": {&server{sleep: ms, slow: 60 * ms, slowEvery: 2},
			[]time.Duration{0, 0}, []time.Duration{ms, 60 * ms}},
		"a rising sleep": {&server{sleep: 20 * ms, rise: 0.5, rising: time.Second},
			[]time.Duration{0, 500 * ms, 4000 * ms}, []time.Duration{20 * ms, 525 * ms, 4030 * ms}},
		"one after the other": {&server{capacity: 200}, []time.Duration{0, 0, 50 * ms},
			[]time.Duration{5 * ms, 10 * ms, 55 * ms}},
	} {
		for i, came := range c.came {
			number, due := c.server.admit(began.Add(came))
			if got := due.Sub(began); number != i+1 || got != c.due[i] {
				t.Errorf("%s: request %d is due after %v, want request %d after %v", name, number, got, i+1, c.due[i])
			}
		}
	}
}

// compared returns an analysis with one comparison of b, in which b is unsteady if it is slower.
func compared(of measure, low, high float64, verdict lab.ComparisonVerdict) lab.Analysis {
	return lab.Analysis{
		Metrics: []lab.Metric{{Name: "figure", Quantity: of.quantity, Quantile: of.quantile, Per: of.per}},
		Comparisons: []lab.Comparison{{Metric: "figure", Variant: "b", Baseline: "a", Verdict: verdict,
			Ratio: lab.Ratio{Ratio: (low + high) / 2, Low: &low, High: &high, N: 5}}},
		Steadiness: []lab.Steadiness{{Variant: "a", Steady: true}, {Variant: "b", Steady: verdict != lab.Slower}},
	}
}

// TestTruthsAreHeld: intervals that miss the truth and wrong verdicts are counted separately.
func TestTruthsAreHeld(t *testing.T) {
	for name, c := range map[string]struct {
		truth       truth
		a           lab.Analysis
		held, wrong bool
	}{
		"right":         {exactly("b", cpu(), 1.1), compared(cpu(), 1.05, 1.15, lab.Slower), true, false},
		"open":          {exactly("b", cpu(), 1.1), compared(cpu(), 0.9, 1.3, lab.Undecided), true, false},
		"missed":        {exactly("b", cpu(), 1.1), compared(cpu(), 1.15, 1.25, lab.Slower), false, false},
		"the wrong way": {exactly("b", cpu(), 1.1), compared(cpu(), 0.7, 0.9, lab.Faster), false, true},
		"not equal":     {exactly("b", cpu(), 1.1), compared(cpu(), 0.99, 1.01, lab.Equivalent), false, true},
		"not different": {exactly("b", cpu(), 1), compared(cpu(), 1.05, 1.15, lab.Slower), false, true},
		"within the doubt": {times("b", median(), 26*time.Millisecond, 20*time.Millisecond),
			compared(median(), 1.284, 1.286, lab.Slower), true, false},
	} {
		var counted tally
		counted.addComparison(c.truth, c.a)
		if held, wrong := counted.held.having == 1, counted.wrong.having == 1; held != c.held || wrong != c.wrong {
			t.Errorf("%s: held %t, wrong %t, want %t, %t", name, held, wrong, c.held, c.wrong)
		}
	}
}

// TestTruthsWithoutAnAnswer: they are counted by themselves, and not as held or missed.
func TestTruthsWithoutAnAnswer(t *testing.T) {
	var counted tally
	counted.addComparison(exactly("c", cpu(), 1), compared(cpu(), 1, 1, lab.Slower))
	counted.addSteadiness("c", compared(cpu(), 1, 1, lab.Undecided))
	if counted.silent != (count{2, 2}) || counted.held.all != 0 || counted.driftsMissed.all != 0 {
		t.Errorf("%+v, want two truths without an answer", counted)
	}
}

// TestFalseAlarmsAreCounted for equal servers and for steady ones, as well as missed drifts.
func TestFalseAlarmsAreCounted(t *testing.T) {
	var counted tally
	verdicts := []lab.ComparisonVerdict{lab.Slower, lab.Faster, lab.Undecided, lab.Equivalent}
	for _, verdict := range verdicts {
		counted.addEqual(compared(cpu(), 0.9, 1.1, verdict))
	}
	counted.addSteadiness("b", compared(cpu(), 1, 1, lab.Undecided))
	counted.addSteadiness("", compared(cpu(), 1, 1, lab.Slower))
	counted.addErrors(loaded{Sent: 1000, OK: 990})
	counted.addCapacity(200, loaded{Capacity: searched{Rate: 190, Low: 185, High: 195}})
	got := map[string]string{}
	for _, f := range counted.figures() {
		got[f.Figure] = fmt.Sprintf("%.4g %s", f.Value, f.Reached())
	}
	for figure, want := range map[string]string{
		"equal servers called different, CPU": "0.5 missed", "drifts that are missed": "1 missed",
		"steady servers called unsteady": "0.3333 missed", "errors, 1 in 100: off by": "0 stretch",
		"capacity of 200/s: found / truth": "0.95 ", "capacity of 200/s: off by": "0.05 missed",
	} {
		if got[figure] != want {
			t.Errorf("%s: %q, want %q", figure, got[figure], want)
		}
	}
}

// TestServicesAreComparedToTheirTruth: right figures reach their goals, and wrong ones miss them.
func TestServicesAreComparedToTheirTruth(t *testing.T) {
	const ms = time.Millisecond
	all := fourServices(40 * ms)
	part := func(of service, kind lab.SegmentKind, self, path time.Duration) lab.PartChange {
		return lab.PartChange{TracePart: lab.TracePart{Service: of.name, Kind: kind},
			Self: lab.TraceChange{Before: self.Seconds()}, Path: lab.TraceChange{Before: path.Seconds()}}
	}
	traced := lab.TracedVariant{Before: lab.TraceSet{Traces: 600}}
	a := lab.Analysis{}
	for i, s := range all {
		a.Usages = append(a.Usages, lab.RoleUsage{Variant: "base", Role: s.name, CPUPerOperation: s.cpu.Seconds()})
		path := s.own
		if s.offPath {
			path = 0
		}
		off := time.Duration(i) * ms // more than 2 % of prices
		traced.Parts = append(traced.Parts, part(s, lab.SegmentBusiness, s.own, path+off/2),
			part(s, lab.SegmentTransport, ms, ms))
		traced.Seconds.Before += (path + off/2 + ms).Seconds()
	}
	a.Usages[1].CPUPerOperation *= 1.05
	a.Traced = []lab.TracedVariant{traced}
	var counted tally
	counted.addServices("base", all, a, func(c lab.TraceChange) float64 { return c.Before })
	reached := map[string]string{}
	for _, f := range counted.each {
		reached[f.Figure] = f.Reached()
	}
	for figure, want := range map[string]string{
		"base: time of an operation that no part has": "stretch", "base: CPU of front: off by": "stretch",
		"base: CPU of cart: off by": "missed", "base: self time of prices: off by": "stretch",
		"base: critical path in front: off by": "stretch", "base: critical path in cart: off by": "must",
		"base: critical path in prices: off by":                       "missed",
		"base: share of ads on the critical path, which it is not on": "must",
	} {
		if reached[figure] != want {
			t.Errorf("%s: %q, want %q", figure, reached[figure], want)
		}
	}
	counted.addServices("base", all, lab.Analysis{}, nil)
	if counted.silent.having != 1 {
		t.Errorf("%d truths are without an answer, want one: no spans came", counted.silent.having)
	}
}

// TestTheSlowServiceIsNamed: bottleneck is right if it calls the slow service the best one to double.
func TestTheSlowServiceIsNamed(t *testing.T) {
	of := func(unit string, verdict lab.ComparisonVerdict) lab.Analysis {
		return lab.Analysis{Bottlenecks: []lab.Bottleneck{{Doubled: []lab.Doubled{{Unit: unit, Verdict: verdict}}}}}
	}
	var counted tally
	for _, a := range []lab.Analysis{
		of("cart", lab.Faster), of("cart", lab.Undecided), of("front", lab.Faster), {},
	} {
		counted.addBottleneck("cart", a)
	}
	if counted.named != (count{1, 3}) || counted.silent != (count{1, 4}) {
		t.Errorf("%+v of those named, %+v without an answer", counted.named, counted.silent)
	}
}

// TestSharesHaveTheirInterval: the interval of 0 of 40 ends at 1 - 0.025^(1/40).
func TestSharesHaveTheirInterval(t *testing.T) {
	end := math.Pow(0.025, 1./40)
	if low, high := (count{0, 40}).interval(); low != 0 || math.Abs(high-(1-end)) > 1e-9 {
		t.Errorf("none of 40: [%g, %g]", low, high)
	}
	if low, high := (count{40, 40}).interval(); high != 1 || math.Abs(low-end) > 1e-9 {
		t.Errorf("all of 40: [%g, %g]", low, high)
	}
}

func TestChoose(t *testing.T) {
	if all, err := choose(""); err != nil || len(all) != len(experiments()) {
		t.Errorf("%d experiments, %v, want all", len(all), err)
	}
	if some, err := choose("equal,cpu"); err != nil || len(some) != 2 || some[0].name != "equal" {
		t.Errorf("%d experiments, %v, want equal and cpu", len(some), err)
	}
	_, err := choose("cpu,nothing")
	if err == nil || !strings.Contains(err.Error(), `no "nothing"; there are cpu, `) {
		t.Errorf("%v, want what there is", err)
	}
}

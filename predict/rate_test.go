package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
)

// measuredAt adds a measurement at a rate: the CPU time and the mean response time of an operation.
func measuredAt(m *model.Model, rate float64, cpu, mean time.Duration) {
	m.Measured = append(m.Measured, model.Measurement{Rate: rate, CPU: of(cpu), Time: of(mean)})
}

// TestCPUFollowsTheRate: both placements take the CPU time that was measured for the system as it is at the
// rate of the question. The cost of new hops is added, and does not change with the rate.
func TestCPUFollowsTheRate(t *testing.T) {
	q := splitStock()
	measuredAt(&q.Model, 300, 800*time.Microsecond, 3900*time.Microsecond)
	q.Rate = 300
	a := predicted(t, q)
	near(t, "CPU as it is", a.AsIs.CPU.Value, 0.8e-3, 1e-3)
	near(t, "CPU apart", a.Changed.CPU.Value, 1.0e-3, 1e-3)
	if off := a.Checks[1].CPU.Error(); math.Abs(off) > 1e-3 {
		t.Errorf("CPU time at a rate that was measured is %g off", off)
	}
	limits := strings.Join(a.Limits, "\n")
	if !strings.Contains(limits, "1.60 ms an operation at 100/s and 800 us") {
		t.Errorf("the limits do not say how the CPU time follows the rate:\n%s", limits)
	}
}

// TestRatesBeyondTheMeasuredOnesAreNamed: a rate that is nearly the highest measured one is not beyond it.
func TestRatesBeyondTheMeasuredOnesAreNamed(t *testing.T) {
	q := splitStock()
	measuredAt(&q.Model, 299, 800*time.Microsecond, 3900*time.Microsecond)
	for rate, want := range map[float64]string{20: "no higher below that", 100: "", 200: "", 300: "",
		400: "stay from there on"} {
		q.Rate = rate
		got := Answer{Question: q}.ratedCPU()
		if !strings.Contains(got, want) || strings.Contains(got, "measure it at the rate") != (want != "") {
			t.Errorf("at %g/s: %q, want %q", rate, got, want)
		}
	}
}

// TestARateBetweenOthersIsChecked: each of the two nearest rates is predicted without what was measured
// there, and an error beyond the margin withholds the answer. A further rate is not concerned.
func TestARateBetweenOthersIsChecked(t *testing.T) {
	q := splitStock()
	measuredAt(&q.Model, 300, 800*time.Microsecond, 3900*time.Microsecond)
	measuredAt(&q.Model, 20, 2*time.Millisecond, 4300*time.Microsecond)
	a := predicted(t, q)
	reasons := strings.Join(a.Withheld, "\n")
	if !strings.Contains(reasons, "CPU per operation at 300/s is predicted +100 % off") ||
		strings.Contains(reasons, "at 20/s") {
		t.Errorf("withheld: %q, want the error at 300/s", reasons)
	}
	for i, want := range map[int]float64{1: 1, 2: 0} {
		near(t, "the error", 1+a.Checks[i].CPU.Error(), 1+want, 1e-3)
	}
}

// TestTrialsOfARateAreCheckedTogether: one slow trial of three says nothing about the prediction.
func TestTrialsOfARateAreCheckedTogether(t *testing.T) {
	q := splitStock()
	measuredAt(&q.Model, 102, 1500*time.Microsecond, 3800*time.Microsecond)
	measuredAt(&q.Model, 99, 1700*time.Microsecond, 90*time.Millisecond)
	a := predicted(t, q)
	if len(a.Checks) != 1 || len(a.Withheld) > 0 {
		t.Fatalf("%d checks, withheld: %q", len(a.Checks), a.Withheld)
	}
	near(t, "CPU time", a.Checks[0].CPU.Measured, 1.6e-3, 1e-6)
	near(t, "response time", a.Checks[0].Time.Measured, 3.9e-3, 1e-6)
}

// TestWhatATrialLacksIsNoZero: the generator of the first trial was late, and nobody metered the last.
func TestWhatATrialLacksIsNoZero(t *testing.T) {
	q := splitStock()
	q.Model.Measured[0].Time = model.Distribution{}
	measuredAt(&q.Model, 100, 1600*time.Microsecond, 3900*time.Microsecond)
	measuredAt(&q.Model, 100, 0, 3900*time.Microsecond)
	q.Model.Measured[1].Time.Quantiles = model.Quantiles{"p50": 3700 * time.Microsecond}
	a := predicted(t, q)
	if len(a.Checks) != 1 || a.Checks[0].OfMean {
		t.Fatalf("%+v, want one check of the median", a.Checks)
	}
	near(t, "CPU time", a.Checks[0].CPU.Measured, 1.6e-3, 1e-6)
	near(t, "median", a.Checks[0].Time.Measured, 3.7e-3, 1e-6)
	q.Model.Measured = q.Model.Measured[:1] // which has no time
	var text strings.Builder
	if err := predicted(t, q).Write(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "; no response time was measured.\n") {
		t.Errorf("the record does not say that no time was measured:\n%s", text.String())
	}
}

// TestTrialsOfNearlyOneRateAreDrawnFromEachOther, as those are whose users come at random.
func TestTrialsOfNearlyOneRateAreDrawnFromEachOther(t *testing.T) {
	m := smallShop()
	m.Measured = nil
	measuredAt(&m, 99, time.Millisecond, time.Millisecond)
	measuredAt(&m, 101, 2*time.Millisecond, time.Millisecond)
	measuredAt(&m, 300, 9*time.Millisecond, time.Millisecond)
	firsts := map[float64]int{}
	random := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		drawn := redrawn(m.Measured, random)
		firsts[drawn[0].Rate]++
		if drawn[2].Rate != 300 {
			t.Errorf("a trial at %g/s stands for one at 300/s", drawn[2].Rate)
		}
	}
	if firsts[99] == 0 || firsts[101] == 0 || len(firsts) != 2 {
		t.Errorf("the first of two trials is drawn %v times by its rate, want both", firsts)
	}
}

// TestAHopWhoseSidesWorkAtOnce: both sides use more CPU time than the caller waits.
func TestAHopWhoseSidesWorkAtOnce(t *testing.T) {
	hop := MeasuredHop([]HopSample{{CPU: 400e-6, Elapsed: 300e-6}}, "a test")
	q := splitStock()
	q.Hop = hop
	q.Rate = 1
	q.Model.Measured[0].Rate = 1
	a := predicted(t, q)
	near(t, "CPU of two hops", a.Changed.CPU.Value-a.AsIs.CPU.Value, 800e-6, 0.01)
	near(t, "time of two hops", a.Changed.mean-a.AsIs.mean, 600e-6, 0.02)
	if slow := MeasuredHop([]HopSample{{CPU: 1e-4, Elapsed: 3e-4}}, ""); math.Abs(slow.Wait-2e-4) > 1e-12 ||
		slow.Aside != 0 {
		t.Errorf("a hop that waits is %+v", slow)
	}
}

// TestTheUsedShareIsUnknown where the CPU time of some units was not metered: what was metered of the others
// would make a busy host look idle.
func TestTheUsedShareIsUnknown(t *testing.T) {
	lacks := map[string]string{"cpu_seconds": "the unit ended before the second mark"}
	generator := func(u lab.Usage) map[string]lab.Usage { return map[string]lab.Usage{lab.RoleGenerator: u} }
	for name, c := range map[string]struct {
		metered lab.Metered
		want    float64
	}{
		"known": {lab.Metered{Total: lab.Usage{CPUSeconds: 5}, Roles: generator(lab.Usage{CPUSeconds: 1})}, 0.5},
		"of the system": {lab.Metered{Total: lab.Usage{CPUSeconds: 5, Unavailable: lacks},
			Roles: generator(lab.Usage{CPUSeconds: 1})}, 0},
		"of the generator": {lab.Metered{Total: lab.Usage{CPUSeconds: 5},
			Roles: generator(lab.Usage{Unavailable: lacks})}, 0},
	} {
		c.metered.WindowSeconds = 2
		c.metered.Processors = 4
		if got := usedShare(c.metered); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// TestTheHopOfARehearsal: the change adds two hops to an operation, so a hop costs half of the difference
// between the placements, in each block with a valid trial of both that did not fall behind its load.
func TestTheHopOfARehearsal(t *testing.T) {
	var text strings.Builder
	if err := smallShop().Write(&text); err != nil {
		t.Fatal(err)
	}
	s := lab.Study{Baseline: "as-is", Model: text.String(), Points: []lab.Point{{Name: "low"}, {Name: "high"},
		{Name: "most", Levels: map[string]float64{lab.FactorUsers: 64}}},
		Metrics: []lab.Metric{{Name: "p50", Quantity: lab.ResponseTime, Quantile: 0.5},
			{Name: "cpu", Quantity: lab.CPU, Per: lab.PerOperation}},
		Variants: []lab.Variant{{Name: "as-is"}, {Name: "changed",
			Knobs: map[string]string{"placement": "front+orders,stock"}}}}
	trial := func(block int, variant, point string, valid bool, p50, cpu float64) lab.Trial {
		used := 0.2
		if point == "most" {
			used = 0.9
		}
		return lab.Trial{Block: block, Variant: variant, Point: lab.Point{Name: point}, Valid: valid,
			Measures: map[string]float64{"p50": p50, "cpu": cpu},
			Metered:  lab.Metered{WindowSeconds: 2, Total: lab.Usage{CPUSeconds: used * 2 * 4}, Processors: 4}}
	}
	trials := []lab.Trial{
		trial(1, "changed", "low", true, 0.009, 0.0045), trial(1, "as-is", "low", true, 0.008, 0.004),
		trial(2, "as-is", "low", true, 0.010, 0.005), trial(2, "changed", "low", true, 0.013, 0.0059),
		trial(3, "as-is", "low", true, 0.010, 0.005), trial(3, "changed", "low", false, 1, 1),
		trial(1, "changed", "high", true, 1, 1),
		trial(4, "as-is", "low", true, 0, 0.005), // sent late
		trial(4, "changed", "low", true, 0.013, 0.9),
		trial(5, "as-is", "low", true, 0.010, 0.005), trial(5, "changed", "low", true, 0, 0.9),
		trial(6, "as-is", "low", true, 0.010, 0.005), trial(6, "changed", "low", true, 3, 0.9), // see below
		trial(1, "as-is", "most", true, 0.1, 0.003), trial(1, "changed", "most", true, 0.12, 0.0034),
	}
	for i := range trials {
		held := 1.0
		if trials[i].Block == 6 && trials[i].Variant == "changed" { // operations piled up
			held = 0
		}
		if trials[i].Point.Name != "most" {
			trials[i].Audit.Figures = map[string]float64{lab.FigureHeld: held}
		}
	}
	hop, err := RehearsedHop(s, "changed", trials, "")
	if err != nil || len(hop.samples) != 3 {
		t.Fatalf("%+v, %v, want that of two blocks, and of one of a busy host", hop, err)
	}
	near(t, "CPU time", hop.CPU, 0.35e-3, 1e-9)
	near(t, "the rest", hop.Wait, 0.65e-3, 1e-9)
	near(t, "CPU time at the capacity", hop.atCapacity(0.5).CPU, 0.2e-3, 1e-9)
	if _, err := RehearsedHop(s, "as-is", trials, ""); err == nil {
		t.Error("a rehearsal that changes nothing has told what a call takes")
	}
}

// TestAMedianInAGapMayBeAnywhereInIt: half of the operations are short and half are long.
func TestAMedianInAGapMayBeAnywhereInIt(t *testing.T) {
	for low, withheld := range map[time.Duration]int{time.Millisecond: 0, 8 * time.Millisecond: 1, 0: 1} {
		q := splitStock()
		q.Model.Measured[0].Time.Quantiles = model.Quantiles{"p50": 9 * time.Millisecond,
			"p55": 10 * time.Millisecond}
		if low > 0 {
			q.Model.Measured[0].Time.Quantiles["p45"] = low
		}
		a := predicted(t, q)
		if len(a.Checks) != 1 || len(a.Withheld) != withheld {
			t.Errorf("from %v on: %+v is withheld for %q", low, a.Checks, a.Withheld)
		}
		if withheld > 0 {
			continue
		}
		if a.AsIs.Median.High < 9e-3 {
			t.Errorf("a median of %g s was measured, and %+v does not hold it", 9e-3, a.AsIs.Median)
		}
		var text strings.Builder
		if err := a.Write(&text); err != nil || !strings.Contains(text.String(), "the median response time at "+
			"100/s is predicted -60 % off, beyond the margin of 15 %, but between the measured 45th and 55th "+
			"percentiles, 1.00 ms and 10.0 ms: it counts as right\n") {
			t.Errorf("%v: no reason why there is an answer in\n%s", err, text.String())
		}
		if c := a.Document().Checks[0]; c.P45 == nil || *c.P45 != 1e-3 || c.P55 == nil || *c.P55 != 1e-2 {
			t.Errorf("the document says %+v, want the measured percentiles", c)
		}
	}
}

// TestARedrawnHopIsNeverFree: a draw from a few trials may hold only trials with users who never pause, which
// do not say how long a caller waits.
func TestARedrawnHopIsNeverFree(t *testing.T) {
	idle := HopSample{CPU: 3e-4, Elapsed: 2e-4, Used: 0.1}
	busy := HopSample{CPU: 1e-4, Elapsed: 5e-3, Used: 0.9, Closed: true}
	hop := MeasuredHop([]HopSample{idle, idle, busy, busy}, "a test")
	for seed := range uint64(100) {
		drawn := hop.redrawn(rand.New(rand.NewPCG(seed, 0)))
		near(t, "CPU time", drawn.at(0.5).CPU, 3e-4, 1e-9)
		near(t, "CPU time at the capacity", drawn.atCapacity(0.5).CPU, 1e-4, 1e-9)
		near(t, "the time of the caller", drawn.CPU-drawn.Aside+drawn.Wait, 2e-4, 1e-9)
	}
}

// TestAHopLiesOnTheLineThroughItsRates: a busy host takes less CPU time for a call.
func TestAHopLiesOnTheLineThroughItsRates(t *testing.T) {
	hop := MeasuredHop([]HopSample{{CPU: 3e-4, Elapsed: 4e-4, Used: 0.2}, {CPU: 2e-4, Elapsed: 4e-4, Used: 0.5},
		{CPU: 1e-4, Elapsed: 4e-4, Used: 0.8}}, "a test")
	for used, want := range map[float64]float64{0: 3e-4, 0.2: 3e-4, 0.5: 2e-4, 0.65: 1.5e-4, 1: 1e-4} {
		near(t, fmt.Sprintf("CPU time with %g of the host used", used), hop.at(used).CPU, want, 1e-9)
		near(t, "at a capacity that nobody has measured", hop.atCapacity(used).CPU, want, 1e-9)
	}
}

// TestACheckHidesOnlyWhatItCompares: at the nearest rate no response time was measured, so a failed check of
// that at the next one withholds the answer.
func TestACheckHidesOnlyWhatItCompares(t *testing.T) {
	q := splitStock()
	q.Model.Measured[0].Time = model.Distribution{}
	for _, rate := range []float64{50, 20} {
		measuredAt(&q.Model, rate, q.Model.Measured[0].CPU.Mean, time.Millisecond)
	}
	a := predicted(t, q)
	reasons := strings.Join(a.Withheld, "\n")
	if !strings.Contains(reasons, "the mean response time at 50/s") || strings.Contains(reasons, "at 20/s") {
		t.Errorf("withheld %q, want it for the time at 50/s alone", reasons)
	}
}

// TestOverloadsAreTold of each placement that was measured.
func TestOverloadsAreTold(t *testing.T) {
	for placement, want := range map[string]string{"": "70/s, which", "stock": "70/s of stock, which"} {
		c := Check{Placement: placement, Rate: 70, CPU: Compared{math.Inf(1), 1}}
		if beyond, passed := c.judge(); passed || !strings.HasPrefix(beyond, want) {
			t.Errorf("%q, passed %t, want %q", beyond, passed, want)
		}
	}
}

// TestOneOfTwoChecksIsTheNearest: of two checks of a placement at most one is nearer to a rate than the
// other, also if both are at the rate but not at the same rate as each other.
func TestOneOfTwoChecksIsTheNearest(t *testing.T) {
	below := Check{Rate: 91}
	above := Check{Rate: 110}
	for rate, want := range map[float64][2]bool{100: {false, false}, 90: {true, false}, 115: {false, true},
		50: {true, false}} {
		if got := [2]bool{below.nearer(rate, above), above.nearer(rate, below)}; got != want {
			t.Errorf("at %g the checks at 91 and 110 are nearer: %t, want %t", rate, got, want)
		}
	}
}

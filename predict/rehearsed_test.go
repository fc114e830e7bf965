package predict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
)

// rehearsal returns the analysis of a rehearsal at 60 operations a second and with 64 users: changed / as it
// is of each metric of Quantities, in its order, of which a 0 was not compared.
func rehearsal(ratios ...float64) lab.Analysis {
	at60 := lab.Point{Name: "rate-60", Levels: map[string]float64{lab.FactorRate: 60}}
	most := lab.Point{Name: "users-64", Levels: map[string]float64{lab.FactorUsers: 64}}
	a := lab.Analysis{Confidence: 0.95, Baseline: "as-is", Points: []lab.Point{at60, most},
		Variants: []lab.Variant{{Name: "as-is"}, {Name: "apart"}}, Metrics: []lab.Metric{
			{Name: "p50", Unit: "s", Quantity: lab.ResponseTime, Quantile: 0.5},
			{Name: "p99", Unit: "s", Quantity: lab.ResponseTime, Quantile: 0.99},
			{Name: "cpu", Unit: "s", Quantity: lab.CPU, Per: lab.PerOperation},
			{Name: "goodput", Unit: "1/s", Quantity: lab.Goodput}}}
	for i, ratio := range ratios {
		low := ratio / 1.1
		high := ratio * 1.1
		p := at60
		if a.Metrics[i].Quantity == lab.Goodput {
			p = most
		}
		if ratio > 0 {
			a.Comparisons = append(a.Comparisons, lab.Comparison{Metric: a.Metrics[i].Name, Point: p,
				Variant: "apart", Baseline: "as-is", Ratio: lab.Ratio{Ratio: ratio, Low: &low, High: &high, N: 5}})
		}
	}
	return a
}

// trial returns a measurement of the system as it is in which an operation took so many milliseconds, and a
// tenth of that of CPU.
func trial(rate float64, users, ms int) model.Measurement {
	cpu := of(time.Duration(ms) * time.Millisecond / 10)
	time := of(time.Duration(ms) * time.Millisecond)
	time.Quantiles = model.Quantiles{"p50": time.Mean, "p99": 2 * time.Mean}
	return model.Measurement{Rate: rate, Users: users, Time: time, CPU: cpu}
}

// TestARehearsalScalesWhatWasMeasured: the figures are those of the trials under the same load, times the
// ratio that was rehearsed, and their intervals hold the scatter of both.
func TestARehearsalScalesWhatWasMeasured(t *testing.T) {
	elsewhere := trial(60, 0, 900)
	elsewhere.Placement = "stock"
	m := model.Model{Measured: []model.Measurement{trial(59, 0, 10), trial(180, 0, 500), trial(61, 0, 14),
		elsewhere, trial(60, 0, 9), trial(700, 64, 80), trial(900, 64, 80)}}
	a := rehearsal(1.5, 3, 1.2, 0.5)
	got := Rehearsed(a, "apart", m, Quantities(a.Metrics))
	if len(got) != 4 {
		t.Fatalf("figures %+v, want four", got)
	}
	// Student's t at 95 % of three trials and of two, and the scatter of their logs.
	spread := func(x ...float64) (s float64) {
		mean := 0.0
		for _, v := range x {
			mean += math.Log(v) / float64(len(x))
		}
		for _, v := range x {
			s += (math.Log(v) - mean) * (math.Log(v) - mean)
		}
		return math.Sqrt(s / float64(len(x)*(len(x)-1)))
	}
	three := 4.30265 * spread(10, 14, 9)
	two := 12.7062 * spread(700, 900)
	for i, want := range []struct{ measured, changed, half float64 }{
		{0.010, 0.015, three * math.Sqrt(math.Pi/2)}, {0.020, 0.060, three * math.Sqrt(math.Pi/2)},
		{0.0011, 0.00132, three}, {800, 400, two},
	} {
		half := math.Hypot(math.Log(1.1), want.half)
		f := got[i]
		if f.Changed == nil || f.Withheld != "" || f.Metric != a.Metrics[i].Name || f.Unit != a.Metrics[i].Unit {
			t.Errorf("%s is %+v, want a figure in %s", a.Metrics[i].Name, f, a.Metrics[i].Unit)
			continue
		}
		for what, pair := range map[string][2]float64{"measured": {f.Measured.Value, want.measured},
			"changed": {f.Changed.Value, want.changed}, "low": {*f.Changed.Low, want.changed * math.Exp(-half)},
			"high":          {*f.Changed.High, want.changed * math.Exp(half)},
			"measured high": {*f.Measured.High, want.measured * math.Exp(want.half)}} {
			if math.Abs(pair[0]/pair[1]-1) > 1e-4 {
				t.Errorf("%s, %s: %g, want %g", f.Metric, what, pair[0], pair[1])
			}
		}
	}
}

// TestARehearsalWithholdsWhatNobodyMeasured, and says why; of a single trial it gives no interval.
func TestARehearsalWithholdsWhatNobodyMeasured(t *testing.T) {
	guess := trial(60, 0, 10)
	jumping := trial(60, 0, 10)
	guess.Time.Source = model.Guess
	guess.CPU.Source = model.Guess
	jumping.Time.Quantiles["p45"] = 4 * time.Millisecond
	jumping.Time.Quantiles["p55"] = 11 * time.Millisecond
	piled := rehearsal(1.5, 0, 1.2, 0.5)
	for i := range piled.Comparisons {
		piled.Comparisons[i].PiledUp = true
	}
	const unsaid = "the model does not say what was measured of the system as it is"
	const noCapacity = "the model does not say what 64 users got of the system as it is: cleave model --capacity"
	for name, c := range map[string]struct {
		a        lab.Analysis
		measured []model.Measurement
		want     [4]string // why each quantity is withheld; empty: it is not
	}{
		"one trial": {rehearsal(1.5, 3, 1.2, 0.5), []model.Measurement{trial(60, 0, 10), trial(900, 64, 80)},
			[4]string{}},
		"nothing": {rehearsal(1.5, 3, 1.2, 0.5), nil, [4]string{unsaid, unsaid, unsaid, noCapacity}},
		"guesses": {rehearsal(1.5, 3, 1.2, 0.5), []model.Measurement{guess},
			[4]string{unsaid, unsaid, unsaid, noCapacity}},
		"other loads": {rehearsal(1.5, 3, 1.2, 0.5),
			[]model.Measurement{trial(20, 0, 10), trial(180, 0, 10), trial(900, 32, 10)},
			[4]string{"measured at 20/s and 180/s, and not at 60/s", "not at 60/s", "not at 60/s", noCapacity}},
		"not compared": {rehearsal(0, 3, 1.2, 0), []model.Measurement{trial(60, 0, 10), trial(900, 64, 80)},
			[4]string{"no block has rehearsed it", "", "", "no block has rehearsed it"}},
		"piled up": {piled, []model.Measurement{trial(60, 0, 10), trial(900, 64, 80)},
			[4]string{"did not hold the rate", "no block has rehearsed it"}},
		"between two kinds": {rehearsal(1.5, 3, 1.2, 0.5), []model.Measurement{jumping, trial(900, 64, 80)},
			[4]string{"45 % of the operations take 4.00 ms at most and 55 % take 11.0 ms"}},
	} {
		for i, f := range Rehearsed(c.a, "apart", model.Model{Measured: c.measured}, Quantities(c.a.Metrics)) {
			withheld := f.Changed == nil
			if withheld != (c.want[i] != "") || withheld != (f.Withheld != "") ||
				!strings.Contains(f.Withheld, c.want[i]) {
				t.Errorf("%s: %s is %+v, want it withheld for %q", name, f.Metric, f, c.want[i])
			}
			if !withheld && (f.Changed.Low != nil || f.Measured.Low != nil) {
				t.Errorf("%s: %s has an interval from one trial: %+v", name, f.Metric, f)
			}
		}
	}
	a := rehearsal(1.5, 3, 1.2, 0.5)
	a.Variants[1].Points = []string{"rate-60"}
	for _, f := range Rehearsed(a, "apart", model.Model{}, Quantities(a.Metrics)) {
		if f.Point.Name != "rate-60" {
			t.Errorf("%+v is of a point that was rehearsed as it is alone", f)
		}
	}
}

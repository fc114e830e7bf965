package figures

import (
	"math"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values           []float64
		value, low, high float64
	}{
		{[]float64{7}, 7, 7, 7}, {[]float64{5, 2, 9}, 5, 2, 9}, {[]float64{8, 2, 4, 3}, 3.5, 2, 8},
	} {
		f := Median("calls", "s", lab.HigherIsBetter, c.values)
		want := Figure{Figure: "calls", Value: c.value, Low: c.low, High: c.high, Unit: "s", N: len(c.values),
			Better: lab.HigherIsBetter}
		if f != want {
			t.Errorf("of %v: %+v, want %+v", c.values, f, want)
		}
	}
}

// TestRatio: the logs of the rounds' ratios 2 and 8 have the mean ln 4 and the standard
// error ln 2. The 97.5th percentile of Student's t with one degree of freedom is 12.7062:
// so the half-width of the interval is 12.7062 ln 2.
func TestRatio(t *testing.T) {
	f, err := Ratio("ours / theirs", lab.LowerIsBetter, []float64{2, 16}, []float64{1, 2})
	testset.Must(t, err)
	half := 12.7062 * math.Ln2
	for what, pair := range map[string][2]float64{
		"value": {f.Value, 4}, "low": {f.Low, 4 * math.Exp(-half)}, "high": {f.High, 4 * math.Exp(half)},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 1e-4 {
			t.Errorf("%s: %g, want %g", what, pair[0], pair[1])
		}
	}
	if f.Unit != "1" || f.N != 2 || f.Better != lab.LowerIsBetter || f.Must != nil {
		t.Errorf("%+v: want unit 1 of two rounds, lower is better, no goal", f)
	}
	for what, sides := range map[string][2][]float64{"one round": {{1}, {2}}, "a zero": {{1, 0}, {2, 2}},
		"a missing round": {{1, 2}, {2}}} {
		if _, err := Ratio("ours / theirs", lab.LowerIsBetter, sides[0], sides[1]); err == nil ||
			!strings.Contains(err.Error(), "ours / theirs: ") {
			t.Errorf("%s: %v, want an error with the name of the figure", what, err)
		}
	}
}

// TestReached: a goal is reached only by the whole interval, in both directions.
func TestReached(t *testing.T) {
	for _, c := range []struct {
		goal      Goal
		better    lab.Direction
		low, high float64
		want      string
	}{
		{Goal{0.7, 0.9}, lab.HigherIsBetter, 0.91, 0.95, "stretch"},
		{Goal{0.7, 0.9}, lab.HigherIsBetter, 0.75, 0.95, "must"},
		{Goal{0.7, 0.9}, lab.HigherIsBetter, 0.6, 0.8, "undecided"},
		{Goal{0.7, 0.9}, lab.HigherIsBetter, 0.5, 0.6, "missed"},
		{Goal{1.1, 0.7}, lab.LowerIsBetter, 0.6, 0.69, "stretch"},
		{Goal{1.1, 0.7}, lab.LowerIsBetter, 0.6, 1, "must"},
		{Goal{1.1, 0.7}, lab.LowerIsBetter, 1, 1.2, "undecided"},
		{Goal{1.1, 0.7}, lab.LowerIsBetter, 1.2, 1.3, "missed"},
		{Goal{0.25, 0.125}, lab.LowerIsBetter, 0.1, 0.125, "stretch"},
		{Goal{0.25, 0.125}, lab.LowerIsBetter, 0.1, 0.13, "must"},
		{Goal{0, 0}, lab.LowerIsBetter, 0, 0, "stretch"}, {Goal{0, 0}, lab.LowerIsBetter, 0, 1, "undecided"},
	} {
		f := Figure{Low: c.low, High: c.high, Better: c.better}.To(c.goal)
		if got := f.Reached(); got != c.want {
			t.Errorf("%v..%v of %+v, %s is better: %q, want %q", c.low, c.high, c.goal, c.better, got, c.want)
		}
	}
	if got := (Figure{Low: 1, High: 2, Better: lab.HigherIsBetter}).Reached(); got != "" {
		t.Errorf("without a goal: %q", got)
	}
}

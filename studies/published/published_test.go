package published

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/stats"
)

// recomputation is rego2021 with its runs, in milliseconds, by variant and point.
type recomputation struct {
	*Study
	runs map[string]map[string][]float64
}

func load(t *testing.T) recomputation {
	t.Helper()
	s := loadStudy(t, "rego2021")
	r := recomputation{s, map[string]map[string][]float64{}}
	for _, f := range s.Figures {
		if f.Ours.Quantity != Run {
			continue
		}
		of := r.runs[f.Ours.Variant]
		if of == nil {
			of = map[string][]float64{}
			r.runs[f.Ours.Variant] = of
		}
		if len(of[f.Ours.Point]) != f.Ours.Run-1 {
			t.Fatalf("figure %s: run %d follows %d runs", f.ID, f.Ours.Run, len(of[f.Ours.Point]))
		}
		of[f.Ours.Point] = append(of[f.Ours.Point], milliseconds(t, f, f.Value))
	}
	return r
}

func milliseconds(t *testing.T, f Figure, value float64) float64 {
	t.Helper()
	seconds, ok := f.Seconds()
	if !ok {
		t.Fatalf("figure %s is no time: %s", f.ID, f.Unit)
	}
	return value * seconds * 1000
}

func (r recomputation) mean(variant, point string) float64 {
	return stats.Mean(r.runs[variant][point])
}

// line fits the means in milliseconds along a factor.
func (r recomputation) line(t *testing.T, m Mapping) stats.Line {
	t.Helper()
	var x, y []float64
	for _, name := range m.Points {
		point, _ := r.Point(name)
		level, ok := point.Level(m.Factor)
		if !ok {
			t.Fatalf("point %s does not set %s", name, m.Factor)
		}
		x = append(x, level)
		y = append(y, r.mean(m.Variant, name))
	}
	line, err := stats.FitLine(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// value recomputes a figure in its own unit.
func (r recomputation) value(t *testing.T, f Figure) float64 {
	t.Helper()
	m := f.Ours
	switch m.Quantity {
	case Mean:
		seconds, _ := f.Seconds()
		return r.mean(m.Variant, m.Point) / 1000 / seconds
	case RatioOfMeans:
		return r.mean(m.Variant, m.Point) / r.mean(m.Against, m.Point)
	case MeanOfRatios:
		up := r.means(m.Variant, m.Points)
		down := r.means(m.Against, m.Points)
		averages, err := stats.AverageRatios(up, down)
		if err != nil {
			t.Fatal(err)
		}
		return averages.Arithmetic
	case Slope:
		return r.line(t, m).Slope
	case Intercept:
		return r.line(t, m).Intercept
	}
	t.Fatalf("figure %s: quantity %s is not recomputed", f.ID, m.Quantity)
	return 0
}

func (r recomputation) means(variant string, points []string) []float64 {
	var out []float64
	for _, point := range points {
		out = append(out, r.mean(variant, point))
	}
	return out
}

// printedStep returns the unit of the last digit of a number as it was printed: 0.01 for 3.14.
func printedStep(t *testing.T, value float64) float64 {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	_, decimals, found := strings.Cut(string(text), ".")
	if !found {
		return 1
	}
	return math.Pow10(-len(decimals))
}

// inputError returns the largest error that the rounding of Table 1 (half of its last
// digit, 0.001 s or 0.001 ms) can cause in a recomputed figure. It allows none for slopes and for means of
// ratios: the printed ones need none.
func (r recomputation) inputError(t *testing.T, f Figure) float64 {
	t.Helper()
	half := func(variant string) float64 { // in milliseconds
		if variant == "threads" {
			return 0.0005
		}
		return 0.5
	}
	m := f.Ours
	switch m.Quantity {
	case Mean:
		return 0.0005
	case RatioOfMeans: // computed from Table 2, which is rounded as well
		up := r.mean(m.Variant, m.Point)
		down := r.mean(m.Against, m.Point)
		return up / down * (half(m.Variant)/up + half(m.Against)/down)
	case Intercept:
		// The intercept is a weighted sum of the five points. Their distances are equal, and the first is one
		// step from 0: then the absolute weights add up to 2.
		return 2 * half(m.Variant)
	}
	return 0
}

// TestEveryStatusIsRight recomputes every derived figure from Table 1.
func TestEveryStatusIsRight(t *testing.T) {
	r := load(t)
	counts := map[string]int{}
	for _, f := range r.Figures {
		if f.Ours.Quantity == Run || f.Ours.Quantity == Setting {
			continue
		}
		got := r.value(t, f)
		counts[f.Status]++
		if f.Recomputed == nil {
			t.Errorf("figure %s: no recomputed value", f.ID)
			continue
		}
		if off := math.Abs(got - *f.Recomputed); off > 0.51*printedStep(t, *f.Recomputed) {
			t.Errorf("figure %s: recomputed %.9g, the file says %.9g", f.ID, got, *f.Recomputed)
		}
		off := math.Abs(got - f.Value)
		printed := 0.5 * printedStep(t, f.Value) * (1 + 1e-9)
		switch f.Status {
		case "ok", "method-flaw":
			if off > printed+r.inputError(t, f) {
				t.Errorf("figure %s (%s): %g printed, %.9g recomputed: not ok", f.ID, f.Source, f.Value, got)
			}
		case "ok-rounding":
			if off <= printed || off > printed+r.inputError(t, f) {
				t.Errorf("figure %s (%s): %g printed, %.9g recomputed: not explained by rounding alone", f.ID, f.Source,
					f.Value, got)
			}
		case StatusWrong:
			if off <= printed+r.inputError(t, f) {
				t.Errorf("figure %s (%s): %g printed, %.9g recomputed: rounding explains it", f.ID, f.Source, f.Value,
					got)
			}
		}
	}
	want := map[string]int{"ok": 55, "ok-rounding": 10, "method-flaw": 1, StatusWrong: 1}
	for status, n := range want {
		if counts[status] != n {
			t.Errorf("%d figures are %q, want %d", counts[status], status, n)
		}
	}
}

func TestOnlyTheThirdLineIsWrong(t *testing.T) {
	r := load(t)
	for _, f := range r.Figures {
		if f.Status == StatusWrong && (f.Ours.Line != "y3" || f.Ours.Quantity != Intercept) {
			t.Errorf("figure %s is called wrong", f.ID)
		}
	}
}

// TestFindingsOnTheAverage reproduces the finding on the average of 3.237: Cochran's Q with variances by
// log-Welch, the mean by the normal distribution, the prediction interval by t with 7 degrees of freedom.
func TestFindingsOnTheAverage(t *testing.T) {
	r := load(t)
	var effects []stats.Effect
	for _, point := range r.Points {
		ratio, err := stats.LogWelch(r.runs["http"][point.Name], r.runs["uds"][point.Name], 0.95)
		if err != nil {
			t.Fatal(err)
		}
		effects = append(effects, stats.Effect{Log: ratio.LogMean, Variance: ratio.LogSE * ratio.LogSE})
	}
	got, err := stats.Combine(effects, 0, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	data := findingData(t, r.Study, "cochran_Q")
	interval := func(name string) [2]float64 {
		pair := data[name].([]any)
		return [2]float64{pair[0].(float64), pair[1].(float64)}
	}
	mean := interval("ci95")
	prediction := interval("prediction_interval95")
	for _, c := range []struct {
		what            string
		got, want, step float64
	}{
		{"Q", got.Q, data["cochran_Q"].(float64), 0.05},
		{"I2", got.I2, data["I2"].(float64), 0.0005},
		{"log10 p", math.Log10(got.P), math.Log10(data["p"].(float64)), 0.1},
		{"mean", got.Mean.Value, data["random_effects_geomean"].(float64), 0.0005},
		{"mean low", got.Mean.Low, mean[0], 0.0005},
		{"mean high", got.Mean.High, mean[1], 0.0005},
		{"prediction low", got.Prediction.Low, prediction[0], 0.0005},
		{"prediction high", got.Prediction.High, prediction[1], 0.0005},
	} {
		if math.Abs(c.got-c.want) > c.step {
			t.Errorf("%s = %.6g, the finding says %g", c.what, c.got, c.want)
		}
	}
}

func findingData(t *testing.T, s *Study, key string) map[string]any {
	t.Helper()
	for _, f := range s.Findings {
		if _, ok := f.Data[key]; ok {
			return f.Data
		}
	}
	t.Fatalf("no finding carries %q", key)
	return nil
}

// TestCostPerOperation reproduces the finding on the cost of a ping.
func TestCostPerOperation(t *testing.T) {
	r := load(t)
	data := findingData(t, r.Study, "s1")
	for _, point := range r.Points {
		row := data[point.Name].(map[string]any)
		if got := Operations(point); got != row["total_pings"].(float64) {
			t.Errorf("%s: %g operations, the finding says %v", point.Name, got, row["total_pings"])
		}
		for key, want := range map[string]float64{"mt_ns": 1e6, "m1_us": 1e3, "m2_us": 1e3} {
			variant := map[string]string{"mt_ns": "threads", "m1_us": "http", "m2_us": "uds"}[key]
			got := r.mean(variant, point.Name) / Operations(point) * want
			if said := row[key].(float64); math.Abs(got-said) > 0.0051 {
				t.Errorf("%s %s: %g, the finding says %g", point.Name, key, got, said)
			}
		}
	}
}

func TestNegativeFixedCostsAreImpossible(t *testing.T) {
	r := load(t)
	// Lines with a negative intercept, and whether it is below zero beyond its error: t = 3.18 with 3 degrees of
	// freedom.
	beyond := map[string]bool{"y3": false, "y6": true}
	for _, f := range r.Figures {
		if f.Ours.Quantity != Intercept {
			continue
		}
		negative, sure := r.line(t, f.Ours).ImpossibleFixedCost(0.95)
		if negative != (f.Value < 0) {
			t.Errorf("%s: intercept %g, flagged %t", f.Ours.Line, f.Value, negative)
		}
		if want, listed := beyond[f.Ours.Line]; listed && sure != want {
			t.Errorf("%s: negative beyond its error: %t, want %t", f.Ours.Line, sure, want)
		}
	}
}

package published

import (
	"math"
	"testing"
)

// TestGroupingsOfTheSixthStudy holds its averages and their ratios against each other.
func TestGroupingsOfTheSixthStudy(t *testing.T) {
	s, err := Load("mendonca2024")
	if err != nil {
		t.Fatal(err)
	}
	averages, ratios := map[string]float64{}, 0
	for _, f := range s.Figures {
		switch {
		case f.Ours.Quantity == Mean && f.Status == "raw":
			averages[f.Ours.Variant+" "+f.Ours.Point] = f.Value
		case f.Ours.Quantity == RatioOfMeans:
			ratios++
			got := averages[f.Ours.Variant+" "+f.Ours.Point] / averages[f.Ours.Against+" "+f.Ours.Point]
			if math.Abs(got-*f.Recomputed) > 0.00005 {
				t.Errorf("%s: recomputed %g, the file says %g", f.ID, got, *f.Recomputed)
			}
		}
	}
	if len(averages) != 7*4 || ratios != 6 || len(s.Figures) != 37 || len(s.Findings) != 7 {
		t.Errorf("%d averages, %d ratios, %d figures, %d findings; want 28, 6, 37, 7", len(averages), ratios,
			len(s.Figures), len(s.Findings))
	}
}

// TestEnergyOfTheSeventhStudyIsUnmeasured: no figure of energy stands beside one of ours, and what ECSA 2025
// printed as losses are ratios, with their mean.
func TestEnergyOfTheSeventhStudyIsUnmeasured(t *testing.T) {
	s, err := Load("zhao2025")
	if err != nil {
		t.Fatal(err)
	}
	energy := 0
	for _, f := range s.Figures {
		if f.Metric == "energy" {
			energy++
			if f.Ours.Quantity != Unmeasured {
				t.Errorf("%s, of energy, stands beside %s", f.ID, f.Ours.Metric)
			}
		}
	}
	if energy != 5 || len(s.Figures) != 9 {
		t.Errorf("%d of %d figures are of energy, want 5 of 9", energy, len(s.Figures))
	}
	for id, lost := range map[string]float64{"s7-007": 6.13, "s7-008": 5.44, "s7-009": 5.78} {
		if f := s.figure(t, id); math.Abs(f.Value-(1-lost/100)) > 1e-9 {
			t.Errorf("%s is %g, printed as a loss of %g %%", id, f.Value, lost)
		}
	}
	mean := (s.figure(t, "s7-007").Value + s.figure(t, "s7-008").Value) / 2
	if got := *s.figure(t, "s7-009").Recomputed; math.Abs(got-mean) > 1e-9 {
		t.Errorf("the mean of the two is %g, the file says %g", mean, got)
	}
}

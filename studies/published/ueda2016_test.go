package published

import (
	"math"
	"testing"
)

func TestEveryFigureOfTheFourthStudyIsListed(t *testing.T) {
	s, err := Load("ueda2016")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Figures) != 8 || len(s.Findings) != 1 {
		t.Errorf("%d figures and %d findings, want 8 and 1", len(s.Figures), len(s.Findings))
	}
	missing := 0
	for _, f := range s.Figures {
		if f.Missing {
			missing++
		}
	}
	if missing != 4 {
		t.Errorf("%d figures have no number, want 4: the image and three sentences", missing)
	}
}

// TestLossesOfTheFourthStudyAreRatios holds the ratios against the percentages that were
// printed, and these against how many times the other is as fast.
func TestLossesOfTheFourthStudyAreRatios(t *testing.T) {
	s, err := Load("ueda2016")
	if err != nil {
		t.Fatal(err)
	}
	for id, printed := range map[string]struct{ lost, faster float64 }{"s4-001": {79.2, 4.81},
		"s4-002": {70.2, 3.36}, "s4-004": {33.8, 1.51}} {
		f := s.figure(t, id)
		if math.Abs(f.Value-(1-printed.lost/100)) > 1e-9 || math.Abs(1/f.Value-printed.faster) > 0.005 ||
			*f.Recomputed != f.Value {
			t.Errorf("%s is %g, printed as a loss of %g %%", id, f.Value, printed.lost)
		}
	}
}

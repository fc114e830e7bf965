package published

import (
	"math"
	"strings"
	"testing"
)

func loadStudy(t *testing.T, name string) *Study {
	t.Helper()
	s, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// figure returns the figure with an id.
func (s *Study) figure(t *testing.T, id string) Figure {
	t.Helper()
	for _, f := range s.Figures {
		if f.ID == id {
			return f
		}
	}
	t.Fatalf("there is no figure %s", id)
	return Figure{}
}

func TestEveryFigureIsListed(t *testing.T) {
	for _, c := range []struct {
		study             string
		figures, findings int
		statuses          map[string]int // number of figures with each
		missing           func(Figure) bool
	}{
		{"costa2022", 24, 4, map[string]int{"ambiguous": 2, "derived": 1, "not-in-text": 12, "not-recomputable": 8,
			"method-flaw": 1}, func(f Figure) bool { return f.Status == "not-in-text" || f.Status == "derived" }},
		{"flygare2017", 71, 9, map[string]int{"not-recomputable": 40, "ok": 11, StatusWrong: 6, "ambiguous": 6,
			"suspect": 3, "plausible": 2, "ok-rounding": 1, "inconsistent": 1, "method-flaw": 1}, nil},
		{"ueda2016", 8, 1, nil, nil},
		// None of its results has a number. Only its settings are printed.
		{"fama2021", 15, 5, nil, func(f Figure) bool { return f.Ours.Quantity != Setting }},
		{"mendonca2024", 37, 7, nil, nil},
		{"zhao2025", 9, 4, nil, nil},
	} {
		s := loadStudy(t, c.study)
		if len(s.Figures) != c.figures || len(s.Findings) != c.findings {
			t.Errorf("%s: %d figures and %d findings, want %d and %d", c.study, len(s.Figures), len(s.Findings),
				c.figures, c.findings)
		}
		counts := map[string]int{}
		for _, f := range s.Figures {
			counts[f.Status]++
			if c.missing != nil && f.Missing != c.missing(f) {
				t.Errorf("%s: %s (%s): missing %t", c.study, f.ID, f.Status, f.Missing)
			}
		}
		for status, n := range c.statuses {
			if counts[status] != n {
				t.Errorf("%s: %d figures are %q, want %d", c.study, counts[status], status, n)
			}
		}
	}
}

// TestTheRatioOfCapacitiesFollowsFromThem recomputes the only derived figure.
func TestTheRatioOfCapacitiesFollowsFromThem(t *testing.T) {
	s := loadStudy(t, "costa2022")
	monolith := s.figure(t, "s1-001")
	sync := s.figure(t, "s1-002")
	ratio := s.figure(t, "s1-003")
	if got := sync.Value / monolith.Value; math.Abs(got-*ratio.Recomputed) > 0.00005 {
		t.Errorf("%g, the file says %g", got, *ratio.Recomputed)
	}
	if ratio.Ours.Variant != sync.Ours.Variant || ratio.Ours.Against != monolith.Ours.Variant {
		t.Errorf("the ratio is of %s over %s", ratio.Ours.Variant, ratio.Ours.Against)
	}
}

func TestUnitFactors(t *testing.T) {
	for unit, want := range map[string]float64{"s": 1, "ms": 1e-3, "requests/min": 1.0 / 60, "percent": 0.01,
		"x": 1, "ratio": 1, "count": 1, "GiB": 1 << 30, "GB": 0} {
		got, known := Figure{Unit: unit}.UnitFactor()
		if got != want || known != (want != 0) {
			t.Errorf("one %s is %g (%t) in our unit, want %g", unit, got, known, want)
		}
	}
}

// TestTheMemoryOfTheThirdStudyContradictsItsText recomputes the ratios of memory that its text prints.
func TestTheMemoryOfTheThirdStudyContradictsItsText(t *testing.T) {
	s := loadStudy(t, "flygare2017")
	memory := map[string]float64{"a1": s.figure(t, "s3-002").Value, "a4": s.figure(t, "s3-004").Value,
		"a3": s.figure(t, "s3-006").Value, "a2": s.figure(t, "s3-017").Value}
	for _, id := range []string{"s3-013", "s3-016", "s3-021", "s3-022"} {
		f := s.figure(t, id)
		got := memory[f.Ours.Variant] / memory[f.Ours.Against]
		if math.Abs(got-*f.Recomputed) > 0.0006 {
			t.Errorf("%s: %s over %s is %.4f, the file says %.4f", id, f.Ours.Variant, f.Ours.Against, got,
				*f.Recomputed)
		}
		if wrong := math.Abs(got-f.Value) > 0.01; wrong != (f.Status == StatusWrong) {
			t.Errorf("%s: %.4f was printed as %g, and its status is %q", id, got, f.Value, f.Status)
		}
	}
	for _, f := range s.Figures {
		if f.Unit == "ratio" && f.ID != "s3-013" && !strings.HasPrefix(f.Note, "printed: ") {
			t.Errorf("%s is a ratio that was printed otherwise, and its note does not say how", f.ID)
		}
	}
}

// TestLossesOfTheFourthStudyAreRatios compares the ratios with the two forms in which they were printed: the
// percentage that is lost, and the factor by which the other is faster. An image and three sentences print no
// number.
func TestLossesOfTheFourthStudyAreRatios(t *testing.T) {
	s := loadStudy(t, "ueda2016")
	for id, printed := range map[string]struct{ lost, faster float64 }{"s4-001": {79.2, 4.81},
		"s4-002": {70.2, 3.36}, "s4-004": {33.8, 1.51}} {
		f := s.figure(t, id)
		if math.Abs(f.Value-(1-printed.lost/100)) > 1e-9 || math.Abs(1/f.Value-printed.faster) > 0.005 ||
			*f.Recomputed != f.Value {
			t.Errorf("%s is %g, printed as a loss of %g %%", id, f.Value, printed.lost)
		}
	}
	missing := 0
	for _, f := range s.Figures {
		if f.Missing {
			missing++
		}
	}
	if missing != 4 {
		t.Errorf("%d figures have no number, want 4", missing)
	}
}

// TestGroupingsOfTheSixthStudy recomputes the ratios from the averages.
func TestGroupingsOfTheSixthStudy(t *testing.T) {
	averages := map[string]float64{}
	ratios := 0
	for _, f := range loadStudy(t, "mendonca2024").Figures {
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
	if len(averages) != 7*4 || ratios != 6 {
		t.Errorf("%d averages and %d ratios, want 28 and 6", len(averages), ratios)
	}
}

// TestEnergyOfTheSeventhStudyIsUnmeasured: no figure of energy is mapped to a metric of ours. The file of the
// study also has the figures of a second paper (ECSA 2025): its printed losses are stored as ratios, with
// their mean.
func TestEnergyOfTheSeventhStudyIsUnmeasured(t *testing.T) {
	s := loadStudy(t, "zhao2025")
	energy := 0
	for _, f := range s.Figures {
		if f.Metric == "energy" {
			energy++
			if f.Ours.Quantity != Unmeasured {
				t.Errorf("%s, of energy, is mapped to %s", f.ID, f.Ours.Metric)
			}
		}
	}
	if energy != 5 {
		t.Errorf("%d figures are of energy, want 5", energy)
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

package published

import (
	"math"
	"testing"
)

func loadCosta(t *testing.T) *Study {
	t.Helper()
	s, err := Load("costa2022")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// figure finds the figure of a metric and a variant in the study's words.
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

func TestEveryFigureOfTheSecondStudyIsListed(t *testing.T) {
	s := loadCosta(t)
	counts := map[string]int{}
	for _, f := range s.Figures {
		counts[f.Status]++
		missing := f.Status == "not-in-text" || f.Status == "derived"
		if f.Missing != missing {
			t.Errorf("%s (%s): missing %t", f.ID, f.Status, f.Missing)
		}
	}
	want := map[string]int{"ambiguous": 2, "derived": 1, "not-in-text": 12, "not-recomputable": 8,
		"method-flaw": 1}
	for status, n := range want {
		if counts[status] != n {
			t.Errorf("%d figures are %q, want %d", counts[status], status, n)
		}
	}
	if len(s.Figures) != 24 || len(s.Findings) != 4 {
		t.Errorf("%d figures and %d findings, want 24 and 4", len(s.Figures), len(s.Findings))
	}
}

// TestTheRatioOfCapacitiesFollowsFromThem recomputes the only derived figure.
func TestTheRatioOfCapacitiesFollowsFromThem(t *testing.T) {
	s := loadCosta(t)
	monolith, sync, ratio := s.figure(t, "s1-001"), s.figure(t, "s1-002"), s.figure(t, "s1-003")
	if got := sync.Value / monolith.Value; math.Abs(got-*ratio.Recomputed) > 0.00005 {
		t.Errorf("%g, the file says %g", got, *ratio.Recomputed)
	}
	if ratio.Ours.Variant != sync.Ours.Variant || ratio.Ours.Against != monolith.Ours.Variant {
		t.Errorf("the ratio is of %s over %s", ratio.Ours.Variant, ratio.Ours.Against)
	}
}

func TestUnitsInOurs(t *testing.T) {
	for unit, want := range map[string]float64{"s": 1, "ms": 1e-3, "requests/min": 1.0 / 60, "percent": 0.01,
		"x": 1, "ratio": 1, "count": 1, "GiB": 1 << 30, "GB": 0} {
		got, known := Figure{Unit: unit}.InOurs()
		if got != want || known != (want != 0) {
			t.Errorf("one %s is %g (%t) of ours, want %g", unit, got, known, want)
		}
	}
}

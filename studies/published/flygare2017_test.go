package published

import (
	"math"
	"strings"
	"testing"
)

func TestEveryFigureOfTheThirdStudyIsListed(t *testing.T) {
	s, err := Load("flygare2017")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, f := range s.Figures {
		counts[f.Status]++
		if f.Unit == "ratio" && f.ID != "s3-013" && !strings.HasPrefix(f.Note, "printed: ") {
			t.Errorf("%s is a ratio that was printed otherwise, and its note does not say how", f.ID)
		}
	}
	want := map[string]int{"not-recomputable": 40, "ok": 11, StatusWrong: 6, "ambiguous": 6, "suspect": 3,
		"plausible": 2, "ok-rounding": 1, "inconsistent": 1, "method-flaw": 1}
	for status, n := range want {
		if counts[status] != n {
			t.Errorf("%d figures are %q, want %d", counts[status], status, n)
		}
	}
	if len(s.Figures) != 71 || len(s.Findings) != 9 {
		t.Errorf("%d figures and %d findings, want 71 and 9", len(s.Figures), len(s.Findings))
	}
}

// TestTheMemoryOfTheThirdStudyContradictsItsText recomputes what the text says of it.
func TestTheMemoryOfTheThirdStudyContradictsItsText(t *testing.T) {
	s, err := Load("flygare2017")
	if err != nil {
		t.Fatal(err)
	}
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
}

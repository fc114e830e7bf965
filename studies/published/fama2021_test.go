package published

import "testing"

// TestEveryFigureOfTheFifthStudyIsListed, and that none of its results has a number: what is
// printed is how it was set up.
func TestEveryFigureOfTheFifthStudyIsListed(t *testing.T) {
	s, err := Load("fama2021")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Figures) != 15 || len(s.Findings) != 5 {
		t.Errorf("%d figures and %d findings, want 15 and 5", len(s.Figures), len(s.Findings))
	}
	for _, f := range s.Figures {
		if result := f.Ours.Quantity != Setting; result != f.Missing {
			t.Errorf("%s is a result: %t, and its number is missing: %t; the text prints none", f.ID, result,
				f.Missing)
		}
	}
}

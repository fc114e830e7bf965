package analysis

import (
	"slices"
	"testing"
)

func TestRemarksOnLoadsAreNotes(t *testing.T) {
	in := loaded()
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Variant == "b" {
			trial.Remarks = []string{[]string{"v", "w", "x", "y", "z"}[i%5]}
			trial.Remarks = append(trial.Remarks, "status 503 came with: full")
		}
	}
	want := "b: status 503 came with: full (12 trials); w (3 trials); v (3 trials); and 3 more remarks."
	if notes := Analyse(in).Notes; !slices.Contains(notes, want) {
		t.Errorf("notes %q, want %q among them", notes, want)
	}
}

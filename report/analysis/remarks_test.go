package analysis

import (
	"fmt"
	"slices"
	"testing"
)

func TestRemarksOnLoadsAreNotes(t *testing.T) {
	in := loaded()
	each := map[int]int{} // trials of b in a block
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Variant == "b" {
			each[trial.Block]++
			trial.Remarks = []string{fmt.Sprint("in block ", trial.Block), "status 503 came with: full"}
		}
	}
	all := each[1] * len(each)
	want := fmt.Sprintf("b: status 503 came with: full (%d trials); in block 1 (%s); in block 2 (%s); and %d "+
		"more remarks.",
		all, count(each[1], "trial"), count(each[2], "trial"), len(each)-2)
	if notes := Analyse(in).Notes; !slices.Contains(notes, want) {
		t.Errorf("notes %q, want %q among them", notes, want)
	}
}

package study_test

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/study"
)

// TestAStudyIsPlayedWithoutGates: the study has no gates and a note, and the file keeps its gates.
func TestAStudyIsPlayedWithoutGates(t *testing.T) {
	file := parsed(t, []byte(faulty+"  - {kill: orders, after: 2s}\n"), shops(true))
	gated := resolved(t, file, study.Options{})
	open := resolved(t, file, study.Options{NoGates: true})
	if open.Design.Gates.MaxStealShare < 1 || open.Load.Lateness <= 0 {
		t.Errorf("without gates they are %+v, and the generator may be %g s late", open.Design.Gates,
			open.Load.Lateness)
	}
	if last := open.Notes[len(open.Notes)-1]; !strings.Contains(last, "counted whatever") {
		t.Errorf("its last note is %q", last)
	}
	file.Study.Load.Lateness = 1
	if open := resolved(t, file, study.Options{NoGates: true}); open.Load.Lateness != 1 ||
		!strings.Contains(open.Notes[len(open.Notes)-1], "less than 1000 ms late") {
		t.Errorf("without gates the generator may be %g s late, with them 1 s: %q", open.Load.Lateness, open.Notes)
	}
	file.Study.Load.Lateness = gated.Load.Lateness
	again := resolved(t, file, study.Options{})
	if again.Design.Gates != gated.Design.Gates || again.Load.Lateness != gated.Load.Lateness ||
		len(again.Notes) != len(gated.Notes) {
		t.Errorf("the study changed from %+v to %+v", gated, again)
	}
}

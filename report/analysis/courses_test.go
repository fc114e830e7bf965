package analysis

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestALoadThatIsTooShortHasNoCourse: a document without numbers would be none.
func TestALoadThatIsTooShortHasNoCourse(t *testing.T) {
	in := shopUnderLoad()
	before := len(Analyse(in).Courses)
	for i := range in.Trials {
		if in.Trials[i].Valid && len(in.Trials[i].Course) > 0 {
			in.Trials[i].Course = []lab.Slice{{End: 0.1, OK: 3}}
			if after := len(Analyse(in).Courses); after != before-1 {
				t.Errorf("%d courses of %d trials with one and one that is too short", after, before-1)
			}
			return
		}
	}
	t.Fatal("no trial has a course")
}

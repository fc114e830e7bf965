package analysis

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestALoadThatIsTooShortHasNoCourse: a document without numbers would be none.
func TestALoadThatIsTooShortHasNoCourse(t *testing.T) {
	in := shopUnderLoad()
	trial := 0
	for !in.Trials[trial].Valid {
		trial++
	}
	in.Trials[trial].Course = []lab.Slice{{End: 0.1, OK: 3}}
	if found := Analyse(in).Courses; len(found) > 0 {
		t.Errorf("of a tenth of a second there is the course %+v", found)
	}
	in.Trials[trial].Course = []lab.Slice{{End: 1, OK: 3}, {End: 1.1, OK: 1}}
	if found := Analyse(in).Courses; len(found) != 1 || len(found[0].End) != 1 {
		t.Errorf("of a second there are the courses %+v", found)
	}
}

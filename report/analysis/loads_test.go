package analysis

import (
	"fmt"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestALoadThatIsTooShortHasNoCourse: it would have no points. The numbers of others have four digits.
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
	in.Trials[trial].Metered.Course = &lab.UsageCourse{End: []float64{1.00312, 2}, Cores: []float64{0.123456, 0},
		Memory: []int64{123456789, 5}}
	in.Trials[trial].Course = []lab.Slice{{End: 1, OK: 3}, {End: 1.1, OK: 1}}
	if found := Analyse(in).Courses; len(found) != 1 || len(found[0].End) != 1 {
		t.Errorf("of a second there are the courses %+v", found)
	} else if got := fmt.Sprint(*found[0].Used); got != "{[1.003 2] [0.1235 0] [123500000 5] map[]}" {
		t.Errorf("what the system used meanwhile is %s, want four digits", got)
	}
}

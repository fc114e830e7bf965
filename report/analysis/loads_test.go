package analysis

import (
	"encoding/json"
	"fmt"
	"strings"
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

// TestAVariantThatBrokeARuleIsInNoListOfTheLoad: neither is one whose twin broke it. Reports show these lists
// as they are.
func TestAVariantThatBrokeARuleIsInNoListOfTheLoad(t *testing.T) {
	lists := func(in Input) map[string]bool {
		a := Analyse(in)
		has := map[string]bool{}
		for name, list := range map[string]any{"comparisons": a.Comparisons, "ladder": a.Ladder, "held": a.Held,
			"steadiness": a.Steadiness, "curves": a.Curves, "spectra": a.Spectra, "usages": a.Usages,
			"sums": a.UsageSums, "paths": a.Paths, "courses": a.Courses, "searches": a.Searches,
			"operations": a.Operations, "pictures": a.Pictures, "platforms": a.Platforms, "statics": a.Statics} {
			text, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			has[name] = strings.Contains(string(text), `"variant":"monolith`)
		}
		return has
	}
	in := shopUnderLoad()
	before := lists(in)
	for _, name := range []string{"held", "curves", "spectra", "usages", "sums", "paths", "pictures"} {
		if !before[name] {
			t.Errorf("%s lack the variant that kept the rules", name)
		}
	}
	for _, breaker := range []string{"monolith", "monolith.twin"} {
		broken := shopUnderLoad()
		for i, trial := range broken.Trials {
			if trial.Variant == breaker && trial.Block == 2 {
				broken.Trials[i].Audit.Verdict = lab.AuditInvalid
			}
		}
		for name, has := range lists(broken) {
			if has {
				t.Errorf("%s broke a rule, and %s have monolith", breaker, name)
			}
		}
	}
}

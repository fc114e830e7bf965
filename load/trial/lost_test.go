package trial

import (
	"net/http"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestATrialOfASearchEndsWhenItIsLost: a target that fails every operation is not loaded for the whole time,
// but one that meets the objective is.
func TestATrialOfASearchEndsWhenItIsLost(t *testing.T) {
	limit := objective.MustParse("errors<=1%")
	for status, whole := range map[int]bool{http.StatusInternalServerError: false, http.StatusOK: true} {
		s := specFor(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		s.Load.Duration = scenario.Duration(3 * time.Second)
		o, err := prepare(t, s).playUntilLost(t.Context(), Hooks{}, limit)
		testset.Must(t, err)
		pass, _ := limit.Judge(&o.Summary)
		if pass != whole || (o.Report.Window == 3*time.Second) != whole {
			t.Errorf("status %d: passed %t after %v, want %t, and to play the whole time only then", status, pass,
				o.Report.Window, whole)
		}
	}
}

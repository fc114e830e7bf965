package deploytest

import (
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// replicas checks that each replica is a unit of its own, also with limits, and that callers get the
// addresses of all.
func replicas(t *testing.T, s *suite) {
	l := Layout("front", "stock")
	l.Units[2].Scalable = true
	scaled, err := lab.Variant{Replicas: map[string]int{"stock": 3},
		Limits: map[string]lab.Limits{"stock": {CPU: 0.5}}}.Scale(l)
	testset.Must(t, err)
	d := s.play(t, scaled)
	answers(t, d, "stock-3", "stock-3:1")
	reports := end(t, d)
	if want := `"front:1 stock:1 stock-2:1 stock-3:1"`; reports["lead"] != want {
		t.Errorf("the lead has heard %s from the others, want %s", reports["lead"], want)
	}
	if len(reports) != 5 {
		t.Errorf("%d units have reported, want 5: %v", len(reports), reports)
	}
}

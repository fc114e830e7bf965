package deploytest

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// reached checks that this host and the lead reach a unit at the kind of address that at says, and another
// one at its usual address.
func reached(t *testing.T, s *suite, at lab.Reach) {
	l := Layout("front", "stock")
	l.Units[1].Reached = at
	d := s.play(t, l)
	answers(t, d, "front", "front:1")
	if reports, want := end(t, d), `"front:1 stock:1"`; reports["lead"] != want {
		t.Errorf("the lead has heard %s from the others, want %s", reports["lead"], want)
	}
}

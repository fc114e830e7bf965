package deploytest

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// reached checks that this host and the lead reach front at an address of the given kind, and stock at its
// usual address.
func reached(t *testing.T, s *suite, kind lab.Reach) {
	l := Layout("front", "stock")
	l.Units[1].Reached = kind
	d := s.play(t, l)
	answers(t, d, "front", "front:1")
	if reports, want := end(t, d), `"front:1 stock:1"`; reports["lead"] != want {
		t.Errorf("the lead has heard %s from the others, want %s", reports["lead"], want)
	}
}

package deploytest

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// reached lets this host and the lead call two units: the first at the address that at names, the other at
// its usual one.
func reached(t *testing.T, s suite, at lab.Reach) {
	l := Layout("front", "stock")
	l.Units[1].Reached = at
	d := s.deploy(t, l)
	defer stop(t, d)
	job(t, d)
	answers(t, d, "front", "front:1")
	if reports, want := end(t, d), `"front:1 stock:1"`; reports["lead"] != want {
		t.Errorf("the lead has heard %s from the others, want %s", reports["lead"], want)
	}
}

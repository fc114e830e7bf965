package deploytest

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// reached has peers and this host call the first of two units at one of its addresses, the other as usual.
func reached(t *testing.T, s suite, at lab.Reach) {
	l := layout("front", "stock")
	l.Units[1].Reached = at
	d := s.deploy(t, l)
	defer stop(t, d)
	job(t, d)
	if answer := ask(t, d, "front"); answer != "front:1" {
		t.Errorf("from outside front says %q, want front:1", answer)
	}
	if reports, want := end(t, d), `"front:1 stock:1"`; reports["lead"] != want {
		t.Errorf("the lead has heard %s from the others, want %s", reports["lead"], want)
	}
}

package deploytest

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// reachedDirectly: peers and this host call a unit at its own address, and others as usual.
func reachedDirectly(t *testing.T, s suite) { reached(t, s, lab.ReachDirect) }

// reachedByItsNode: they call it at a port that its node has for it.
func reachedByItsNode(t *testing.T, s suite) { reached(t, s, lab.ReachPublished) }

// reached has the first of two units called at one of its addresses.
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

package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

// linked is a unit each on west, twice, and on east, that call the first of them.
func linked(t *testing.T) lab.Layout {
	t.Helper()
	l := onNodes(t)
	l.Units = append(l.Units, lab.UnitSpec{Name: "beside", Role: "beside", Args: []string{"unit", "listener"}, Listens: true, Node: "west"})
	for i := range l.Units {
		l.Units[i].Floats = ""
		if i > 1 {
			l.Units[i].Peers = []string{"left"}
		}
	}
	l.Links = map[string]lab.Network{"west": {Rate: 1e6, Delay: 0.02}, "east": {Rate: 2e6}}
	return l
}

// told is the address that a unit has of its peer left.
func told(t *testing.T, u lab.Unit) string {
	t.Helper()
	all, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", u.PID))
	if err != nil {
		t.Fatal(err)
	}
	for variable := range bytes.SplitSeq(all, []byte{0}) {
		if address, is := strings.CutPrefix(string(variable), lab.PeerVariable("left")+"="); is {
			return address
		}
	}
	t.Fatalf("%s does not know left", u.Name)
	return ""
}

// TestLinksOfHostsAreMadeAndProven: with a rate in both directions, and a delay before units that
// others call, but not those of the same host.
func TestLinksOfHostsAreMadeAndProven(t *testing.T) {
	d, _ := deploy(t, linked(t))
	proofs := d.(lab.Linked).Links()
	if west := proofs["west"]; !strings.Contains(west, " to it and ") || !strings.Contains(west, "1 bytes took 2") {
		t.Errorf("the proof of west is %q", west)
	}
	if east := proofs["east"]; !strings.Contains(east, " to it and ") || strings.Contains(east, ";") || len(proofs) != 2 {
		t.Errorf("the proofs are %q", proofs)
	}
	left, err := d.Endpoint("left")
	if err != nil || left.Bind == left.Dial {
		t.Errorf("left is at %+v, %v: nothing is before it", left, err)
	}
	units := d.Units()
	if far, beside := told(t, units[3]), told(t, units[4]); far != left.Dial || beside != left.Bind {
		t.Errorf("from east left is called at %s, from its own host at %s: want %+v", far, beside, left)
	}
}

// TestLinksThatCannotBeMadeAreRefused before anything starts.
func TestLinksThatCannotBeMadeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *lab.Layout)
		says   string
	}{
		"nobody calls it":  {func(l *lab.Layout) { l.Units[3].Listens = false; l.Links["east"] = lab.Network{Delay: 1} }, "nobody calls a unit on east"},
		"too slow":         {func(l *lab.Layout) { l.Links["east"] = lab.Network{Rate: 10} }, fmt.Sprintf("use %d or more", hosts.LeastRate)},
		"a further port":   {func(l *lab.Layout) { l.Units[2].Ports = []string{"more"} }, "unit left on west listens at more"},
		"a shared address": {func(l *lab.Layout) { l.Units[2].Floats = "both" }, "unit left on west listens at more"},
		"slowed, too":      {func(l *lab.Layout) { l.Units[2].Faults = []lab.FaultKind{lab.FaultSlow} }, "shall be slowed by a fault"},
	} {
		t.Run(name, func(t *testing.T) {
			l := linked(t)
			if err := checkLinks(l); err != nil {
				t.Fatal(err)
			}
			c.change(&l)
			if err := checkLinks(l); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("checkLinks: %v, want %q", err, c.says)
			}
		})
	}
}

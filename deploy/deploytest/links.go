package deploytest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// linked changes the link of a node: requests from elsewhere to its units arrive late, and those among its
// units do not, also after a restart. A unit that names no node is not on that node. The proof of the link
// has a measured rate and delay.
func linked(t *testing.T, s *suite) {
	if links := s.Can().Links; links == nil || links() != nil || os.Geteuid() != 0 {
		t.Skip("the links of hosts are not ours to change in this deployment")
	}
	for _, program := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v: type: apt-get install iproute2", err)
		}
	}
	l := Layout("front", "stock", "beside", "free")
	for i, node := range []string{"far", "near", "far", ""} {
		l.Units[1+i].Node = node
		if i > 0 {
			l.Units[1+i].Args, l.Units[1+i].Peers = []string{"timer", "front"}, []string{"front"}
		}
	}
	l.Links = map[string]lab.Network{"far": {Rate: 2e6, Delay: slowBy.Seconds()}}
	d := s.play(t, l)
	proofs := d.Links() // " to it and " comes from the probe of the rate
	if far := proofs["far"]; !strings.Contains(far, " to it and ") || !provesDelay(far) || len(proofs) != 1 {
		t.Errorf("the proofs are %q", proofs)
	}
	began := time.Now()
	if text, took := ask(t, d, "front"), time.Since(began); text != "front:1" || took < slowBy {
		t.Errorf("from outside front says %q after %v, want front:1 after %v", text, took, slowBy)
	}
	harm(t, d, "beside", lab.FaultKill)
	heal(t, d, "beside", lab.FaultKill)
	took := func(unit string) time.Duration { // until the unit has the answer of front
		took, err := time.ParseDuration(ask(t, d, unit))
		testset.Must(t, err)
		return took
	}
	for _, unit := range []string{"stock", "free"} {
		if late := took(unit); late < slowBy {
			t.Errorf("%s has the answer of front after %v, want %v or more", unit, late, slowBy)
		}
	}
	if beside := soonest(took, "beside"); beside >= promptly {
		t.Errorf("beside, on the node of front, has its answer after %v", beside)
	}
	if on := d.NodeOf; on("free") == on("front") {
		t.Errorf("free is on %q as front is, though the layout does not place it there", on("free"))
	}
}

// provesDelay reports whether, by the proof of a link, a byte took slowBy through its relay, or up to twice
// that: a busy machine adds to it.
func provesDelay(proof string) bool {
	_, after, found := strings.Cut(proof, "; 1 bytes took ")
	text, _, _ := strings.Cut(after, " through its relay")
	took, err := time.ParseDuration(text)
	return found && err == nil && took >= slowBy && took < 2*slowBy
}

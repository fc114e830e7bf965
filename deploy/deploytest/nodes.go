package deploytest

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// drained checks that the units of a drained node run elsewhere, with their data, and are reached at their
// new and at their former addresses, or that a deployer without this fault refuses it.
func drained(t *testing.T, s *suite) {
	storeLife := 3 // the life in which the store must be ready: its setup counts as two lives
	l := withStore(func(ctx context.Context, address string) error { return inLife(storeLife)(ctx, address) })
	l.Units = append(l.Units, Layout("stock", "views").Units[1:]...)
	nodes := s.nodesFor(lab.FaultDrain, lab.Layout{})
	if len(nodes) > 0 && slices.Contains(s.Can().Faults, lab.FaultFill) { // volumes that can be filled move, too
		l = l.PreparedFor([]lab.Fault{{Target: lab.EveryUnit, Kind: lab.FaultFill},
			{Target: "store", Kind: lab.FaultFill}})
	}
	d := s.play(t, l)
	if len(nodes) == 0 {
		refuses(t, d, lab.Fault{Target: "front", Kind: lab.FaultDrain}) // only a node can be drained
		return
	}
	on := d.NodeOf
	before := map[string]lab.Endpoint{}
	moved := ""
	for _, name := range []string{"front", "stock", "views", "store"} {
		before[name], _ = d.Endpoint(name) // without an endpoint there is no answer below
		if node := on(name); node != on("lead") && slices.Contains(nodes, node) {
			moved = name
		}
	}
	if moved == "" {
		t.Fatalf("no unit is on %q", nodes)
	}
	node := on(moved)
	if on("store") == node {
		storeLife++
	}
	harm(t, d, node, lab.FaultDrain)
	for name, endpoint := range before {
		if on(name) == node {
			t.Errorf("%s is still on %s", name, node)
		}
		if answerAt(endpoint, soon) == "" || ask(t, d, name) == "" {
			t.Errorf("%s, now on %s, is not reached at %s", name, on(name), endpoint.Dial)
		}
	}
	life := ":2"
	if moved == "store" {
		life = ":" + strconv.Itoa(storeLife)
	}
	if text := ask(t, d, moved); !strings.HasSuffix(text, life) {
		t.Errorf("%s says %q, want the number of its next life, %s: it keeps its data", moved, text, life)
	}
	heal(t, d, node, lab.FaultDrain)
	goesOn(t, d)
}

// updated checks that an update replaces a replica by a new process that finds the data of the former life.
func updated(t *testing.T, s *suite) {
	l := Layout("front", "stock")
	l.Units[2].Scalable = true
	scaled, err := lab.Variant{Replicas: map[string]int{"stock": 2}}.Scale(l)
	testset.Must(t, err)
	d := s.play(t, scaled)
	if !slices.Contains(s.Can().Faults, lab.FaultUpdate) {
		refuses(t, d, lab.Fault{Target: "stock", Kind: lab.FaultUpdate})
		return
	}
	before := d.Units()
	for i, name := range []string{"stock", "stock-2"} {
		harm(t, d, name, lab.FaultUpdate)
		heal(t, d, name, lab.FaultUpdate)
		answers(t, d, name, name+":2")
		if after := d.Units(); after[2+i].PID == before[2+i].PID || after[2+i].PID == 0 ||
			after[1].PID != before[1].PID {
			t.Errorf("after the update of %s there are %+v, before %+v", name, after, before)
		}
	}
	if reports := end(t, d); len(reports) != 4 {
		t.Errorf("%d units have reported, want 4: %v", len(reports), reports)
	}
}

// nodesFor returns the nodes to which a fault can be done and on which the layout places no unit.
func (s *suite) nodesFor(kind lab.FaultKind, l lab.Layout) (names []string) {
	l, err := l.On(s.Deployer)
	if err != nil {
		return nil
	}
	for _, n := range l.Nodes {
		if slices.Contains(n.Faults, kind) && len(n.Pinned) == 0 {
			names = append(names, n.Name)
		}
	}
	return names
}

// lost checks that the platform notices that a node was killed, and that the node's units run again when it
// is back, even if another node is lost then.
func lost(t *testing.T, s *suite) {
	nodes := s.nodesFor(lab.FaultKill, lab.Layout{})
	if len(nodes) == 0 {
		t.Skip("no node can be killed in this deployment")
	}
	l := Layout("front", "stock")
	l.Units[2].Node = nodes[0]
	if slices.Contains(s.Can().Faults, lab.FaultFill) { // a volume that can be filled must come back, too
		l = l.PreparedFor([]lab.Fault{{Target: "stock", Kind: lab.FaultFill}})
	}
	d := s.play(t, l)
	harm(t, d, nodes[0], lab.FaultKill)
	endpoint, _ := d.Endpoint("stock") // it may have none now
	expect(t, endpoint, silence, "", "stock, on a lost node,")
	if at := d.Noticed(nodes[0]); at != 0 {
		t.Errorf("the platform noticed the loss after %v, sooner than it can", at)
	}
	for ctx := Within(t); d.Noticed(nodes[0]) == 0 && ctx.Err() == nil; {
		time.Sleep(100 * time.Millisecond) // it takes long to change
	}
	at := d.Noticed(nodes[0])
	if at < time.Second {
		t.Errorf("that a node is lost was noticed after %v", at)
	}
	t.Logf("a lost node was noticed after %v", at)
	others := nodes[1:]
	for _, other := range others {
		harm(t, d, other, lab.FaultKill)
	}
	heal(t, d, nodes[0], lab.FaultKill)
	answers(t, d, "stock", "stock:2")
	for _, other := range others {
		heal(t, d, other, lab.FaultKill)
	}
	goesOn(t, d)
	end(t, d)
}

// pinned checks that a node on which the layout places a unit cannot be drained.
func pinned(t *testing.T, s *suite) {
	nodes := s.nodesFor(lab.FaultDrain, lab.Layout{})
	if len(nodes) == 0 {
		t.Skip("no node can be drained in this deployment")
	}
	l := Layout("front")
	l.Units[1].Node = nodes[0]
	if slices.Contains(s.nodesFor(lab.FaultDrain, l), nodes[0]) {
		t.Errorf("%s can be drained, though the layout wants front there", nodes[0])
	}
	d := s.play(t, l)
	refuses(t, d, lab.Fault{Target: nodes[0], Kind: lab.FaultDrain}, "drain node "+nodes[0], "front")
	answers(t, d, "front", "front:1")
}

// linked changes the link of a node: requests from elsewhere to its units arrive late, and those among its
// units do not, also after a restart. A unit that names no node is not on that node. The proof of the link
// has a measured rate and delay.
func linked(t *testing.T, s *suite) {
	links := s.Can().Links
	mayChange := links != nil && links() == nil
	if !mayChange || os.Geteuid() != 0 {
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
			l.Units[1+i].Args = []string{"timer", "front"}
			l.Units[1+i].Peers = []string{"front"}
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

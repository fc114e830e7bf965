package deploytest

import (
	"context"
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
	before, moved := map[string]lab.Endpoint{}, ""
	for _, name := range []string{"front", "stock", "views", "store"} {
		before[name], _ = d.Endpoint(name) // without an endpoint there is no answer below
		if slices.Contains(nodes, on(name)) && on("lead") != on(name) {
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

package containers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// TestWhatMayBeDoneToNodes, and which of the units there may end for it.
func TestWhatMayBeDoneToNodes(t *testing.T) {
	lead, free, placed := lab.UnitSpec{Name: "lead", Node: "one"}, lab.UnitSpec{Name: "free"},
		lab.UnitSpec{Name: "placed", Node: "two"}
	alone, sharing := Trial{}, Trial{Memory: "/memory"}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"a pause":              {CheckNode(lab.Fault{Kind: lab.FaultPause}), "[cut kill drain]"},
		"a cut":                {CheckNode(lab.Fault{Kind: lab.FaultCut, Heal: 30}), ""},
		"a cut for too long":   {CheckNode(lab.Fault{Kind: lab.FaultCut, Heal: 31}), "31 s are longer than 30s"},
		"a kill for as long":   {CheckNode(lab.Fault{Kind: lab.FaultKill, Heal: 70}), ""},
		"the lead moves":       {alone.MayMove(lead, "lead"), "unit lead leads the trial"},
		"the lead ends":        {alone.MayRestart(lead, "lead"), "unit lead leads the trial"},
		"a unit moves":         {alone.MayMove(free, "lead"), ""},
		"a placed one moves":   {alone.MayMove(placed, "lead"), "the layout wants unit placed on two"},
		"a placed one ends":    {alone.MayRestart(placed, "lead"), ""},
		"one that shares ends": {sharing.MayRestart(free, "lead"), "unit free shares memory"},
		"where units are pinned": {errors.New(fmt.Sprint(Nodes([]string{"a", "b"}, []lab.UnitSpec{free, placed},
			map[string]string{"two": "b"})[1].Pinned)), "[placed]"},
		"where no unit is pinned": {errors.New(fmt.Sprint(Nodes([]string{"a", "b"}, []lab.UnitSpec{free, placed},
			map[string]string{"two": "b"})[0].Pinned)), "[]"},
	} {
		if c.says == "" && c.err != nil || c.says != "" &&
			(c.err == nil || !strings.Contains(c.err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, c.err, c.says)
		}
	}
}

// TestPlaces: a node of the layout is that of its name, or another that nobody has, and where links
// are changed units without a node have one whose link is not.
func TestPlaces(t *testing.T) {
	names, changed := []string{"a", "b"}, lab.Network{Rate: 1e6}
	on := func(nodes ...string) (specs []lab.UnitSpec) {
		for _, node := range nodes {
			specs = append(specs, lab.UnitSpec{Name: "on-" + node, Node: node})
		}
		return specs
	}
	for name, c := range map[string]struct {
		specs []lab.UnitSpec
		links map[string]lab.Network
		want  string
	}{
		"by name, or the next":  {on("x", "", "a", "x"), nil, "map[a:a x:b] <nil>"},
		"one that nobody has":   {on("x", ""), map[string]lab.Network{"x": changed}, "map[:b x:a] <nil>"},
		"one that is as it was": {on("x", "y", ""), map[string]lab.Network{"x": changed}, "map[:b x:a y:b] <nil>"},
		"everybody has a node": {on("x", "y"), map[string]lab.Network{"x": changed, "y": changed},
			"map[x:a y:b] <nil>"},
		"no link is as it was": {on("x", "y", ""), map[string]lab.Network{"x": changed, "y": changed},
			"map[] hosts: unit on- is on no node, and the links of all 2 (a, b) are changed: name one for it"},
		"more nodes than can be": {on("x", "y", "z"), nil,
			"map[] unit on-z is on z, and the layout names more nodes than the 2 that there are: a, b"},
	} {
		if places, err := Places(names, c.specs, c.links); fmt.Sprint(places, " ", err) != c.want {
			t.Errorf("%s: %v %v, want %s", name, places, err, c.want)
		}
	}
}

// TestALossIsNoticedUntilItIsFound: what is said later is of the node that is back.
func TestALossIsNoticedUntilItIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Losses
		var down atomic.Bool
		asked := func(context.Context) (bool, error) { return down.Load(), nil }
		l.Watch(t.Context(), "a", asked)
		l.Watch(t.Context(), "b", asked)
		time.Sleep(20 * time.Second)
		l.Found("b")
		time.Sleep(20 * time.Second)
		down.Store(true)
		time.Sleep(time.Second)
		if a := l.Noticed("a"); a < 40*time.Second || a > 40*time.Second+watchInterval {
			t.Errorf("it was noticed after %v, want 40 s", a)
		}
		if b, c := l.Noticed("b"), l.Noticed("c"); b != 0 || c != 0 {
			t.Errorf("nodes that were there were missed after %v, %v", b, c)
		}
	})
}

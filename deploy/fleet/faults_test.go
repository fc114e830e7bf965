package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// harmed returns a fleet on a platform that can do faults, with a lead, the unit front and the server db.
// change may change the platform.
func harmed(t *testing.T, change func(*Platform[*life])) *recorded {
	t.Helper()
	layout := lab.Layout{Lead: "lead", Units: []lab.UnitSpec{{Name: "lead"}, {Name: "front"},
		{Name: "db", Runnable: lab.Runnable{Foreign: true, Server: &lab.Server{Kind: "mariadb"}}}}}
	p := Platform[*life]{Name: "stage", Faults: []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause,
		lab.FaultSlow, lab.FaultUpdate}}
	p.Describe = func(l *life) string { return "life of " + l.Spec.Name }
	if change != nil {
		change(&p)
	}
	b := newRecorded(t, layout, p)
	for _, spec := range layout.Units {
		b.Add(&life{NewUnit(spec), b})
	}
	return b
}

// refuse makes a platform refuse all faults of units.
func refuse(p *Platform[*life]) {
	p.Refuse = func(*life) error { return errors.New("it is another's") }
}

// doHarm does a fault that is to last for some seconds. It expects a proof or an error.
func (b *recorded) doHarm(t *testing.T, target string, kind lab.FaultKind, seconds float64) error {
	t.Helper()
	proof, err := b.Harm(t.Context(), lab.Fault{Target: target, Kind: kind, Heal: seconds})
	if (proof == "") != (err != nil) {
		t.Errorf("%s of %s: %q, %v: want a proof or an error", kind, target, proof, err)
	}
	return err
}

// faultStep does or heals a fault. says is in its error; "" for none.
type faultStep struct {
	isHeal bool
	target string
	kind   lab.FaultKind
	says   string
}

// play plays the step and returns its error.
func (s faultStep) play(t *testing.T, b *recorded) error {
	t.Helper()
	if s.isHeal {
		return b.Heal(t.Context(), lab.Fault{Target: s.target, Kind: s.kind})
	}
	return b.doHarm(t, s.target, s.kind, 0)
}

// TestFaultsOfUnits checks that each fault is done once and healed once, and is otherwise refused with the
// reason.
func TestFaultsOfUnits(t *testing.T) {
	share := func(p *Platform[*life]) { p.SharesMemory = true }
	const harms, heals = false, true
	for name, c := range map[string]struct {
		change func(*Platform[*life])
		steps  []faultStep
		did    string
	}{
		"killed": {nil, []faultStep{{harms, "front", lab.FaultKill, ""}, {heals, "front", lab.FaultKill, ""}},
			"kill front, next front false, start front, open front"},
		"killed twice": {nil, []faultStep{{harms, "front", lab.FaultKill, ""},
			{harms, "front", lab.FaultKill, "kill unit front: it has ended"},
			{harms, "front", lab.FaultPause, "pause unit front: it has ended"}}, "kill front"},
		"paused": {nil, []faultStep{{harms, "db", lab.FaultPause, ""},
			{harms, "db", lab.FaultPause, "it has the fault pause already"}, {heals, "db", lab.FaultPause, ""},
			{heals, "db", lab.FaultPause, "heal db after pause: it has no such fault"}}, "pause db, resume db"},
		"killed while it is paused": {nil, []faultStep{{harms, "db", lab.FaultPause, ""},
			{harms, "db", lab.FaultKill, "it has the fault pause already: let this one begin after that is healed"},
			{heals, "db", lab.FaultPause, ""}, {harms, "db", lab.FaultKill, ""}}, "pause db, resume db, kill db"},
		"updated": {func(p *Platform[*life]) {
			p.Vacate = func(_ context.Context, l *life) error { close(l.Ended); return nil }
		}, []faultStep{{harms, "front", lab.FaultUpdate, ""}, {heals, "front", lab.FaultUpdate, ""}},
			"next front true, start front, open front"},
		"never harmed": {nil, []faultStep{{heals, "front", lab.FaultKill, "it has no such fault"},
			{heals, "front", lab.FaultSlow, "it has no such fault"}}, ""},
		"nobody": {nil, []faultStep{{harms, "ghost", lab.FaultKill, `there is no unit "ghost"`},
			{heals, "ghost", lab.FaultPause, "it has no such fault"}}, ""},
		"the lead": {nil, []faultStep{{harms, "lead", lab.FaultPause, "pause unit lead: it leads the trial"}}, ""},
		"what it cannot": {nil, []faultStep{{harms, "front", lab.FaultFill,
			"the deployment stage can do only these to a unit: [kill restart pause slow update]"}}, ""},
		"not ready for it": {nil, []faultStep{{harms, "front", lab.FaultSlow, "has no relay"}}, ""},
		"shared memory": {share, []faultStep{{harms, "front", lab.FaultUpdate, "it shares memory"},
			{harms, "front", lab.FaultPause, ""}}, "pause front"},
		"another's": {refuse, []faultStep{
			{harms, "front", lab.FaultPause, "pause unit front: it is another's"}}, ""},
		"still there": {func(p *Platform[*life]) {
			p.Gone = func(context.Context, *life) error { return errors.New("process 7 still runs") }
		}, []faultStep{{harms, "front", lab.FaultKill, "kill unit front: process 7 still runs"}}, "kill front"},
	} {
		t.Run(name, func(t *testing.T) {
			b := harmed(t, c.change)
			for _, s := range c.steps {
				err := s.play(t, b)
				if (err == nil) != (s.says == "") || err != nil && !strings.Contains(err.Error(), s.says) {
					t.Errorf("%+v: %v", s, err)
				}
			}
			if did := strings.Join(b.noted, ", "); did != c.did {
				t.Errorf("it did %q, want %q", did, c.did)
			}
			if err := b.Failure(); err != nil {
				t.Errorf("the trial has failed: %v", err)
			}
		})
	}
}

// TestAFailedKillSparesAUnit checks that the end of a unit that could not be killed still fails the trial.
func TestAFailedKillSparesAUnit(t *testing.T) {
	b := harmed(t, nil)
	b.refuse = "kill front"
	if err := b.doHarm(t, "front", lab.FaultKill, 0); err == nil {
		t.Fatal("it was killed")
	}
	front := b.Named("front")
	b.JudgeEnd(front.Unit, errors.New("exit status 3"))
	close(front.Ended)
	deploytest.Says(t, b.Failure(), "unit front ended: exit status 3")
}

// TestAFailedPauseIsUndone checks that a unit goes on that was stopped in part.
func TestAFailedPauseIsUndone(t *testing.T) {
	b := harmed(t, nil)
	b.refuse = "pause front"
	deploytest.Says(t, b.doHarm(t, "front", lab.FaultPause, 1), "pause unit front: refused")
	if did := strings.Join(b.noted, ", "); did != "pause front, resume front" {
		t.Errorf("it did %q, want that the pause is undone", did)
	}
}

// host is a node of these tests that notes its calls.
type host struct{ fleet *recorded }

// slowHost is a host that calls during while it is killed.
type slowHost struct {
	host
	during func()
}

func (h slowHost) Kill(ctx context.Context) error {
	h.during()
	return h.host.Kill(ctx)
}

func (h host) Link(_ context.Context, up bool) error { return h.fleet.note(fmt.Sprint("link ", up)) }
func (h host) Kill(context.Context) error            { return h.fleet.note("kill node") }
func (h host) Boot(context.Context) error            { return h.fleet.note("boot node") }

// onNodes returns the fleet of harmed on nodes: the lead is on west, the others are on east. change may
// change the platform.
func onNodes(t *testing.T, change func(*Platform[*life])) *recorded {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	address := listener.Addr().String()
	t.Cleanup(func() { _ = listener.Close() })
	var b *recorded
	b = harmed(t, func(p *Platform[*life]) {
		p.NodeOf = func(l *life) string {
			return map[string]string{"lead": "west", "front": "east", "db": "east"}[l.Spec.Name]
		}
		p.Nodes = Nodes[*life]{
			Stay:   true,
			Faults: []lab.FaultKind{lab.FaultCut, lab.FaultKill, lab.FaultDrain}, LongestCut: 30 * time.Second,
			Named: func(name string) Node {
				if name == "east" || name == "west" {
					return host{b}
				}
				return nil
			},
			// east never answers, since nothing connects to a broadcast address; west always does.
			Probe: func(name string) string {
				return map[string]string{"east": "255.255.255.255:9", "west": address}[name]
			},
			Perished: func(_ context.Context, l *life) error {
				close(l.Ended)
				return nil
			},
			Close: func(_ context.Context, _ string, closed bool) error {
				return b.note(fmt.Sprint("close ", closed))
			},
			Evict: func(_ context.Context, l *life) error {
				close(l.Ended)
				return nil
			},
			AwaitEmpty: func(context.Context, string) error { return b.note("empty") },
		}
		if change != nil {
			change(p)
		}
	})
	return b
}

// TestFaultsOfNodes checks that the units of a node are started again, servers first, and that a node is
// refused if it has the lead or a unit that cannot be started again.
func TestFaultsOfNodes(t *testing.T) {
	const again = "next db true, start db, open db, next front true, start front, open front"
	for name, c := range map[string]struct {
		change func(*Platform[*life])
		node   string
		kind   lab.FaultKind
		lasts  float64
		says   string
		did    string
	}{
		"cut":              {nil, "east", lab.FaultCut, 30, "", "link false, link true, open front, open db"},
		"killed":           {nil, "east", lab.FaultKill, 70, "", "kill node, boot node, " + again},
		"emptied":          {nil, "east", lab.FaultDrain, 1, "", "close true, " + again + ", empty, close false"},
		"cut for too long": {nil, "east", lab.FaultCut, 31, "cut node east: 31 s are longer than 30s", ""},
		"another fault":    {nil, "east", lab.FaultPause, 1, "only these can be done to a node", ""},
		"the lead's":       {nil, "west", lab.FaultCut, 1, "unit lead leads the trial from there", ""},
		"shared memory": {func(p *Platform[*life]) { p.SharesMemory = true }, "east", lab.FaultKill, 1,
			"unit front shares memory", ""},
		"another's": {refuse, "east", lab.FaultDrain, 1, "unit front: it is another's", ""},
		"still reached": {func(p *Platform[*life]) {
			nodeOf := p.NodeOf // the lead would be on west, and have the fault refused
			p.NodeOf = func(l *life) string { return strings.Replace(nodeOf(l), "west", "", 1) }
		}, "west", lab.FaultCut, 1, "still answers", "link false, link true"},
	} {
		t.Run(name, func(t *testing.T) {
			b := onNodes(t, c.change)
			err := b.doHarm(t, c.node, c.kind, c.lasts)
			if err == nil {
				err = b.Heal(t.Context(), lab.Fault{Target: c.node, Kind: c.kind})
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if did := strings.Join(b.noted, ", "); did != c.did {
				t.Errorf("it did %q, want %q", did, c.did)
			}
			if err := b.Failure(); err != nil {
				t.Errorf("the trial has failed: %v", err)
			}
		})
	}
}

// TestANodeHasAFaultOnce checks that a node that has a fault is refused the same fault: the first heal would
// end both.
func TestANodeHasAFaultOnce(t *testing.T) {
	b := onNodes(t, nil)
	testset.Must(t, b.doHarm(t, "east", lab.FaultKill, 1))
	deploytest.Says(t, b.doHarm(t, "east", lab.FaultKill, 1), "kill node east: it has the fault kill already")
	if did := strings.Join(b.noted, ", "); did != "kill node" {
		t.Errorf("it did %q, want one kill", did)
	}
}

// TestANodeHasAFaultFromItsBeginning checks that a node that is being killed is not killed a second time.
func TestANodeHasAFaultFromItsBeginning(t *testing.T) {
	var b *recorded
	var second error
	begun := false
	again := func() {
		if !begun {
			begun = true
			second = b.doHarm(t, "east", lab.FaultKill, 1)
		}
	}
	b = onNodes(t, func(p *Platform[*life]) {
		p.Nodes.Named = func(string) Node { return slowHost{host{b}, again} }
	})
	testset.Must(t, b.doHarm(t, "east", lab.FaultKill, 1))
	deploytest.Says(t, second, "it has the fault kill already")
}

// TestAUnitHasAFaultFromItsBeginning checks that a unit that is being updated is not updated a second time.
func TestAUnitHasAFaultFromItsBeginning(t *testing.T) {
	var b *recorded
	var second error
	begun := false
	b = harmed(t, func(p *Platform[*life]) {
		p.Vacate = func(_ context.Context, l *life) error {
			if !begun {
				begun = true
				second = b.doHarm(t, "front", lab.FaultUpdate, 0)
			}
			close(l.Ended)
			return nil
		}
	})
	testset.Must(t, b.doHarm(t, "front", lab.FaultUpdate, 0))
	deploytest.Says(t, second, "it has the fault update already")
}

// TestACutAndAKillOfANode checks that neither begins before the other is healed: the boot of a killed node
// would connect it, and its loss would be watched twice.
func TestACutAndAKillOfANode(t *testing.T) {
	b := onNodes(t, nil)
	for _, kinds := range [][2]lab.FaultKind{{lab.FaultCut, lab.FaultKill}, {lab.FaultKill, lab.FaultCut}} {
		testset.Must(t, b.doHarm(t, "east", kinds[0], 1))
		deploytest.Says(t, b.doHarm(t, "east", kinds[1], 1), "it has the fault "+string(kinds[0])+" already")
		testset.Must(t, b.Heal(t.Context(), lab.Fault{Target: "east", Kind: kinds[0]}))
	}
}

// TestACutWithoutAProofIsUndone checks that a unit that still answers is connected again.
func TestACutWithoutAProofIsUndone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	defer func() { _ = listener.Close() }()
	var b *recorded
	b = harmed(t, func(p *Platform[*life]) {
		p.Faults = append(p.Faults, lab.FaultCut)
		p.Cut = func(_ context.Context, _ *life, off bool) error { return b.note(fmt.Sprint("cut ", off)) }
	})
	b.platform.Reach = func(string) string { return listener.Addr().String() }
	deploytest.Says(t, b.doHarm(t, "front", lab.FaultCut, 1), "still answers")
	if b.Has("front", lab.FaultCut) {
		t.Error("it is noted as cut off")
	}
	if did := strings.Join(b.noted, ", "); did != "cut true, cut false" {
		t.Errorf("it did %q, want that the cut is undone", did)
	}
}

// TestANodeThatWasNotTouchedHasNoFault checks that a fault that failed before anything was done to its node
// can be tried again, and that Stop heals nodes that were harmed in part.
func TestANodeThatWasNotTouchedHasNoFault(t *testing.T) {
	b := onNodes(t, nil)
	close(b.Named("front").Ended)
	for _, kind := range []lab.FaultKind{lab.FaultKill, lab.FaultDrain, lab.FaultKill, lab.FaultDrain} {
		deploytest.Says(t, b.doHarm(t, "east", kind, 1), "unit front has ended before it was killed")
	}
	deploytest.NoError(t, b.Stop())
	if !slices.Equal(b.noted, []string{"clear"}) {
		t.Errorf("it did %q, want only the clean-up", b.noted)
	}
	for kind, calls := range map[lab.FaultKind][]string{lab.FaultCut: {"link false", "link true"},
		lab.FaultKill: {"kill node", "boot node"}, lab.FaultDrain: {"close true", "close false"}} {
		b := onNodes(t, nil)
		b.refuse = calls[0]
		deploytest.Says(t, b.doHarm(t, "east", kind, 1), "refused")
		deploytest.NoError(t, b.Stop())
		if !slices.Equal(b.noted, append(calls, "clear")) {
			t.Errorf("%s: it did %q, want %q", kind, b.noted, calls)
		}
	}
}

// TestANodeIsLeftAsItWas checks that Stop heals nodes, which the next trial uses again.
func TestANodeIsLeftAsItWas(t *testing.T) {
	for kind, want := range map[lab.FaultKind]string{lab.FaultCut: "link true", lab.FaultKill: "boot node",
		lab.FaultDrain: "close false"} {
		b := onNodes(t, nil)
		testset.Must(t, b.doHarm(t, "east", kind, 1))
		b.noted = nil
		for range 2 { // the second Stop must do nothing
			deploytest.NoError(t, b.Stop())
		}
		if !slices.Equal(b.noted, []string{want, "clear"}) {
			t.Errorf("after %s it did %q, want %q", kind, b.noted, want)
		}
	}
}

// TestAUnitNamedLikeANode checks that Stop leaves a node alone if the fault is that of a unit of its name.
func TestAUnitNamedLikeANode(t *testing.T) {
	var b *recorded
	b = onNodes(t, func(p *Platform[*life]) {
		p.Nodes.Named = func(string) Node { return host{b} }
		p.Nodes.Lost = func(context.Context, string) (bool, error) { return false, nil }
	})
	testset.Must(t, b.doHarm(t, "front", lab.FaultPause, 1))
	deploytest.NoError(t, b.Stop())
	if did := strings.Join(b.noted, ", "); did != "pause front, clear" {
		t.Errorf("it did %q, want nothing to the node", did)
	}
}

// TestANodeWithUnitsThatHaveEnded checks that a node can have faults where a unit has finished its work,
// which is not started again, and that the end of a cut does not wait for a unit that was killed meanwhile.
func TestANodeWithUnitsThatHaveEnded(t *testing.T) {
	for kind, want := range map[lab.FaultKind]string{lab.FaultCut: "link false, link true, open db",
		lab.FaultKill:  "kill node, boot node, next db true, start db, open db",
		lab.FaultDrain: "close true, next db true, start db, open db, empty, close false"} {
		b := onNodes(t, nil)
		front := b.Named("front")
		front.Spec.Container = &lab.ContainerSpec{}
		close(front.Ended)
		testset.Must(t, b.doHarm(t, "east", kind, 1))
		testset.Must(t, b.Heal(t.Context(), lab.Fault{Target: "east", Kind: kind}))
		if did := strings.Join(b.noted, ", "); did != want {
			t.Errorf("%s: it did %q, want %q", kind, did, want)
		}
	}
	b := onNodes(t, nil)
	testset.Must(t, b.doHarm(t, "east", lab.FaultCut, 1))
	testset.Must(t, b.doHarm(t, "front", lab.FaultKill, 9))
	testset.Must(t, b.Heal(t.Context(), lab.Fault{Target: "east", Kind: lab.FaultCut}))
	if did := strings.Join(b.noted, ", "); did != "link false, kill front, link true, open db" {
		t.Errorf("it did %q, want that it does not wait for front", did)
	}
}

// TestALossIsNoticedUntilItIsFound checks that a later report of the platform is not taken for the loss of
// a node that is back.
func TestALossIsNoticedUntilItIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l losses
		var down atomic.Bool
		isLost := func(context.Context) (bool, error) { return down.Load(), nil }
		l.watch(t.Context(), "a", isLost)
		l.watch(t.Context(), "b", isLost)
		time.Sleep(20 * time.Second)
		l.found("b")
		time.Sleep(20 * time.Second)
		down.Store(true)
		time.Sleep(time.Second)
		if a := l.noticedAfter("a"); a < 40*time.Second || a > 40*time.Second+watchInterval {
			t.Errorf("it was noticed after %v, want 40 s", a)
		}
		if b, c := l.noticedAfter("b"), l.noticedAfter("c"); b != 0 || c != 0 {
			t.Errorf("nodes that are not lost were noticed after %v, %v", b, c)
		}
	})
}

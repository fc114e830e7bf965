package fleet

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// answered returns a starter that answers everything with a text, and what it was asked.
func answered(text string, asked *string) *Starter {
	return NewStarter(lab.UnitSpec{Faults: []lab.FaultKind{lab.FaultKill}},
		func(context.Context) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				from := bufio.NewReader(there)
				token, _ := from.ReadString('\n')
				what, _ := from.ReadString('\n')
				*asked = token + what
				_, _ = io.WriteString(there, text)
				_ = there.Close()
			}()
			return here, nil
		})
}

// TestHarmByTheStarter: what it says is the proof, and where it says no or nothing the life of the
// unit is not over.
func TestHarmByTheStarter(t *testing.T) {
	ready := lab.UnitSpec{Name: "stock", Faults: []lab.FaultKind{lab.FaultKill}}
	unreached := NewStarter(ready, func(context.Context) (net.Conn, error) { return nil, errors.New("no way") })
	var asked string
	for name, c := range map[string]struct {
		starter           *Starter
		kind              lab.FaultKind
		asks, proof, says string
	}{
		"killed": {answered(lab.StarterDone+"3 ended\n", &asked), lab.FaultKill, lab.StarterEnd, "3 ended",
			""},
		"restarted": {answered(lab.StarterDone+"3 ended\n", &asked), lab.FaultRestart, lab.StarterEnd, "3 ended",
			""},
		"paused": {answered(lab.StarterDone+"3 stopped\n", &asked), lab.FaultPause, lab.StarterStop,
			"3 stopped", ""},
		"refused": {answered("they do not end\n", &asked), lab.FaultKill, lab.StarterEnd, "",
			"they do not end"},
		"gone": {answered("", &asked), lab.FaultKill, lab.StarterEnd, "",
			"does not say whether it did end"},
		"out of reach": {unreached, lab.FaultPause, "", "", "reach the first process of its container: no way"},
		"not ready": {NewStarter(lab.UnitSpec{}, nil), lab.FaultKill, "", "",
			"kill unit stock: it was not made ready for faults"},
		"no such": {unreached, lab.FaultCut, "", "",
			"cut unit stock: it needs powers on the nodes of production that Cleave does not have"},
	} {
		asked = ""
		u := NewUnit(ready)
		fault := lab.Fault{Target: u.Spec.Name, Kind: c.kind}
		proof, err := c.starter.Harm(t.Context(), NewSupervisor(lab.Layout{}, ""), u, fault, "production",
			func() { close(u.Ended) })
		if proof != c.proof || (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v, want %q, %q", name, proof, err, c.proof, c.says)
		}
		if c.asks != "" && asked != c.starter.token+"\n"+c.asks+"\n" {
			t.Errorf("%s: it was asked %q", name, asked)
		}
		select {
		case <-u.Ended:
			if err != nil || c.kind == lab.FaultPause {
				t.Errorf("%s: its life is over", name)
			}
		default:
		}
	}
}

// TestHealByTheStarter: a pause ends in the same life; only a unit that was ended on purpose lives
// again. The lead of a trial has no fault.
func TestHealByTheStarter(t *testing.T) {
	var asked string
	starter := answered(lab.StarterDone+"3 go on\n", &asked)
	units, u := NewSupervisor(lab.Layout{Lead: "lead"}, ""), NewUnit(lab.UnitSpec{Name: "stock"})
	lives := 0
	again := func() error {
		lives++
		if lives > 1 {
			return errors.New("no room")
		}
		return nil
	}
	heal := func(kind lab.FaultKind, want string) {
		t.Helper()
		err := starter.Heal(t.Context(), units, u, lab.Fault{Target: "stock", Kind: kind}, again)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
	heal(lab.FaultPause, "")
	if lives != 0 || asked != starter.token+"\n"+lab.StarterContinue+"\n" {
		t.Errorf("after a pause: %d lives, asked %q", lives, asked)
	}
	heal(lab.FaultKill, `unit "stock" was not killed`)
	if err := units.Doom(u); err != nil {
		t.Fatal(err)
	}
	heal(lab.FaultKill, "")
	heal(lab.FaultRestart, "start unit stock again: no room")
	_, err := starter.Harm(t.Context(), units, u, lab.Fault{Target: "lead", Kind: lab.FaultKill}, "production",
		nil)
	if err == nil || !strings.Contains(err.Error(), "leads the trial") {
		t.Errorf("a fault of the lead: %v", err)
	}
}

// TestAgainWaitsAsLongAsTheUnitMayTake: not as long as a server may.
func TestAgainWaitsAsLongAsTheUnitMayTake(t *testing.T) {
	var asked string
	starter := answered(lab.StarterDone+"started\n", &asked)
	shown := lab.Readiness{Log: "is up", Within: 300 * time.Millisecond}
	u := NewUnit(lab.UnitSpec{Name: "stock", Readiness: shown})
	connect := func(ctx context.Context) error {
		if end, bound := ctx.Deadline(); !bound || time.Until(end) > time.Second {
			t.Errorf("its deadline is %v", end)
		}
		return nil
	}
	err := starter.Again(t.Context(), u, connect, "", func(string) string { return "" })
	if err == nil || !strings.Contains(err.Error(), "not ready after 300ms") {
		t.Errorf("%v, want that it is not ready in its time", err)
	}
}

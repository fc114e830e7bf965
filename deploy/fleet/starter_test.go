package fleet

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// answered returns a starter whose first process answers every command with a text. asked receives the last
// token and command.
func answered(text string, asked *string) *Starter {
	return NewStarter(lab.UnitSpec{Lifecycle: lab.Lifecycle{Faults: []lab.FaultKind{lab.FaultKill}}},
		func(context.Context) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				from := bufio.NewReader(there)
				token, _ := from.ReadString('\n')
				command, _ := from.ReadString('\n')
				*asked = token + command
				_, _ = io.WriteString(there, text)
				_ = there.Close()
			}()
			return here, nil
		})
}

// TestTell checks that the answer is the proof, and that a refusal, or no answer, is an error.
func TestTell(t *testing.T) {
	unreached := NewStarter(lab.UnitSpec{Lifecycle: lab.Lifecycle{Faults: []lab.FaultKind{lab.FaultKill}}},
		func(context.Context) (net.Conn, error) { return nil, errors.New("no way") })
	var asked string
	for name, c := range map[string]struct {
		starter     *Starter
		proof, says string
	}{
		"stopped":      {answered(lab.StarterDone+"3 stopped\n", &asked), "3 stopped", ""},
		"refused":      {answered("they do not stop\n", &asked), "", "they do not stop"},
		"gone":         {answered("", &asked), "", "does not say whether it did stop"},
		"out of reach": {unreached, "", "reach the first process of its container: no way"},
		"not ready":    {NewStarter(lab.UnitSpec{}, nil), "", "it was not made ready for faults"},
	} {
		asked = ""
		proof, err := c.starter.Pause(t.Context())
		if proof != c.proof || (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v, want %q, %q", name, proof, err, c.proof, c.says)
		}
		if asked != "" && asked != c.starter.token+"\n"+lab.StarterStop+"\n" {
			t.Errorf("%s: it was asked %q", name, asked)
		}
	}
}

// TestTellDoesNotWaitForALostNode checks that a starter that never answers fails its command.
func TestTellDoesNotWaitForALostNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		silent := answered("", nil)
		silent.reach = func(context.Context) (net.Conn, error) { return here, nil }
		_, err := silent.Pause(t.Context())
		deploytest.Says(t, err, "does not say whether it did stop", "no answer for 1m0s")
	})
}

// TestAgainWaitsAsLongAsTheUnitMayTake checks that Again gives up when the time of the unit's readiness is
// over.
func TestAgainWaitsAsLongAsTheUnitMayTake(t *testing.T) {
	var asked string
	starter := answered(lab.StarterDone+"started\n", &asked)
	shown := lab.Readiness{Log: "is up", Within: 300 * time.Millisecond}
	u := NewUnit(lab.UnitSpec{Name: "stock", Lifecycle: lab.Lifecycle{Readiness: shown}})
	connect := func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	err := starter.Again(t.Context(), u, connect, "")
	deploytest.Says(t, err, "not ready after 300ms")
}

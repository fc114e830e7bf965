package supervise

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// answered is a starter that answers everything with a text, and what it was asked.
func answered(text string, asked *string) *Starter {
	return NewStarter(lab.UnitSpec{Faults: []lab.FaultKind{lab.FaultKill}}, func(context.Context) (net.Conn, error) {
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
		"killed":       {answered(lab.StarterDone+"3 ended\n", &asked), lab.FaultKill, lab.StarterEnd, "3 ended", ""},
		"restarted":    {answered(lab.StarterDone+"3 ended\n", &asked), lab.FaultRestart, lab.StarterEnd, "3 ended", ""},
		"paused":       {answered(lab.StarterDone+"3 stopped\n", &asked), lab.FaultPause, lab.StarterStop, "3 stopped", ""},
		"refused":      {answered("they do not end\n", &asked), lab.FaultKill, lab.StarterEnd, "", "they do not end"},
		"gone":         {answered("", &asked), lab.FaultKill, lab.StarterEnd, "", "does not say whether it did end"},
		"out of reach": {unreached, lab.FaultPause, "", "", "reach the first process of its container: no way"},
		"not ready":    {NewStarter(lab.UnitSpec{}, nil), lab.FaultKill, "", "", "was not made ready for faults"},
	} {
		asked = ""
		u := NewUnit(ready)
		proof, err := c.starter.Harm(t.Context(), New(lab.Layout{}, ""), u, c.kind, func() { close(u.Ended) })
		if proof != c.proof || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
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

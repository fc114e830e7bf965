package crossingunit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/crossing"
	"github.com/cleave-lab/cleave/unit"
)

// part is a unit that runs in this process.
type part struct {
	commands *json.Encoder
	events   *json.Decoder
	ended    chan error
}

func start(job crossing.Job, role string) part {
	orders, commands := io.Pipe()
	events, out := io.Pipe()
	p := part{json.NewEncoder(commands), json.NewDecoder(bufio.NewReader(events)), make(chan error, 1)}
	job.Role = role
	text, err := json.Marshal(job)
	go func() {
		if err == nil {
			err = Run(unit.NewChannel(orders, out), string(text))
		}
		_ = out.CloseWithError(err) // it says so to who listens
		p.ended <- err
	}()
	return p
}

func (p part) await(t *testing.T, kind lab.EventKind) (event lab.Event) {
	t.Helper()
	if err := p.events.Decode(&event); err != nil || event.Event != kind {
		t.Fatalf("%+v, %v, want %s", event, err, kind)
	}
	return event
}

func (p part) command(t *testing.T, kind lab.CommandKind) {
	t.Helper()
	testset.Must(t, p.commands.Encode(lab.Command{Command: kind}))
}

// account returns what it reports when it is told to stop.
func (p part) account(t *testing.T) (account crossing.Account) {
	t.Helper()
	p.command(t, lab.CommandStop)
	testset.Must(t, json.Unmarshal(p.await(t, lab.EventReport).Data, &account))
	testset.Must(t, <-p.ended)
	return account
}

// TestCalls: every call comes back, over both protocols and both kinds of sockets.
func TestCalls(t *testing.T) {
	for name, job := range map[string]crossing.Job{
		"http":           {},
		"http over unix": {Unix: "s"},
		"grpc":           {GRPC: true},
		"grpc over unix": {GRPC: true, Unix: "s"},
	} {
		t.Run(name, func(t *testing.T) {
			ports, err := launch.ReservePorts(1)
			testset.Must(t, err)
			defer ports.Close()
			address := fmt.Sprintf("127.0.0.1:%d", ports.Numbers[0])
			t.Setenv("CLEAVE_ADDRESS", address)
			t.Setenv(lab.PeerVariable("callee"), address)
			t.Setenv("CLEAVE_DIR", filepath.Dir(t.TempDir()))
			job.Callers, job.Calls, job.To = 4, 25, "callee"
			caller := start(job, crossing.RoleCaller) // it waits for the other
			callee := start(job, crossing.RoleCallee)
			caller.await(t, lab.EventReady)
			caller.command(t, lab.CommandStart)
			if finished := caller.await(t, lab.EventFinished); finished.ElapsedSeconds <= 0 {
				t.Errorf("finished after %g s", finished.ElapsedSeconds)
			}
			made, served := caller.account(t), callee.account(t).Served
			if want := int64(1 + 4*warmUp); made.Right != 100 || made.Wrong != 0 || made.Before != want ||
				served != 100+want {
				t.Errorf("made %+v, served %d", made, served)
			}
		})
	}
}

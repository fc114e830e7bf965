package crossingunit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/crossing"
	"github.com/cleave-lab/cleave/unit"
)

// running is a unit that runs in this process.
type running struct {
	commands *json.Encoder
	events   *json.Decoder
	ended    chan error
}

// start runs a unit with a job in a role.
func start(job crossing.Job, role string) running {
	in, commands := io.Pipe()
	events, out := io.Pipe()
	u := running{json.NewEncoder(commands), json.NewDecoder(bufio.NewReader(events)), make(chan error, 1)}
	job.Role = role
	text, err := json.Marshal(job)
	go func() {
		if err == nil {
			err = Run(unit.NewChannel(in, out), string(text))
		}
		_ = out.CloseWithError(err) // await gets the error
		u.ended <- err
	}()
	return u
}

// await returns the unit's next event, which must be of a kind.
func (u running) await(t *testing.T, kind lab.EventKind) (event lab.Event) {
	t.Helper()
	if err := u.events.Decode(&event); err != nil || event.Event != kind {
		t.Fatalf("%+v, %v, want %s", event, err, kind)
	}
	return event
}

// command sends a command to the unit.
func (u running) command(t *testing.T, kind lab.CommandKind) {
	t.Helper()
	testset.Must(t, u.commands.Encode(lab.Command{Command: kind}))
}

// account stops the unit and returns its report.
func (u running) account(t *testing.T) (account crossing.Account) {
	t.Helper()
	u.command(t, lab.CommandStop)
	testset.Must(t, json.Unmarshal(u.await(t, lab.EventReport).Data, &account))
	testset.Must(t, <-u.ended)
	return account
}

// setAddress sets the environment of both units: a free port for the callee, and a folder.
func setAddress(t *testing.T) {
	t.Helper()
	ports, err := launch.ReservePorts(1)
	testset.Must(t, err)
	t.Cleanup(ports.Close)
	address := fmt.Sprintf("127.0.0.1:%d", ports.Numbers[0])
	t.Setenv("CLEAVE_ADDRESS", address)
	t.Setenv(lab.PeerVariable("callee"), address)
	t.Setenv("CLEAVE_DIR", filepath.Dir(t.TempDir())) // short: there is a socket in it
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
			setAddress(t)
			job.Callers = 4
			job.Calls = 25
			job.To = "callee"
			caller := start(job, crossing.RoleCaller) // it waits for the callee
			callee := start(job, crossing.RoleCallee)
			caller.await(t, lab.EventReady)
			caller.command(t, lab.CommandStart)
			if finished := caller.await(t, lab.EventFinished); finished.ElapsedSeconds <= 0 {
				t.Errorf("finished after %g s", finished.ElapsedSeconds)
			}
			made := caller.account(t)
			served := callee.account(t).Served
			if want := int64(1 + 4*warmUp); made.Right != 100 || made.Wrong != 0 || made.Before != want ||
				served != 100+want {
				t.Errorf("made %+v, served %d", made, served)
			}
		})
	}
}

// TestUnitsHandOverTheirProfiles, the caller and the callee, before they report, if their deployer wants
// profiles. One process can write one profile at a time.
func TestUnitsHandOverTheirProfiles(t *testing.T) {
	for _, profiled := range []string{crossing.RoleCaller, crossing.RoleCallee} {
		t.Run(profiled, func(t *testing.T) {
			setAddress(t)
			job := crossing.Job{Callers: 1, Calls: 1, To: "callee"}
			wants := func(role string) { // the variable is read when the unit begins to serve or to call
				t.Setenv(lab.ProfileVariable, "")
				if role == profiled {
					t.Setenv(lab.ProfileVariable, filepath.Join(t.TempDir(), role+".profile.pprof"))
				}
			}
			wants(crossing.RoleCallee)
			callee := start(job, crossing.RoleCallee)
			caller := start(job, crossing.RoleCaller)
			caller.await(t, lab.EventReady) // the callee serves
			wants(crossing.RoleCaller)
			caller.command(t, lab.CommandStart)
			caller.await(t, lab.EventFinished)
			for role, u := range map[string]running{crossing.RoleCaller: caller, crossing.RoleCallee: callee} {
				u.command(t, lab.CommandStop)
				if role == profiled {
					if data := string(u.await(t, lab.EventFile).Data); !strings.Contains(data, role+".profile.pprof") {
						t.Errorf("the %s hands over %s", role, data)
					}
				}
				u.await(t, lab.EventReport)
				testset.Must(t, <-u.ended)
			}
		})
	}
}

// TestServersThatAreStoppedAtOnce end without an error: the stop command may come before they begin.
func TestServersThatAreStoppedAtOnce(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	var served atomic.Int64
	for name, serve := range map[string]func(context.Context, net.Listener, *atomic.Int64) error{
		"http": serveHTTP, "grpc": serveGRPC} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		testset.Must(t, err)
		if err := serve(stopped, listener, &served); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCallsOverGRPCAreLimited: a callee that never answers must not hold the trial up for ever.
func TestCallsOverGRPCAreLimited(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	limited := make(chan bool, 1)
	callee := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
		_, has := call.Context().Deadline()
		limited <- has
		return nil
	}))
	go func() { _ = callee.Serve(listener) }() // until it is stopped
	defer callee.Stop()
	c, err := dialGRPC(listener.Addr().String())
	testset.Must(t, err)
	if _, err := c.call(t.Context(), "text"); err == nil {
		t.Error("a call without an answer has no error")
	}
	select {
	case has := <-limited:
		if !has {
			t.Error("the call had no deadline")
		}
	case <-time.After(time.Minute):
		t.Error("the call has not reached the callee within a minute")
	}
	testset.Must(t, c.close())
}

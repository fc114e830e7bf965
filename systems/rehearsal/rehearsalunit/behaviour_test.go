package rehearsalunit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
)

// rehearsed is a design whose units serve in this process.
type rehearsed struct {
	url    string
	design *rehearsal.Design
	units  []*Unit
}

// start serves all units of a design of the shop until the test ends, and these second replicas, such as
// "front-2". It returns when they are healthy.
func start(t *testing.T, architecture string, knobs map[string]string, second ...string) *rehearsed {
	t.Helper()
	text, err := os.ReadFile("../testdata/shop.model.yaml")
	testset.Must(t, err)
	m, err := model.Parse("shop.model.yaml", text)
	testset.Must(t, err)
	r := &rehearsed{}
	r.design, err = rehearsal.New(m, architecture, knobs)
	testset.Must(t, err)
	var names []string
	for _, u := range r.design.Units {
		names = append(names, u.Name)
	}
	addresses, stop, err := hostingtest.Serve(append(names, second...),
		func(ctx context.Context, unit string, addresses map[string]string) (hosting.Served, error) {
			peer := func(name string) (string, error) {
				if replica := addresses[name+"-2"]; replica != "" {
					return addresses[name] + lab.AddressSeparator + replica, nil
				}
				return addresses[name], nil
			}
			u, err := Open(ctx, r.design, strings.TrimSuffix(unit, "-2"),
				Place{Dir: t.TempDir(), Replica: unit, Peer: peer})
			testset.Must(t, err)
			u.LogError = func(err error) { t.Errorf("unit %s: %v", unit, err) }
			r.units = append(r.units, u)
			return u, nil
		})
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, stop()) })
	r.url = "http://" + addresses[r.design.Units[r.design.Front()].Name]
	r.ask(t, "GET", "/health", nil, 200)
	return r
}

// ask sends a request, fails the test unless the answer has the status, and returns its body.
func (r *rehearsed) ask(t *testing.T, method, path string, body []byte, want int) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, bytes.NewReader(body))
	testset.Must(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	testset.Must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		t.Fatalf("%s %s: %d %s, %v, want %d", method, path, response.StatusCode, text, err, want)
	}
	return text
}

// sum returns the sum of the tallies of all units, by the number of the call.
func (r *rehearsed) sum() []rehearsal.Tally {
	all := make([]rehearsal.Tally, len(r.design.Calls))
	for _, u := range r.units {
		for i, t := range u.Account().Calls {
			all[i].Made += t.Made
			all[i].Served += t.Served
			all[i].Done += t.Done
		}
	}
	return all
}

// TestCallsArePlayedWhereTheirComponentsAre, in every placement and over every binding: each as often and
// with as many bytes as shop.model.yaml says (210 and 90 in the first operation), and all before the units
// are settled.
func TestCallsArePlayedWhereTheirComponentsAre(t *testing.T) {
	const operations = 20
	for _, c := range []struct{ architecture, placement, calls string }{
		{rehearsal.AsIs, rehearsal.AsIs, hosting.HTTP}, {rehearsal.Together, rehearsal.Together, hosting.HTTP},
		{rehearsal.Apart, rehearsal.Apart, hosting.GRPC}, {rehearsal.Apart, rehearsal.Apart, hosting.HTTPLean},
		{rehearsal.AsIs, "front+stock+mail,orders,payments", hosting.GRPCLean},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := start(t, c.architecture, map[string]string{rehearsal.KnobPlacement: c.placement,
				rehearsal.KnobCalls: c.calls})
			before := r.sum()
			for range operations {
				answer := r.ask(t, "PUT", "/operations/0", rehearsal.Body(210), 200)
				if len(answer) != 90 || !json.Valid(answer) {
					t.Errorf("the answer is %q, want 90 bytes of JSON", answer)
				}
				r.ask(t, "PUT", "/operations/1", rehearsal.Body(0), 200)
			}
			r.ask(t, "GET", "/settled", nil, 200)
			for i, got := range r.sum() {
				call := r.design.Calls[i]
				if got.Served != got.Done || call.Caller != nil && got.Made != got.Served {
					t.Errorf("%s of %s: %+v", call.Name, call.Component, got)
				}
				// A fractional count is random, and so are the counts of the calls below it: check the others.
				want, whole := float64(operations), true
				for at := call; at != nil; at = at.Caller {
					want *= at.Count
					whole = whole && at.Count == math.Trunc(at.Count)
				}
				if played := got.Served - before[i].Served; whole && float64(played) != want {
					t.Errorf("%s of %s was played %d times, want %g", call.Name, call.Component, played, want)
				}
			}
			for i, u := range r.units {
				for number, tally := range u.Account().Calls {
					if tally.Served > 0 && r.design.Calls[number].Unit != i {
						t.Errorf("%s plays call %d", u.Name, number)
					}
				}
			}
		})
	}
}

// TestSettledWaitsForEveryReplica of a unit that the front calls, and of the front itself.
func TestSettledWaitsForEveryReplica(t *testing.T) {
	r := start(t, rehearsal.Apart, nil, "front-2", "payments-2")
	for i, u := range r.units {
		others := len(r.units) - 1 // a front does not ask itself
		if u.index == r.design.Front() && len(u.replicas) != others {
			t.Errorf("unit %d, a %s, asks %d replicas, want %d", i, u.Name, len(u.replicas), others)
		}
	}
	payments := slices.IndexFunc(r.design.Units, func(u rehearsal.Unit) bool { return u.Name == "payments" })
	// The last two units are front-2 and payments-2.
	for _, busy := range []int{payments, len(r.units) - 2, len(r.units) - 1} {
		var done atomic.Bool
		r.units[busy].inBackground(func() {
			time.Sleep(100 * time.Millisecond)
			done.Store(true)
		})
		if r.ask(t, "GET", "/settled", nil, 200); !done.Load() {
			t.Errorf("settled before unit %d, a %s, had finished its work", busy, r.units[busy].Name)
		}
	}
}

// failing is a part that cannot settle.
type failing struct {
	rehearsalpb.Part
	kind rpc.Kind
}

func (f failing) Settle(context.Context, *rehearsalpb.SettleRequest) (*rehearsalpb.SettleResponse, error) {
	return nil, rpc.Problemf(f.kind, "it cannot settle")
}

// TestOnlyStandbyReplicasMayBeUnreachable when the front asks whether all is settled.
func TestOnlyStandbyReplicasMayBeUnreachable(t *testing.T) {
	u := playing()
	var err error
	u.counts, err = openCounts(t.TempDir(), 0)
	testset.Must(t, err)
	for _, kind := range []rpc.Kind{rpc.Unavailable, rpc.Internal} {
		for _, standby := range []bool{true, false} {
			u.replicas = []replica{{failing{kind: kind}, 1, standby}}
			if err := u.settled(t.Context()); (err == nil) != (standby && kind == rpc.Unavailable) {
				t.Errorf("%s, on standby: %t: %v", kind, standby, err)
			}
		}
	}
	testset.Must(t, u.counts.Close())
}

// TestRequestsOfAnotherSizeAreRefused: a wrong length, operation or unit is refused and not counted.
func TestRequestsOfAnotherSizeAreRefused(t *testing.T) {
	r := start(t, rehearsal.Together, nil)
	r.ask(t, "PUT", "/operations/0", rehearsal.Body(209), 400)
	r.ask(t, "PUT", "/operations/0", rehearsal.Body(211), 400)
	r.ask(t, "PUT", "/operations/7", rehearsal.Body(210), 404)
	r.ask(t, "POST", "/operations/0", rehearsal.Body(210), 405)
	refused := func(what string, call int, load string) {
		_, err := r.units[0].Play(t.Context(), &rehearsalpb.PlayRequest{Call: uint32(call), Load: load})
		if problem := problemOf(err); err == nil || problem.Kind != rpc.InvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
	load := r.units[0].calls[0].in
	refused("a load that is too long", 0, load+"x")
	refused("a load that is too short", 0, load[1:])
	refused("a call that does not exist", len(r.design.Calls), "")
	for _, c := range r.design.Calls {
		if c.Unit != 0 {
			refused("a call of another unit", c.Number, r.units[0].calls[c.Number].in)
		}
	}
	for call, tally := range r.units[0].Account().Calls {
		if tally != (rehearsal.Tally{}) {
			t.Errorf("call %d was refused, and counted: %+v", call, tally)
		}
	}
}

// deadlines is a part that notes whether calls have a deadline.
type deadlines struct {
	rehearsalpb.Part
	has bool
}

func (d *deadlines) Play(ctx context.Context, _ *rehearsalpb.PlayRequest) (*rehearsalpb.PlayResponse, error) {
	_, d.has = ctx.Deadline()
	return &rehearsalpb.PlayResponse{}, nil
}

// TestAsynchronousCallsHaveADeadline, or a unit whose callee hangs would never finish its work.
func TestAsynchronousCallsHaveADeadline(t *testing.T) {
	called := taking(0, 1)
	called.Async = true
	called.Unit = 1
	u := playing(called)
	callee := &deadlines{}
	u.probing = false
	u.parts = map[int]rehearsalpb.Part{1: callee}
	var err error
	u.counts, err = openCounts(t.TempDir(), 1)
	testset.Must(t, err)
	testset.Must(t, u.playCalls(t.Context(), []*rehearsal.Call{called}))
	if u.finish(); !callee.has {
		t.Error("an asynchronous call has no deadline")
	}
	testset.Must(t, u.counts.Close())
}

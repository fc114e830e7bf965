package rehearsalunit

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/rehearsal"
)

// playing returns a unit that plays these calls, numbered in this order.
func playing(calls ...*rehearsal.Call) *Unit {
	u := &Unit{probing: true, probesEach: 1, burner: &burner{}, sleeper: &sleeper{}}
	for i, c := range calls {
		c.Number = i
		u.calls = append(u.calls, u.prepare(c))
	}
	return u
}

// taking returns a call with a CPU time.
func taking(cpu time.Duration, count float64, calls ...*rehearsal.Call) *rehearsal.Call {
	return &rehearsal.Call{Call: &model.Call{Count: count, CPU: model.Distribution{Mean: cpu}}, Calls: calls}
}

// TestSubtract takes the program's own CPU time off the calls of an entry that its unit plays, and off no
// others.
func TestSubtract(t *testing.T) {
	inside := taking(5*time.Millisecond, 2)
	outside := taking(time.Second, 1)
	outside.Unit = 1
	entry := taking(10*time.Millisecond, 1, inside, outside)
	other := taking(time.Second, 1)
	for own, want := range map[time.Duration]float64{4 * time.Millisecond: 0.8, time.Second: 0} {
		u := playing(entry, inside, outside, other)
		u.subtract(u.calls[0], own)
		for i, share := range []float64{want, want, 1, 1} {
			if got := u.calls[i].share; math.Abs(got-share) > 1e-9 {
				t.Errorf("%v of 20ms: call %d burns %g of its CPU time, want %g", own, i, got, share)
			}
		}
	}
}

// TestMain is the program that sends probes, too: units start themselves for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ProbeCommand {
		ProbeMain()
	}
	os.Exit(m.Run())
}

// TestProbesAreAnswered: a probe sends as many requests as it is told. A refusal is an error, although the
// connection stays open after it, and so is a front that is not there.
func TestProbesAreAnswered(t *testing.T) {
	var got atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Add(1)
		if r.URL.Path == "/refused" {
			http.Error(w, "too busy", http.StatusServiceUnavailable)
		}
	}))
	defer front.Close()
	address := front.Listener.Addr().String()
	send := func(path string) error {
		request := []byte("PUT " + path + " HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}")
		return sendProbes(t.Context(), address, request, 3, time.Millisecond)
	}
	testset.Must(t, send("/"))
	if got.Load() != 3 {
		t.Errorf("%d requests were sent, want 3", got.Load())
	}
	if err := send("/refused"); err == nil || !strings.Contains(err.Error(), "too busy") {
		t.Errorf("a refusal: %v", err)
	}
	front.Close()
	if err := send("/"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestAUnitWithManyEntriesProbesSome: only the first ones, or the units of a large model would not be ready
// in time. Here playing one of the others would wait for a worker in vain.
func TestAUnitWithManyEntriesProbesSome(t *testing.T) {
	var calls []*rehearsal.Call
	for range probedEntries + 1 {
		calls = append(calls, taking(time.Second, 1))
	}
	u := playing(calls...)
	u.calls[probedEntries].visits = []visit{{store: &embeddedStore{workers: make(chan struct{})},
		wait: model.Distribution{}.Points()}}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := u.probeEntries(ended, u.calls); err != nil {
		t.Errorf("all %d entries are probed: %v", len(calls), err)
	}
	if err := u.probeEntries(ended, u.calls[probedEntries:]); err == nil {
		t.Error("an entry that is probed waits for no worker")
	}
}

package rpc

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/internal/testset"
)

// counted counts the calls that reach it.
type counted struct {
	grpc.ClientConnInterface
	calls int
}

func (c *counted) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	c.calls++
	return nil
}

func TestCallsAreCounted(t *testing.T) {
	var calls atomic.Int64
	connection := Counted(&counted{}, &calls)
	for range 3 {
		testset.Must(t, connection.Invoke(t.Context(), "/a.B/C", nil, nil))
	}
	if calls.Load() != 3 {
		t.Errorf("%d of 3 calls were counted", calls.Load())
	}
}

// slowTimer is a context whose deadline may have passed, but whose timer has not fired yet.
type slowTimer struct {
	context.Context
	deadline time.Time
}

func (s slowTimer) Deadline() (time.Time, bool) { return s.deadline, true }

func TestALostCallSaysWhy(t *testing.T) {
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-late.Done()
	givenUp, giveUp := context.WithCancel(t.Context())
	giveUp()
	for _, c := range []struct {
		ctx  context.Context
		want string
	}{
		{t.Context(), Unavailable}, {late, DeadlineExceeded}, {givenUp, Cancelled},
		{slowTimer{t.Context(), time.Now()}, DeadlineExceeded},
		{slowTimer{t.Context(), time.Now().Add(time.Hour)}, Unavailable},
		{slowTimer{givenUp, time.Now()}, Cancelled},
	} {
		if got := Lost(c.ctx, "them", nil); string(got.Kind) != c.want || got.Detail == "" {
			t.Errorf("with context %v: %+v, want %s", c.ctx.Err(), got, c.want)
		}
	}
}

func TestTimeLeftSurvivesTheWire(t *testing.T) {
	for _, left := range []time.Duration{0, time.Microsecond, time.Second, MaxTimeout} {
		if got, ok := ParseTimeout(string(AppendTimeout(nil, left))); !ok || got != left {
			t.Errorf("%v came back as %v, %v", left, got, ok)
		}
	}
	for left, want := range map[time.Duration]time.Duration{-time.Second: 0, MaxTimeout + 1: MaxTimeout,
		math.MaxInt64: MaxTimeout} {
		if got, ok := ParseTimeout(string(AppendTimeout(nil, left))); !ok || got != want {
			t.Errorf("%v came back as %v, %v; want %v", left, got, ok, want)
		}
	}
	for _, text := range []string{"", "timeout=", "timeout=-1", "timeout=x", "timeout=99999999999999999", "50"} {
		if got, ok := ParseTimeout(text); ok {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

// recorder is a client that records its address for each call, and when it is closed.
type recorder struct {
	grpc.ClientConnInterface
	address        string
	called, closed *[]string
}

func (r recorder) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	*r.called = append(*r.called, r.address)
	return nil
}

func (r recorder) Close() error {
	*r.closed = append(*r.closed, r.address)
	return nil
}

// TestCallsAreSpreadOverReplicas: calls go to each replica in turn, and Close closes all. If the client of
// one cannot be made, those of the others are closed.
func TestCallsAreSpreadOverReplicas(t *testing.T) {
	var called, closed []string
	connect := func(address string) (Client, error) {
		if address == "bad" {
			return nil, errors.New("no such place")
		}
		return recorder{address: address, called: &called, closed: &closed}, nil
	}
	client, err := Spread("a,b,c", RoundRobin, connect)
	testset.Must(t, err)
	for range 6 {
		testset.Must(t, client.Invoke(t.Context(), "/m", nil, nil))
	}
	if got := strings.Join(called, " "); got != "b c a b c a" {
		t.Errorf("the calls went to %s, want all in turn", got)
	}
	if err := client.Close(); err != nil || strings.Join(closed, " ") != "a b c" {
		t.Errorf("closed %v, error %v", closed, err)
	}
	closed = nil
	if _, err := Spread("a,bad", RoundRobin, connect); err == nil || strings.Join(closed, " ") != "a" {
		t.Errorf("with an address that fails: error %v, closed %v, want a", err, closed)
	}
}

// dialled is a client whose calls fail while nothing listens at its address.
type dialled struct {
	grpc.ClientConnInterface
	address string
	calls   *atomic.Int64
}

func (d dialled) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	d.calls.Add(1)
	return Reachable(ctx, d.address)
}

func (d dialled) Close() error { return nil }

// TestUnreachableReplicasGetNoCalls: a replica on standby gets calls only once it listens. After a
// replica has ended it gets no calls, once one has failed. When it listens again, it gets calls again.
func TestUnreachableReplicasGetNoCalls(t *testing.T) {
	var listeners [2]net.Listener
	var addresses [2]string
	calls := map[string]*atomic.Int64{}
	for i := range listeners {
		listeners[i] = listen(t, "127.0.0.1:0")
		addresses[i] = listeners[i].Addr().String()
		calls[addresses[i]] = new(atomic.Int64)
	}
	_ = listeners[1].Close() // nothing listens at its address
	client, err := Spread(addresses[0]+",?"+addresses[1], RoundRobin, func(address string) (Client, error) {
		return dialled{address: address, calls: calls[address]}, nil
	})
	testset.Must(t, err)
	defer func() { _ = client.Close() }()
	if err := Reachable(t.Context(), addresses[0]+",?"+addresses[1]); err != nil {
		t.Errorf("a replica on standby counts as unreachable: %v", err)
	}
	call := func() error { return client.Invoke(t.Context(), "/m", nil, nil) }
	for range 20 {
		if err := call(); err != nil {
			t.Fatalf("while one is on standby: %v", err)
		}
	}
	if n := calls[addresses[1]].Load(); n != 0 {
		t.Errorf("a replica on standby got %d calls", n)
	}
	listeners[1] = listen(t, addresses[1])
	await(t, "the replica on standby gets calls", func() bool {
		_ = call()
		return calls[addresses[1]].Load() > 0
	})
	_ = listeners[0].Close()
	failed := 0
	await(t, "a replica that has ended gets no calls", func() bool {
		before := calls[addresses[0]].Load()
		for range 10 {
			if call() != nil {
				failed++
			}
		}
		return calls[addresses[0]].Load() == before
	})
	if failed == 0 {
		t.Error("no call failed, though one went to a replica that had ended: it was repeated")
	}
	listeners[0] = listen(t, addresses[0])
	before := calls[addresses[0]].Load()
	await(t, "a replica that listens again gets calls", func() bool {
		_ = call()
		return calls[addresses[0]].Load() > before
	})
	_ = listeners[0].Close()
	_ = listeners[1].Close()
}

// TestNoChecksAfterClose: a call that fails after Close starts no check, which would outlive the client.
func TestNoChecksAfterClose(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	defer func() { _ = listener.Close() }()
	replica := listener.Addr().String()
	client, err := Spread(replica+","+replica, RoundRobin, func(string) (Client, error) {
		return dialled{address: "127.0.0.1:0", calls: new(atomic.Int64)}, nil // nothing listens there
	})
	testset.Must(t, err)
	testset.Must(t, client.Close())
	if err := client.Invoke(t.Context(), "/m", nil, nil); err == nil {
		t.Error("the call did not fail")
	}
	testset.Must(t, client.Close()) // waits for checks
	testset.Must(t, listener.(*net.TCPListener).SetDeadline(time.Now().Add(100*time.Millisecond)))
	if _, err := listener.Accept(); err == nil {
		t.Error("the replica is checked after Close")
	}
}

// listen accepts and closes connections at an address until the listener is closed.
func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	testset.Must(t, err)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
		}
	}()
	return listener
}

// await fails the test if holds does not return true within 20 s. what describes it.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

package rpc

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
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

func TestCallsAreSpreadEvenly(t *testing.T) {
	replicas := []*counted{{}, {}, {}}
	balanced := Balance(replicas[0], replicas[1], replicas[2])
	for range 30 {
		if err := balanced.Invoke(t.Context(), "/a.B/C", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, replica := range replicas {
		if replica.calls != 10 {
			t.Errorf("replica %d got %d of 30 calls, want 10", i, replica.calls)
		}
	}
}

func TestCallsAreCounted(t *testing.T) {
	var calls atomic.Int64
	connection := Counted(&counted{}, &calls)
	for range 3 {
		if err := connection.Invoke(t.Context(), "/a.B/C", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 3 {
		t.Errorf("%d of 3 calls were counted", calls.Load())
	}
}

// slowTimer is a context whose timer has not fired yet.
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
		{slowTimer{t.Context(), time.Now()}, DeadlineExceeded}, {slowTimer{t.Context(), time.Now().Add(time.Hour)}, Unavailable},
		{slowTimer{givenUp, time.Now()}, Cancelled},
	} {
		if got := Lost(c.ctx, "them"); got.Kind != c.want || got.Detail == "" {
			t.Errorf("with context %v: %+v, want %s", c.ctx.Err(), got, c.want)
		}
	}
	if errors.Is(late.Err(), context.Canceled) {
		t.Error("the deadline counts as given up")
	}
}

func TestTimeLeftSurvivesTheWire(t *testing.T) {
	for _, left := range []time.Duration{0, time.Microsecond, time.Second, longest} {
		if got, ok := ParseTimeout(string(AppendTimeout(nil, left))); !ok || got != left {
			t.Errorf("%v came back as %v, %v", left, got, ok)
		}
	}
	if got, ok := ParseTimeout(string(AppendTimeout(nil, -time.Second))); !ok || got != 0 {
		t.Errorf("time that is over came back as %v, %v; want 0", got, ok)
	}
	for _, text := range []string{"", "timeout=", "timeout=-1", "timeout=x", "timeout=99999999999999999", "50"} {
		if got, ok := ParseTimeout(text); ok {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

// replica is a client that writes down its calls.
type replica struct {
	grpc.ClientConnInterface
	address       string
	called, ended *[]string
}

func (r replica) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	*r.called = append(*r.called, r.address)
	return nil
}

func (r replica) Close() error {
	*r.ended = append(*r.ended, r.address)
	return nil
}

func TestCallsAreSpreadOverReplicas(t *testing.T) {
	var called, ended []string
	connect := func(address string) (Client, error) {
		if address == "bad" {
			return nil, errors.New("no such place")
		}
		return replica{address: address, called: &called, ended: &ended}, nil
	}
	client, err := Spread("a,b,c", connect)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if err := client.Invoke(t.Context(), "/m", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(called, " "); got != "b c a b c a" {
		t.Errorf("the calls went to %s, want all in turn", got)
	}
	if err := client.Close(); err != nil || strings.Join(ended, " ") != "a b c" {
		t.Errorf("closed %v, error %v", ended, err)
	}
	ended = nil
	if _, err := Spread("a,bad", connect); err == nil || strings.Join(ended, " ") != "a" {
		t.Errorf("with one that cannot be: error %v, and closed were %v", err, ended)
	}
}

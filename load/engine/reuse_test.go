package engine

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestEveryUserHasAConnectionOfItsOwn: on each connection a user thinks before its next request. If users
// took the connections that others have just left, there would be no pause, and they might not have
// noticed yet that the server had closed the connection.
func TestEveryUserHasAConnectionOfItsOwn(t *testing.T) {
	const think = 100 * time.Millisecond
	r := newRig(t, serveRaw(t, sendsAndCloses(fine)))
	r.config.Users = &Users{Number: 16, Think: think, Every: think / 16}
	r.config.Duration = time.Second
	last := map[int32]time.Duration{}
	early := 0
	pairs := 0
	r.playTapped(func(s *record.Sample) {
		if before, used := last[s.Connection]; used {
			pairs++
			if s.Intended-before < think {
				early++
			}
		}
		last[s.Connection] = s.Finished
	})
	if len(last) != 16 || early > 0 || pairs < 16 {
		t.Errorf("on %d connections, %d of %d requests came before their user had thought", len(last), early, pairs)
	}
}

// serveOnce answers the first request of every connection and hangs up on the second, which it counts.
func serveOnce(t *testing.T) (address string, second *atomic.Int64) {
	t.Helper()
	second = new(atomic.Int64)
	var served sync.Map
	return serveRaw(t, func(conn net.Conn) error {
		if _, before := served.LoadOrStore(conn, true); before {
			second.Add(1)
			return io.EOF
		}
		return sends(fine)(conn)
	}), second
}

// TestTheTimeOfConnectingIsThatOfTheNewConnection: the wait on the one that ended is no part of it.
func TestTheTimeOfConnectingIsThatOfTheNewConnection(t *testing.T) {
	const wait = 2 * time.Second // connecting takes much less, on a busy host too
	var served sync.Map
	r := newRig(t, serveRaw(t, func(conn net.Conn) error {
		if _, before := served.LoadOrStore(conn, true); before {
			time.Sleep(wait)
			return io.EOF
		}
		return sends(fine)(conn)
	}))
	r.config.Connections = 1
	r.open(2)
	again := 0
	r.playTapped(func(s *record.Sample) {
		if !s.Resent {
			return
		}
		if again++; s.Connected <= 0 || s.Connected >= wait {
			t.Errorf("connecting took %v, and the server waited for %v before it closed the old connection",
				s.Connected, wait)
		}
	})
	if again != 1 {
		t.Errorf("%d operations were sent again, want 1", again)
	}
}

// TestARequestOnAConnectionThatHadEndedIsSentAgain: it is sent once more, on a new connection, and only
// if that is safe.
func TestARequestOnAConnectionThatHadEndedIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		method string
		resent bool
	}{{"GET", true}, {"PUT", true}, {"DELETE", true}, {"POST", false}, {"PATCH", false}} {
		for name, users := range map[string]*Users{"open": nil, "closed": {Number: 1}} {
			address, second := serveOnce(t)
			r := newRig(t, address)
			r.steps(scenario.Step{Name: "op", Request: c.method + " /"})
			r.config.Connections = 1
			r.config.Users = users
			if users != nil {
				r.config.Duration = 300 * time.Millisecond
			}
			results, _ := r.run()
			sent := results.Sent(record.All)
			ok := results.Count(record.All, record.OK)
			resent := results.Counts(record.All).Resent
			want := sent
			if !c.resent {
				want = sent - second.Load()
			}
			if n := second.Load(); ok != want || sent < 2 || n < 1 || c.resent != (resent > 0) || resent > n {
				t.Errorf("%s, %s: %d of %d right, %d sent again after %d losses", c.method, name, ok, sent, resent, n)
			}
		}
	}
}

package stream

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/cleave-lab/cleave/load/http2"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// http2Conn is a connection and the wire below it.
type http2Conn struct {
	*http2.Conn
	wire *wire
}

// http2Link is a connection that several flows share.
type http2Link struct {
	dialer   *dialer
	limit    time.Duration   // of an exchange
	base     context.Context // ends with the load
	attempts singleflight.Group

	mu      sync.Mutex
	conn    *http2Conn   // nil: not connected
	retired []*http2Conn // take no new requests, but may still answer earlier ones
}

// isUsable reports whether the connection accepts requests.
func (l *http2Link) isUsable() bool { return l.current() != nil }

// connect makes the connection. Concurrent callers share one attempt.
func (l *http2Link) connect(ctx context.Context) error { return joinAttempt(ctx, &l.attempts, l.dial) }

// current returns the connection for a new request, or nil.
func (l *http2Link) current() *http2Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.conn; c != nil && !c.Usable() {
		l.retire()
	}
	return l.conn
}

// retire takes the connection out of use, and drops retired ones that have ended. The caller holds mu, and
// there is a connection.
func (l *http2Link) retire() {
	l.conn.Drain()
	kept := l.retired[:0]
	for _, c := range append(l.retired, l.conn) {
		if !c.Ended() {
			kept = append(kept, c)
		}
	}
	l.retired = kept
	l.conn = nil
}

// dial makes the connection, unless another attempt has just done so.
func (l *http2Link) dial() error {
	if l.current() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.base, l.dialer.timeout)
	defer cancel()
	w, err := l.dialer.dial(ctx)
	if err != nil {
		return err
	}
	below := net.Conn(w)
	if l.dialer.tls != nil {
		if below, err = l.dialer.secure(ctx, w, "h2"); err != nil {
			return err
		}
	}
	conn, err := http2.Open(ctx, below, l.limit)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, http2.ErrMalformed) {
			err = w.noHTTP2()
		}
		return err
	}
	if !conn.Usable() { // it permits no streams, or has ended
		conn.Close()
		return w.noHTTP2()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.base.Err(); err != nil { // after abort nobody would close the connection
		conn.Close()
		return err
	}
	l.conn = &http2Conn{conn, w}
	return nil
}

// exchange sends a request and reads its answer.
func (l *http2Link) exchange(x *exchange) {
	call := x.session.Call()
	x.h2.Bodiless = x.session.Bodiless()
	x.h2.KeepHeader, x.h2.KeepBody = x.session.Needs()
	l.roundTrip(x, &call)
}

// roundTrip sends a request, and reads the parts of its answer that x.h2 asks for. A request that the server
// cannot have seen, by its frames or by the end of the connection, is sent again once, on a new connection,
// if the highest rate permits it. The exchange's limit applies to connecting: the connection itself limits
// the time of each exchange, and abort ends it.
func (l *http2Link) roundTrip(x *exchange, call *scenario.Call) {
	for first := true; ; first = false {
		conn := l.current()
		if conn == nil {
			limited, cancel := context.WithTimeout(l.base, x.limit)
			err := l.connect(limited)
			cancel()
			if err != nil {
				x.fail(outcomeOfConnect(err), err.Error())
				return
			}
			if conn = l.current(); conn == nil {
				x.fail(record.Closed, "the connection ended as soon as it was made")
				return
			}
		}
		err := l.send(x, conn, call)
		if err == nil {
			return
		}
		if errors.Is(err, http2.ErrUnseen) {
			l.replace(conn)
			if first && x.permits() {
				x.resent = true
				continue
			}
		}
		x.fail(outcomeOfHTTP2(err, conn.wire), err.Error())
		return
	}
}

// replace takes a connection out of use, unless it is out of use already.
func (l *http2Link) replace(conn *http2Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == conn {
		l.retire()
	}
}

// send makes the exchange on a connection.
func (l *http2Link) send(x *exchange, conn *http2Conn, call *scenario.Call) error {
	h := x.h2
	authority := cmp.Or(call.Host, l.dialer.authority)
	h.Request(call.Method, l.dialer.scheme, authority, call.Path)
	for _, field := range call.Header {
		h.Field(field.Name, field.Value)
	}
	h.SetBody(call.Body, call.Sized)
	err := conn.RoundTrip(h)
	x.sent = h.Sent
	x.first = h.First
	x.waited = h.Waited
	x.received = h.Received
	x.written = h.Written
	x.answer = h.Answer
	return err
}

// hangUp closes the connections. Nothing is in flight on a link that is no longer needed, so abort ends no
// exchange.
func (l *http2Link) hangUp() { l.abort() }

// abort ends all connections and all exchanges in flight.
func (l *http2Link) abort() {
	l.mu.Lock()
	if l.conn != nil {
		l.retire()
	}
	all := l.retired
	l.retired = nil
	l.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}

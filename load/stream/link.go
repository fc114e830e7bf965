package stream

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/cleave-lab/cleave/load/http2"
	"github.com/cleave-lab/cleave/load/oracle"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// link is an entry of the pool: a connection, or room for one. With HTTP/1.1 it serves one flow at a
// time; otherwise several, from several goroutines.
type link interface {
	// isUsable reports whether there is a usable connection.
	isUsable() bool
	// connect makes a connection if there is none.
	connect(ctx context.Context) error
	// exchange sends the step of the exchange's session and receives its answer, within the exchange's limit.
	exchange(x *exchange)
	// hangUp closes a connection that is no longer needed.
	hangUp()
	// abort ends the connection and everything in flight. Any goroutine may call it.
	abort()
}

// exchange is a step in flight. It belongs to one worker and is reused.
type exchange struct {
	session *scenario.Session
	clock   func() time.Duration // since the beginning of the load
	limit   time.Duration        // time limit of the step, without connecting
	permits func() bool          // reports whether the step may be sent again; that counts for the rate
	h2      *http2.Exchange      // for an exchange over HTTP/2

	// The fields below are filled in by the link. Times are since the beginning of the load.

	sent  time.Duration // when writing began; until then, when the attempt began, which may have to connect
	first time.Duration // when the answer began; zero: unknown
	// waited: until sent, the server permitted no further stream. The delay is the target's, not this
	// engine's.
	waited bool
	// unanswered: the connection ended before the first byte of the answer.
	unanswered bool
	resent     bool           // it is sent for the second time
	outcome    record.Outcome // OK: there is an answer to judge
	why        string         // the reason if there is no answer, for the report
	answer     oracle.Answer
	received   int64 // bytes, as far as they can be attributed to this operation
	written    int64
}

// begin clears the previous step.
func (x *exchange) begin() {
	*x = exchange{session: x.session, clock: x.clock, limit: x.limit, permits: x.permits, h2: x.h2,
		sent: x.clock()}
}

// fail ends an exchange without an answer.
func (x *exchange) fail(outcome record.Outcome, why string) {
	x.outcome = outcome
	x.why = why
}

// joinAttempt starts an attempt to connect, or waits for the one in progress.
func joinAttempt(ctx context.Context, attempts *singleflight.Group, connect func() error) error {
	select {
	case attempt := <-attempts.DoChan("", func() (any, error) { return nil, connect() }):
		return attempt.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

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

// link is an entry of the pool: a connection, or room for one. On HTTP/1.1 it
// serves one flow at a time; otherwise several, from several goroutines.
type link interface {
	// stands reports whether there is a connection that can be used.
	stands() bool
	// connect makes one where there is none.
	connect(ctx context.Context) error
	// exchange sends the step of the exchange's session and receives its answer, within
	// the exchange's limit. The context is that of the whole load.
	exchange(ctx context.Context, x *exchange)
	// hangUp closes the connection, as a client does that needs it no more.
	hangUp()
	// abort ends it with whatever is in flight, from any goroutine.
	abort()
}

// exchange is a step on its way. It belongs to one place and is used again.
type exchange struct {
	session *scenario.Session
	clock   func() time.Duration // since the beginning of the load
	limit   time.Duration        // of the step, connecting apart
	body    []byte               // memory for a message
	h2      *http2.Exchange      // memory for an exchange of HTTP/2

	// What the link fills in. Times are since the beginning of the load.

	sent  time.Duration // when writing began
	first time.Duration // when the answer began; zero: not known
	// waited: the server permitted no further stream, so that until sent the target
	// was waited for, not this engine.
	waited bool
	// unanswered: the connection ended before a byte of the answer came.
	unanswered bool
	resent     bool           // it is sent for the second time
	outcome    record.Outcome // OK: there is an answer to be judged
	why        string         // no answer; for the report
	answer     oracle.Answer
	received   int64 // bytes, as far as they are this operation's own
	written    int64
}

// begin forgets the last step.
func (x *exchange) begin() {
	if cap(x.body) > maxRetained {
		x.body = nil
	}
	*x = exchange{session: x.session, clock: x.clock, limit: x.limit, body: x.body[:0], h2: x.h2,
		sent: x.clock()}
}

// fail ends an exchange without an answer.
func (x *exchange) fail(outcome record.Outcome, why string) {
	x.outcome, x.why = outcome, why
}

// joinAttempt begins an attempt to connect, or waits for the one that goes on.
func joinAttempt(ctx context.Context, attempts *singleflight.Group, connect func() error) error {
	select {
	case attempt := <-attempts.DoChan("", func() (any, error) { return nil, connect() }):
		return attempt.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

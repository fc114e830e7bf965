package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// The pauses between attempts to reach the broker.
	firstPause, longestPause = 20 * time.Millisecond, time.Second
	// dialWithin is the time for a server to accept a connection.
	dialWithin = 5 * time.Second
	// heartbeat is the interval in which client and broker check that the other is there.
	heartbeat = 10 * time.Second
	// publishers is the maximum number of concurrent calls of Publish.
	publishers = 16
)

// errLost means that the connection ended before the broker confirmed a message.
var errLost = errors.New("the connection was lost before the broker confirmed")

// connectTo retries try until it succeeds, ctx ends, or it returns one of the errors in final, which a retry
// cannot help.
func connectTo[C any](ctx context.Context, to string, try func() (C, error), final ...error) (C, error) {
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		connection, err := try()
		if err == nil {
			return connection, nil
		}
		if slices.ContainsFunc(final, func(one error) bool { return errors.Is(err, one) }) {
			return connection, fmt.Errorf("connect to %s: %w", to, err)
		}
		if pause(ctx, wait); ctx.Err() != nil {
			return connection, fmt.Errorf("connect to %s: %w (%w)", to, context.Cause(ctx), err)
		}
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

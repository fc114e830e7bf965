package fleet

import (
	"context"
	"fmt"
	"net"
	"time"
)

// openPatience bounds the wait until a unit accepts connections again.
const openPatience = 90 * time.Second

// AwaitOpen waits until a unit accepts connections again. It returns at once if the unit does not listen.
func (f *Fleet[L]) AwaitOpen(ctx context.Context, life L) error {
	if f.platform.AwaitOpen != nil {
		return f.platform.AwaitOpen(ctx, life)
	}
	u := life.unit()
	return u.AwaitListening(ctx, f.platform.Reach(u.Spec.Name), openPatience)
}

// AwaitListening waits until the unit accepts connections at an address. It returns at once if the address is
// empty: the unit does not listen.
func (u *Unit) AwaitListening(ctx context.Context, address string, patience time.Duration) error {
	if address == "" {
		return nil
	}
	dialer := net.Dialer{Timeout: time.Second}
	return u.PollListening(ctx, patience, lookAgain, func(ctx context.Context) bool {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		return err == nil && connection.Close() == nil
	})
}

// PollListening calls listens until it returns true. The pauses between the calls grow up to longest. It
// fails if the unit ends, or after patience.
func (u *Unit) PollListening(
	ctx context.Context, patience, longest time.Duration, listens func(context.Context) bool,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it does not listen after %v", patience))
	defer cancel()
	for begun := time.Now(); !listens(ctx); {
		select {
		case <-u.Ended:
			return fmt.Errorf("unit %s ended before it listened%s", u.Spec.Name, u.Log.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("unit %s: %w", u.Spec.Name, context.Cause(ctx))
		case <-time.After(Backoff(begun, lookAgain, longest)):
		}
	}
	return nil
}

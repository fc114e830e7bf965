package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

const (
	// dialAgain is how long to wait for a unit that does not listen yet.
	dialAgain = 10 * time.Millisecond
	// dialPatience is how long one attempt may take: an address that was another's a
	// moment ago can be deaf for a while.
	dialPatience = time.Second
)

// Dial connects to a unit that waits for its conductor at an address, as soon as it
// does, and proves with the token to be that conductor.
func Dial(ctx context.Context, address, token string) (net.Conn, error) {
	for {
		dialer := net.Dialer{Timeout: dialPatience}
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			if _, err := io.WriteString(connection, token+"\n"); err != nil {
				return nil, errors.Join(fmt.Errorf("greet the unit at %s: %w", address, err), connection.Close())
			}
			return connection, nil
		}
		var late net.Error
		comes := errors.As(err, &late) && late.Timeout() || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH)
		if !comes && ctx.Err() == nil {
			return nil, fmt.Errorf("reach the unit at %s: %w", address, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the unit does not wait for its conductor at %s: %w", address, context.Cause(ctx))
		case <-time.After(dialAgain):
		}
	}
}

package fleet

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
	// dialPatience is how long one attempt may take: an address that was in use a moment ago may not answer.
	dialPatience = time.Second
)

// Dial connects to a unit as soon as it waits for its conductor at an address, and authenticates with the
// token. It gives up when ended is closed, which tells that the unit's program has ended.
func Dial(ctx context.Context, ended <-chan struct{}, address, token string) (net.Conn, error) {
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
		comes := errors.As(err, &late) && late.Timeout() || errors.Is(err, syscall.ECONNREFUSED) ||
			errors.Is(err, syscall.EHOSTUNREACH)
		if !comes && ctx.Err() == nil {
			return nil, fmt.Errorf("reach the unit at %s: %w", address, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the unit does not wait for its conductor at %s: %w", address, context.Cause(ctx))
		case <-ended:
			return nil, errors.New("its program ended before it waited for its conductor")
		case <-time.After(dialAgain):
		}
	}
}

// Controlled sends commands to a unit over a connection and handles its events until the unit closes its
// side; then it calls await, which waits for the unit's end.
func (s *Supervisor) Controlled(u *Unit, connection net.Conn, await func()) {
	u.Commands = connection
	go func() {
		s.Hear(u, connection)
		_ = connection.Close() // the unit has closed its side
		await()
	}()
}

// DialThrough is Dial through a forwarder that accepts connections before the unit does: the unit is reached
// when it has answered.
func DialThrough(
	ctx context.Context, through func(context.Context) (net.Conn, error), token string,
) (net.Conn, error) {
	for {
		connection, err := through(ctx)
		if err == nil {
			if err = answers(ctx, connection, token); err == nil {
				return connection, nil
			}
			_ = connection.Close() // it has failed already
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the unit does not wait for its conductor: %w (last answer: %w)",
				context.Cause(ctx), err)
		case <-time.After(dialAgain):
		}
	}
}

// answers authenticates with the token and waits for the unit's empty line.
func answers(ctx context.Context, connection net.Conn, token string) error {
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if _, err := io.WriteString(connection, token+"\n"); err != nil {
		return err
	}
	line := make([]byte, 1)
	if _, err := io.ReadFull(connection, line); err != nil {
		return err
	}
	if line[0] != '\n' {
		return fmt.Errorf("it answers with %q, not with an empty line", line)
	}
	return nil
}

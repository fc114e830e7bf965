package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/binding/accept"
)

const (
	// dialAgain is the pause before another attempt to connect to a unit that does not listen yet.
	dialAgain = 10 * time.Millisecond
	// dialPatience bounds one attempt to connect: an address that was in use a moment ago may not answer.
	dialPatience = time.Second
)

// Dial connects to a unit at an address as DialThrough does. It gives up after an error that is not
// temporary, or when ended is closed, which means that the unit's program has ended.
func Dial(ctx context.Context, ended <-chan struct{}, address, token string) (net.Conn, error) {
	ctx, cancel := WithEnd(ctx, ended, func() error { return errors.New("its program has ended") })
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	dialer := net.Dialer{Timeout: dialPatience}
	// Until the program listens, a new address may refuse connections, have no route, or cause a time-out.
	return DialThrough(ctx, func(ctx context.Context) (net.Conn, error) {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		isTemporary := isTimeout(err) || errors.Is(err, syscall.ECONNREFUSED) ||
			errors.Is(err, syscall.EHOSTUNREACH)
		if err != nil && !isTemporary {
			giveUp(fmt.Errorf("reach the unit at %s: %w", address, err))
		}
		return connection, err
	}, token)
}

// isTimeout reports whether an error is a time-out of the network.
func isTimeout(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

// DialThrough calls connect until it returns a connection on which the unit accepts the token. A forwarder on
// the way may accept connections before the unit listens, so only the unit's answer proves that it was
// reached.
func DialThrough(
	ctx context.Context, connect func(context.Context) (net.Conn, error), token string,
) (net.Conn, error) {
	for {
		connection, err := connect(ctx)
		if err == nil {
			if err = authenticate(ctx, connection, token); err == nil {
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

// authenticate sends the token and waits for the empty line with which the unit accepts it.
func authenticate(ctx context.Context, connection net.Conn, token string) error {
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

// Connect calls dial to connect to a unit whose program was started, and may have ended already. It returns
// when the unit takes commands. In the background it handles the unit's events until the unit closes its
// side, and then calls await, which waits for the end of the unit. Foreign units and commands that prepare
// have no control connection: for them Connect only calls await. If dial fails, it does not call await.
func (f *Fleet[L]) Connect(u *Unit, dial func() (net.Conn, error), await func()) error {
	if u.Spec.Foreign || u.Prepares {
		go await()
		return nil
	}
	connection, err := dial()
	if err != nil {
		if u.ReadLog != nil {
			u.ReadLog(f.Watching)
		}
		return fmt.Errorf("start unit %s: %w%s", u.Spec.Name, err, u.Log.LastWords())
	}
	u.Commands = connection
	go func() {
		// The unit's first line is empty. HandleEvents needs it as the sign that the unit is usable, but
		// authenticate has read it already.
		f.HandleEvents(u, io.MultiReader(strings.NewReader("\n"), connection))
		_ = connection.Close() // the unit has closed its side
		await()
	}()
	return nil
}

// Forwards holds listeners on this host's loopback, one for each endpoint of units that this host cannot
// reach directly. They forward connections to the units.
type Forwards struct {
	supervisor *Supervisor
	connect    func(endpoint string) (net.Conn, error)
	ended      context.Context // ends with Close
	end        context.CancelFunc

	mu        sync.Mutex
	listeners map[string]net.Listener // by endpoint
}

// NewForwards returns Forwards that call connect to reach an endpoint. If connect fails, they close the
// caller's connection.
func (s *Supervisor) NewForwards(connect func(endpoint string) (net.Conn, error)) *Forwards {
	f := &Forwards{supervisor: s, connect: connect, listeners: map[string]net.Listener{}}
	f.ended, f.end = context.WithCancel(context.Background())
	return f
}

// To returns the address of the listener for an endpoint, and starts the listener if there is none. If it
// cannot listen, To fails the trial and returns "".
func (f *Forwards) To(endpoint string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if listener := f.listeners[endpoint]; listener != nil {
		return listener.Addr().String()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.supervisor.Fail(fmt.Errorf("listen for callers of unit %s: %w", endpoint, err))
		return ""
	}
	f.listeners[endpoint] = listener
	if f.ended.Err() != nil {
		_ = listener.Close() // Close was called: the address refuses callers
	}
	go func() {
		_ = accept.Each(listener, func(caller net.Conn) { go f.forward(caller, endpoint) }) // until Close
	}()
	return listener.Addr().String()
}

// forward forwards a caller's connection until either side closes it.
func (f *Forwards) forward(caller net.Conn, endpoint string) {
	defer func() { _ = caller.Close() }() // nobody needs the connection any more
	unit, err := f.connect(endpoint)
	if err != nil {
		return
	}
	defer func() { _ = unit.Close() }()
	defer context.AfterFunc(f.ended, func() { _ = unit.Close() })() // ends both copies
	go func() {
		_, _ = io.Copy(unit, caller) // until the caller closes its side
		_ = unit.Close()
	}()
	_, _ = io.Copy(caller, unit)
}

// Close closes all listeners and connections.
func (f *Forwards) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end()
	for _, listener := range f.listeners {
		_ = listener.Close() // it has nothing to flush
	}
}

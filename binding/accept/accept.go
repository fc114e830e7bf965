// Package accept accepts connections (and survives a temporary lack of file descriptors), shares the
// connections of one address between two servers, and limits how long a write waits for its reader.
//
// Entry points: Each, Next, Fork, LimitWrites.
package accept

import (
	"errors"
	"net"
	"time"
)

// pause is the wait before the next Accept after a failure.
const pause = 10 * time.Millisecond

// Next returns the next connection of a listener. It fails only when the listener is closed; it retries
// after other failures, such as a lack of descriptors.
func Next(listener net.Listener) (net.Conn, error) {
	for {
		connection, err := listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return connection, err
		}
		time.Sleep(pause)
	}
}

// Each calls take with each connection of a listener, one after the other. It returns when the listener is
// closed.
func Each(listener net.Listener, take func(net.Conn)) error {
	for {
		connection, err := Next(listener)
		if err != nil {
			return err
		}
		take(connection)
	}
}

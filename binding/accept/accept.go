// Package accept takes connections, also when no file descriptor is left for a moment, shares the
// connections of one address between two servers, and ends those whose peers do not read.
//
// Entry points: Each, Next, Fork, LimitWrites.
package accept

import (
	"errors"
	"net"
	"time"
)

// pause is the wait before a listener is asked again after a failure.
const pause = 10 * time.Millisecond

// Next returns the next connection of a listener. It fails only when the listener is closed: other
// failures, such as a want of descriptors, pass.
func Next(listener net.Listener) (net.Conn, error) {
	for {
		connection, err := listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return connection, err
		}
		time.Sleep(pause)
	}
}

// Each hands the connections of a listener to take, one after the other, until the listener is closed.
func Each(listener net.Listener, take func(net.Conn)) error {
	for {
		connection, err := Next(listener)
		if err != nil {
			return err
		}
		take(connection)
	}
}

package starter

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// maxCallers limits the connections of units that are served at the same time, because each takes two
	// buffers of io.Copy.
	maxCallers = 256
	// tunnelTimeout is the time that a unit waits for a connection of the conductor, and the time for the
	// conductor to answer on it.
	tunnelTimeout = 10 * time.Second
)

// ServeTunnel connects units with the conductor, whose host they cannot reach themselves. It listens on two
// addresses: units is for the units, conductor for the conductor, which connects in advance and must send the
// token in tokenFile. ServeTunnel joins one connection of each. It closes the connection of a unit if none of
// the conductor's is available in time, or if units have too many connections, and says so on standard error.
// It returns when it can no longer listen.
func ServeTunnel(units, conductor, tokenFile string) error {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	outside, err := net.Listen("tcp", conductor)
	if err != nil {
		return err
	}
	inside, err := net.Listen("tcp", units)
	if err != nil {
		return errors.Join(err, outside.Close())
	}
	return serveTunnel(inside, outside, string(token), os.Stderr)
}

// serveTunnel joins the connections of units to inside with those of the conductor to outside. It writes
// messages to log.
func serveTunnel(inside, outside net.Listener, token string, log io.Writer) error {
	waiting := make(chan offered)
	serving := make(chan struct{}, maxCallers)
	go func() { // ends when outside is closed
		_ = serveEach(outside, func(conductor net.Conn) error { return offer(conductor, token, waiting) })
	}()
	for {
		unit, err := accept.Next(inside)
		if err != nil {
			return err
		}
		select {
		case serving <- struct{}{}:
		default:
			_ = unit.Close() // an error does not matter: nothing was sent
			_, _ = fmt.Fprintf(log, "hung up on %v: %d connections are open\n", unit.RemoteAddr(), maxCallers)
			continue
		}
		go func() {
			defer func() { <-serving }()
			defer func() { _ = unit.Close() }() // an error does not matter: everything was sent
			if !join(unit, waiting) {
				_, _ = fmt.Fprintf(log, "hung up on %v: the conductor has offered no connection for %v\n",
					unit.RemoteAddr(), tunnelTimeout)
			}
		}()
	}
}

// offered is a connection of the conductor that waits for one unit. used is closed after its use.
type offered struct {
	net.Conn
	used chan struct{}
}

// offer offers a connection of the conductor to units, and returns after its use.
func offer(conductor net.Conn, token string, waiting chan<- offered) error {
	if request, err := readRequest(conductor, token); err != nil || request != lab.StarterWaits {
		return errors.Join(errors.New("this is no connection that waits for a unit"), err)
	}
	_, err := io.WriteString(conductor, lab.StarterHeld)
	if err = errors.Join(err, conductor.SetDeadline(time.Time{})); err != nil {
		return err
	}
	o := offered{conductor, make(chan struct{})}
	waiting <- o
	<-o.used
	return nil
}

// join connects a unit with the conductor. It returns false if no connection was available in time. It skips
// connections that the conductor has closed.
func join(unit net.Conn, waiting <-chan offered) bool {
	for end := time.After(tunnelTimeout); ; {
		select {
		case <-end:
			return false
		case conductor := <-waiting:
			confirmed := announce(conductor)
			if confirmed {
				forward(unit, unit, conductor.Conn)
			}
			close(conductor.used)
			if confirmed {
				return true
			}
		}
	}
}

// announce tells the conductor that a unit has called, and reports whether the conductor has confirmed it.
func announce(conductor net.Conn) bool {
	var answer [1]byte
	err := conductor.SetDeadline(time.Now().Add(tunnelTimeout))
	if err == nil {
		_, err = io.WriteString(conductor, lab.StarterCalled)
	}
	if err == nil {
		_, err = io.ReadFull(conductor, answer[:])
	}
	if err != nil || string(answer[:]) != lab.StarterCalled {
		return false
	}
	return conductor.SetDeadline(time.Time{}) == nil
}

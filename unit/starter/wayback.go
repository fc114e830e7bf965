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
	// maxCallers limits the units that are served at the same time, each with two buffers of io.Copy.
	maxCallers = 256
	// wayPatience limits the wait of a unit for a connection to the conductor, and that for its answer.
	wayPatience = 10 * time.Second
)

// WayBack joins the connections of units at one address with those that the conductor has opened at another
// and that wait, until it cannot listen any more: no unit can reach the conductor's host itself. A unit that
// has no way in time is hung up on, and so is one more than can be served: standard error says so.
func WayBack(units, conductor, keyFile string) error {
	key, err := os.ReadFile(keyFile)
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
	return wayBack(inside, outside, string(key), os.Stderr)
}

func wayBack(inside, outside net.Listener, key string, said io.Writer) error {
	waiting, serving := make(chan offered), make(chan struct{}, maxCallers)
	go func() { // it ends when nobody listens any more
		_ = answer(outside, func(conductor net.Conn) error { return offer(conductor, key, waiting) })
	}()
	for {
		unit, err := accept.Next(inside)
		if err != nil {
			return err
		}
		select {
		case serving <- struct{}{}:
		default:
			_ = unit.Close() // nothing was said
			_, _ = fmt.Fprintf(said, "hung up on %v: %d units are served\n", unit.RemoteAddr(), maxCallers)
			continue
		}
		go func() {
			defer func() { <-serving }()
			defer func() { _ = unit.Close() }() // all has been said
			if !lead(unit, waiting) {
				_, _ = fmt.Fprintf(said, "hung up on %v: for %v no connection of the conductor's has waited for it\n",
					unit.RemoteAddr(), wayPatience)
			}
		}()
	}
}

// offered is a connection of the conductor's that is used once.
type offered struct {
	net.Conn
	over chan struct{}
}

// offer offers the conductor's connection to units, and waits until it is used up.
func offer(conductor net.Conn, key string, waiting chan<- offered) error {
	if wanted, err := greet(conductor, key); err != nil || wanted != lab.StarterWaits {
		return errors.Join(errors.New("that is not what waits for a unit"), err)
	}
	if err := conductor.SetDeadline(time.Time{}); err != nil {
		return err
	}
	o := offered{conductor, make(chan struct{})}
	waiting <- o
	<-o.over
	return nil
}

// lead connects a unit with the conductor; false: it had no way in time. Connections of which the conductor
// knows nothing any more are passed over.
func lead(unit net.Conn, waiting <-chan offered) bool {
	for end := time.After(wayPatience); ; {
		select {
		case <-end:
			return false
		case conductor := <-waiting:
			begun := begin(conductor)
			if begun {
				connect(unit, unit, conductor.Conn)
			}
			close(conductor.over)
			if begun {
				return true
			}
		}
	}
}

// begin reports whether the conductor hears that a unit has called.
func begin(conductor net.Conn) bool {
	var heard [1]byte
	err := conductor.SetDeadline(time.Now().Add(wayPatience))
	if err == nil {
		_, err = io.WriteString(conductor, lab.StarterCalled)
	}
	if err == nil {
		_, err = io.ReadFull(conductor, heard[:])
	}
	return err == nil && string(heard[:]) == lab.StarterCalled && conductor.SetDeadline(time.Time{}) == nil
}

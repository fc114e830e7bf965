package fleet

import (
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/cleave-lab/cleave/binding/accept"
)

// Doors forward connections from this host to units that it cannot reach directly. Each endpoint has a
// listener on loopback.
type Doors struct {
	units *Supervisor
	enter func(endpoint string) (net.Conn, error)

	mu     sync.Mutex
	byName map[string]net.Listener
	open   map[net.Conn]bool
	closed bool
}

// NewDoors returns doors that connect callers of an endpoint by enter. If that fails, callers see what they
// would see if nobody listened.
func (s *Supervisor) NewDoors(enter func(endpoint string) (net.Conn, error)) *Doors {
	return &Doors{units: s, enter: enter, byName: map[string]net.Listener{}, open: map[net.Conn]bool{}}
}

// To returns the address of the door to an endpoint, and opens it first if there is none.
func (d *Doors) To(endpoint string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if door := d.byName[endpoint]; door != nil {
		return door.Addr().String()
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.units.Fail(fmt.Errorf("open a way to unit %s: %w", endpoint, err))
		return ""
	}
	d.byName[endpoint] = door
	if d.closed {
		_ = door.Close() // its address refuses callers
	}
	go func() {
		_ = accept.Each(door, func(caller net.Conn) { go d.lead(caller, endpoint) }) // until it is closed
	}()
	return door.Addr().String()
}

// lead forwards a caller's connection until either side closes it.
func (d *Doors) lead(caller net.Conn, endpoint string) {
	defer func() { _ = caller.Close() }() // all has been said
	inside, err := d.enter(endpoint)
	if err != nil {
		return
	}
	defer func() { _ = inside.Close() }()
	d.mu.Lock()
	closed := d.closed
	d.open[inside] = true
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.open, inside)
		d.mu.Unlock()
	}()
	if closed {
		return
	}
	go func() {
		_, _ = io.Copy(inside, caller) // who has called ends it
		_ = inside.Close()
	}()
	_, _ = io.Copy(caller, inside)
}

// Close closes all doors and their connections.
func (d *Doors) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, door := range d.byName {
		_ = door.Close() // it only listens
	}
	for connection := range d.open {
		_ = connection.Close() // nobody hears it any more
	}
}

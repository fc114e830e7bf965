package fleet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Doors lead from this host to units that it cannot call itself: a listener on loopback for
// each of their endpoints.
type Doors struct {
	units *Supervisor
	enter func(endpoint string) (net.Conn, error)

	mu     sync.Mutex
	byName map[string]net.Listener
	open   map[net.Conn]bool
	closed bool
}

// NewDoors has callers of an endpoint connected by enter. Where that fails they see what they
// would where nobody listens any more.
func (s *Supervisor) NewDoors(enter func(endpoint string) (net.Conn, error)) *Doors {
	return &Doors{units: s, enter: enter, byName: map[string]net.Listener{}, open: map[net.Conn]bool{}}
}

// To returns the address of the door to an endpoint, which is made where there is none.
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
	go d.admit(door, endpoint)
	return door.Addr().String()
}

// acceptAgain is the wait after a failed accept: no descriptor may be left for a caller.
const acceptAgain = 10 * time.Millisecond

// admit lets calls through a door until it is closed.
func (d *Doors) admit(door net.Listener, endpoint string) {
	for {
		switch caller, err := door.Accept(); {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(acceptAgain)
		default:
			go d.lead(caller, endpoint)
		}
	}
}

// lead connects a caller until either side ends it.
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

// Close closes all doors with what goes through them.
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

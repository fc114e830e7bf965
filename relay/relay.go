// Package relay forwards TCP connections to a unit and can slow them down: it delays the data to the
// unit, and limits the rate in both directions. It stands in for a slow network if the kernel cannot slow
// a single unit, and for the network between users and a system.
//
// During the whole trial the data makes a detour through the process of the relay, which is the conductor or
// the load generator. If the unit is gone, a caller is not refused: its connection is closed after a while.
//
// Entry points: InFront, for the units of a layout that are to be slowed; Listen.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// pieceBytes is the size of the largest piece that is forwarded at once. pieces is the number of delayed
	// pieces in one direction of a connection; after that the sender has to wait.
	pieceBytes, pieces = 16 << 10, 64
	// dialTimeout is the time in which a unit must accept, and dialPause the pause before the next attempt.
	dialTimeout, dialPause = 5 * time.Second, 10 * time.Millisecond
	// probeSpan is the intended length of a probe of a rate. It is shorter for rates at which more than one
	// piece passes in that time, because a probe sends at most one piece.
	probeSpan = 200 * time.Millisecond
)

// Relay forwards connections to one unit.
type Relay struct {
	unit     string
	listener net.Listener
	ended    context.Context // ends with the relay, by end
	end      context.CancelFunc
	passing  sync.WaitGroup // the goroutines that accept, forward or probe

	mu     sync.Mutex
	target string // host:port
	delay  time.Duration
	rate   float64      // bytes per second in each direction, of all connections together; 0: no limit
	free   [2]time.Time // when the next byte may pass, by direction
}

// direction is the way of data through the relay: to the unit or from it.
type direction int

const (
	toUnit direction = iota
	fromUnit
)

// Listen returns a relay that listens on a free port of host and forwards every connection to the unit at
// target, until Close.
func Listen(host, unit, target string) (*Relay, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen in front of unit %s: %w", unit, err)
	}
	r := &Relay{unit: unit, target: target, listener: listener}
	r.ended, r.end = context.WithCancel(context.Background())
	r.passing.Go(func() {
		_ = accept.Each(listener, func(from net.Conn) { // until it is closed
			r.passing.Go(func() { r.forward(from) })
		})
	})
	return r, nil
}

// Address returns the address of the relay, as host:port.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// SetTarget sets the address, as host:port, to which new connections are forwarded.
func (r *Relay) SetTarget(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

// Target returns the address to which connections are forwarded, as host:port.
func (r *Relay) Target() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.target
}

// forward forwards one connection, in both directions, until both sides have closed.
func (r *Relay) forward(from net.Conn) {
	defer r.closes(from)()
	r.wait(r.due(0, toUnit)) // connecting is delayed, too
	to, err := r.dial()
	if err != nil {
		return // its client sees the connection closed
	}
	defer r.closes(to)()
	var back sync.WaitGroup
	back.Go(func() { r.pass(to, from, fromUnit) })
	r.pass(from, to, toUnit)
	back.Wait()
}

// dial connects to the unit. It tries for dialTimeout, because the unit may be starting.
func (r *Relay) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(r.ended, dialTimeout)
	defer cancel()
	for {
		to, err := new(net.Dialer).DialContext(ctx, "tcp", r.Target())
		if err == nil || ctx.Err() != nil {
			return to, err
		}
		r.wait(time.Now().Add(dialPause))
	}
}

// closes returns the function that closes a connection. Close calls it, too.
func (r *Relay) closes(c net.Conn) func() {
	end := func() { _ = c.Close() } // all data was sent, or cannot be sent
	stop := context.AfterFunc(r.ended, end)
	return func() {
		stop()
		end()
	}
}

// piece is data that was read and is due on the other side at a time.
type piece struct {
	data []byte
	due  time.Time
}

// pass copies until the reading side ends, and then half-closes the writing side. If writing fails, it
// closes both sides, because the peer would wait for an answer that cannot come.
func (r *Relay) pass(from io.ReadCloser, to io.WriteCloser, way direction) {
	queue := make(chan piece, pieces)
	spare := make(chan []byte, pieces)
	var writing sync.WaitGroup
	writing.Go(func() {
		broken := false
		for p := range queue {
			if !broken {
				r.wait(p.due)
				_, err := to.Write(p.data)
				if broken = err != nil; broken {
					_ = errors.Join(from.Close(), to.Close())
				}
			}
			spare <- p.data[:cap(p.data)]
		}
		if half, can := to.(interface{ CloseWrite() error }); can {
			_ = half.CloseWrite() // it may be closed already
		}
	})
	for made := 0; ; {
		if len(spare) == 0 && made < pieces {
			spare <- make([]byte, pieceBytes)
			made++
		}
		buffer := <-spare
		n, err := from.Read(buffer)
		if n > 0 {
			queue <- piece{buffer[:n], r.due(n, way)}
		}
		if err != nil {
			break
		}
	}
	close(queue)
	writing.Wait()
}

// due returns the time at which bytes that were read now may be written to the other side.
func (r *Relay) due(bytes int, way direction) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	at := now
	if r.rate > 0 {
		if r.free[way].Before(now) {
			r.free[way] = now
		}
		r.free[way] = r.free[way].Add(lab.Seconds(float64(bytes) / r.rate))
		at = r.free[way]
	}
	if way == toUnit {
		at = at.Add(r.delay)
	}
	return at
}

// wait waits until a moment, or until the relay is closed.
func (r *Relay) wait(then time.Time) {
	left := time.Until(then)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ended.Done():
	}
}

// Slow applies the delay and the rate of a fault to all data that arrives from now on, until Heal. It
// measures a probe, and returns an error and heals if that passes too fast. The proof says how long the probe
// took.
func (r *Relay) Slow(ctx context.Context, f lab.Fault) (proof string, err error) {
	before, err := r.probe(ctx, 1, 0)
	if err != nil {
		return "", err
	}
	r.set(lab.Seconds(f.Delay), f.Rate)
	bytes, least := 1, f.Delay
	if f.Rate > 0 {
		enough := int(f.Rate * probeSpan.Seconds())
		bytes = max(1, min(pieceBytes, enough))
		least += float64(bytes) / f.Rate
	}
	expected := lab.Seconds(least)
	took, err := r.probe(ctx, bytes, expected)
	const almost = 0.99 // timers may end a little early
	if err == nil && took.Seconds() < least*almost {
		err = fmt.Errorf("%d bytes took %v to pass the relay of unit %s, not %v or more", bytes, took, r.unit,
			expected)
	}
	if err != nil {
		r.Heal()
		return "", err
	}
	return fmt.Sprintf("%d bytes took %v through its relay, 1 byte before that %v", bytes,
		took.Round(10*time.Microsecond), before.Round(10*time.Microsecond)), nil
}

// Heal ends the delay and the limit for data that arrives from now on. Data that the relay holds already
// still waits until it is due, and newer data of the same connection waits behind it.
func (r *Relay) Heal() { r.set(0, 0) }

func (r *Relay) set(delay time.Duration, rate float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = delay
	r.rate = rate
	r.free = [2]time.Time{}
}

// probe returns the time that a number of bytes takes through the relay, over a connection that leads to
// no unit. Without a deadline of ctx it fails a minute after the expected time.
func (r *Relay) probe(ctx context.Context, bytes int, expected time.Duration) (time.Duration, error) {
	near, in := net.Pipe()
	out, far := net.Pipe()
	closeAll := func() {
		for _, side := range []net.Conn{near, in, out, far} {
			_ = side.Close() // no error: nobody else uses them
		}
	}
	defer closeAll()
	r.passing.Go(func() { r.pass(in, out, toUnit) })
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Minute+expected)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, closeAll)
	defer stop()
	began := time.Now()
	_, err := near.Write(make([]byte, bytes))
	if err == nil {
		_, err = io.ReadFull(far, make([]byte, bytes))
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // err says only that the pipes are closed
	}
	if err != nil {
		return 0, fmt.Errorf("probe the relay of unit %s: %w", r.unit, err)
	}
	return time.Since(began), nil
}

// Close closes the listener and all connections, and returns when nothing is forwarded any more.
func (r *Relay) Close() error {
	r.end()
	err := r.listener.Close()
	r.passing.Wait()
	return err
}

// Relays are the relays of a deployment, by unit.
type Relays map[string]*Relay

// InFront puts a relay in front of each unit that is to be slowed: it replaces the unit's dial address in
// endpoints by that of the relay, which forwards to the former one. A deployer that learns the address of
// a unit later must call SetTarget. host is the address at which units reach the conductor. If InFront fails,
// it closes the relays that it has made, and endpoints must not be used any more.
func InFront(units []lab.UnitSpec, endpoints map[string]lab.Endpoint, host string) (Relays, error) {
	all := Relays{}
	for _, spec := range units {
		if !slices.Contains(spec.Faults, lab.FaultSlow) {
			continue
		}
		endpoint, listens := endpoints[spec.Name]
		if !listens {
			return all, errors.Join(fmt.Errorf("unit %s cannot be slowed: it does not listen", spec.Name), all.Close())
		}
		made, err := Listen(host, spec.Name, endpoint.Dial)
		if err != nil {
			return all, errors.Join(err, all.Close())
		}
		all[spec.Name] = made
		endpoints[spec.Name] = lab.Endpoint{Bind: endpoint.Bind, Dial: made.Address()}
	}
	return all, nil
}

// UnitAddress returns the address of a unit itself, for callers that must not use its relay, which accepts
// connections even if the unit does not listen. If it has no relay, UnitAddress returns known.
func (r Relays) UnitAddress(unit, known string) string {
	if relay := r[unit]; relay != nil {
		return relay.Target()
	}
	return known
}

// Slow slows the unit that is the target of a fault, and returns the proof.
func (r Relays) Slow(ctx context.Context, f lab.Fault) (proof string, err error) {
	relay := r[f.Target]
	if relay == nil {
		return "", fmt.Errorf("unit %s has no relay: nobody said before the trial that it would be slowed",
			f.Target)
	}
	return relay.Slow(ctx, f)
}

// Heal ends a fault that Slow has made. It panics if the target of the fault has no relay.
func (r Relays) Heal(f lab.Fault) { r[f.Target].Heal() }

// Close closes all relays.
func (r Relays) Close() error {
	var problems []error
	for _, relay := range r {
		problems = append(problems, relay.Close())
	}
	return errors.Join(problems...)
}

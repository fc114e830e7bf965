// Package relay passes TCP connections on to a unit, and slows them down when it is told
// to: what is sent to the unit comes later, and no more of it passes than a rate allows.
// It stands in for a slow network where the kernel cannot make one for a single unit, and for
// the way from users to a system.
//
// It has a price of its own, for the whole trial: a hop through the process that it is in, which
// is the conductor's or the generator's.
// And whoever dials a unit that is gone is not refused, but closed on after a while.
//
// Entry points: Before and Ahead, for the units of a layout that are to be slowed; Listen.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// pieceBytes is the most that is passed on at once, and pieces how many wait in each
	// direction of a connection; who sends more waits.
	pieceBytes, pieces = 16 << 10, 64
	// dialPatience is how long a unit may take to accept, and dialAgain how long to wait
	// before it is tried once more.
	dialPatience, dialAgain = 5 * time.Second, 10 * time.Millisecond
)

// Relay passes connections on to one unit.
type Relay struct {
	unit     string
	listener net.Listener
	ended    chan struct{}
	passing  sync.WaitGroup

	mu     sync.Mutex
	target string // host:port; "": nobody knows it yet
	delay  time.Duration
	rate   float64      // bytes per second in each direction; 0: as they come
	free   [2]time.Time // when the next byte may pass, by direction
	open   map[net.Conn]bool
}

// direction of what passes.
type direction int

const (
	toUnit direction = iota
	fromUnit
)

// Listen passes on to the unit at target whoever dials the address that it listens on, a
// free port of host, until Close.
func Listen(host, unit, target string) (*Relay, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen in front of unit %s: %w", unit, err)
	}
	r := &Relay{unit: unit, target: target, listener: listener, ended: make(chan struct{}),
		open: map[net.Conn]bool{}}
	r.passing.Go(func() {
		_ = accept.Each(listener, func(from net.Conn) { // until it is closed
			r.passing.Go(func() { r.carry(from) })
		})
	})
	return r, nil
}

// Address returns what others dial, as host:port.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// To has the relay pass new connections on to an address, as host:port: that of a unit which has
// begun, or moved.
func (r *Relay) To(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

// Target returns where the relay passes connections on to, as host:port; "": nobody knows it yet.
func (r *Relay) Target() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.target
}

// carry passes on one connection, in both directions, until both sides have closed.
func (r *Relay) carry(from net.Conn) {
	if !r.keep(from) {
		return
	}
	defer r.drop(from)
	r.wait(r.due(0, toUnit)) // the request for a connection is sent, too
	to, err := r.dial()
	if err != nil || !r.keep(to) {
		return // its client sees the connection closed
	}
	defer r.drop(to)
	var back sync.WaitGroup
	back.Go(func() { r.pass(to, from, fromUnit) })
	r.pass(from, to, toUnit)
	back.Wait()
}

// dial connects to the unit, which may not listen yet, or for a moment not any more.
func (r *Relay) dial() (net.Conn, error) {
	for deadline := time.Now().Add(dialPatience); ; r.wait(time.Now().Add(dialAgain)) {
		to, err := net.DialTimeout("tcp", r.Target(), time.Until(deadline))
		if err == nil || time.Until(deadline) < dialAgain {
			return to, err
		}
		select {
		case <-r.ended:
			return nil, err
		default:
		}
	}
}

// keep notes an open connection. It closes one that comes after the end.
func (r *Relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ended:
		_ = c.Close() // nothing was sent
		return false
	default:
		r.open[c] = true
		return true
	}
}

func (r *Relay) drop(c net.Conn) {
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
	_ = c.Close() // what was to be sent was, or cannot be
}

// piece is something that was read and is due at the other side.
type piece struct {
	data []byte
	due  time.Time
}

// pass copies until the reading side ends, and tells the writing side so. When the writing
// side breaks, both are closed: a peer must not wait for an answer that cannot come.
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

// due returns when so many bytes that have come now may be at the other side.
func (r *Relay) due(bytes int, way direction) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	at := now
	if r.rate > 0 {
		if r.free[way].Before(now) {
			r.free[way] = now
		}
		r.free[way] = r.free[way].Add(time.Duration(float64(bytes) / r.rate * float64(time.Second)))
		at = r.free[way]
	}
	if way == toUnit {
		at = at.Add(r.delay)
	}
	return at
}

// wait waits until then, or until the relay is closed.
func (r *Relay) wait(then time.Time) {
	left := time.Until(then)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ended:
	}
}

// Slow has everything come later from now on, as the fault says, and proves it with what
// a probe of its own took. It does so until Heal.
func (r *Relay) Slow(ctx context.Context, f lab.Fault) (proof string, err error) {
	before, err := r.probe(ctx, 1)
	if err != nil {
		return "", err
	}
	r.set(time.Duration(f.Delay*float64(time.Second)), f.Rate)
	bytes := 1
	if f.Rate > 0 {
		bytes = max(1, min(pieceBytes, int(f.Rate*probeSpan.Seconds())))
	}
	least := f.Delay
	if f.Rate > 0 {
		least += float64(bytes) / f.Rate
	}
	took, err := r.probe(ctx, bytes)
	if err == nil && took.Seconds() < least*0.99 {
		err = fmt.Errorf("%d bytes took %v to pass the relay of unit %s, not %v or more", bytes, took, r.unit,
			time.Duration(least*float64(time.Second)))
	}
	if err != nil {
		r.Heal()
		return "", err
	}
	return fmt.Sprintf("%d bytes took %v through its relay, 1 byte before that %v", bytes,
		took.Round(10*time.Microsecond), before.Round(10*time.Microsecond)), nil
}

// probeSpan is about how long a probe of a rate takes.
const probeSpan = 200 * time.Millisecond

// Heal lets everything pass as it comes again.
func (r *Relay) Heal() { r.set(0, 0) }

func (r *Relay) set(delay time.Duration, rate float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay, r.rate = delay, rate
	r.free = [2]time.Time{}
}

// probe returns how long so many bytes take to the other side of a connection of its own, which
// leads to nobody.
func (r *Relay) probe(ctx context.Context, bytes int) (time.Duration, error) {
	near, in := net.Pipe()
	out, far := net.Pipe()
	r.passing.Go(func() { r.pass(in, out, toUnit) }) // it may last as long as the relay
	defer func() {
		for _, side := range []net.Conn{near, in, out, far} {
			_ = side.Close() // they lead nowhere
		}
	}()
	deadline, limited := ctx.Deadline()
	if !limited {
		deadline = time.Now().Add(time.Minute)
	}
	began := time.Now()
	if err := errors.Join(near.SetDeadline(deadline), far.SetDeadline(deadline)); err != nil {
		return 0, err
	}
	if _, err := near.Write(make([]byte, bytes)); err != nil {
		return 0, fmt.Errorf("probe the relay of unit %s: %w", r.unit, err)
	}
	if _, err := io.ReadFull(far, make([]byte, bytes)); err != nil {
		return 0, fmt.Errorf("probe the relay of unit %s: %w", r.unit, err)
	}
	return time.Since(began), nil
}

// Close ends all connections and the listening.
func (r *Relay) Close() error {
	r.mu.Lock()
	close(r.ended)
	for c := range r.open {
		_ = c.Close() // whoever passes it on closes it, too
	}
	r.mu.Unlock()
	err := r.listener.Close()
	r.passing.Wait()
	return err
}

// Relays are those of a deployment, by unit.
type Relays map[string]*Relay

// Before puts a relay between the two sides of the endpoint of each unit that is to be
// slowed: others dial the relay, which dials what they would have. host is where units
// reach the conductor.
func Before(units []lab.UnitSpec, endpoints map[string]lab.Endpoint, host string) (Relays, error) {
	behind := maps.Clone(endpoints)
	all, err := Ahead(units, endpoints, host)
	for unit, relay := range all {
		relay.To(behind[unit].Dial)
	}
	return all, err
}

// Ahead is Before for units of which nobody knows yet where they will be: their relays are told
// so later (Relay.To), each time that they begin.
func Ahead(units []lab.UnitSpec, endpoints map[string]lab.Endpoint, host string) (Relays, error) {
	all := Relays{}
	for _, spec := range units {
		if !slices.Contains(spec.Faults, lab.FaultSlow) {
			continue
		}
		endpoint, listens := endpoints[spec.Name]
		if !listens {
			return all, errors.Join(fmt.Errorf("unit %s cannot be slowed: it does not listen", spec.Name), all.Close())
		}
		made, err := Listen(host, spec.Name, "")
		if err != nil {
			return all, errors.Join(err, all.Close())
		}
		all[spec.Name] = made
		endpoints[spec.Name] = lab.Endpoint{Bind: endpoint.Bind, Dial: made.Address()}
	}
	return all, nil
}

// Behind returns the address of an endpoint itself, which others know by an address that may be that of
// its relay: one at which nobody listens takes no connection there.
func (r Relays) Behind(endpoint, known string) string {
	if relay := r[endpoint]; relay != nil {
		return relay.Target()
	}
	return known
}

// Slow slows the unit of a fault.
func (r Relays) Slow(ctx context.Context, f lab.Fault) (proof string, err error) {
	relay := r[f.Target]
	if relay == nil {
		return "", fmt.Errorf("unit %s has no relay: nobody said before the trial that it would be slowed",
			f.Target)
	}
	return relay.Slow(ctx, f)
}

// Heal lets the unit of a fault go on as before.
func (r Relays) Heal(f lab.Fault) { r[f.Target].Heal() }

// Close ends all of them.
func (r Relays) Close() error {
	var problems []error
	for _, relay := range r {
		problems = append(problems, relay.Close())
	}
	return errors.Join(problems...)
}

package http2

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"
)

const (
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// maxFrame is the size of the largest frame in either direction, in bytes. Every peer must accept it
	// (RFC 9113, 4.2).
	maxFrame = 16 << 10
	// streamWindow and connWindow are the flow control windows for the server, in bytes.
	streamWindow = 1 << 20
	connWindow   = 16 << 20
	usualWindow  = 65_535 // initial window of the connection and of each stream (RFC 9113, 6.9.2)
	// maxControl bounds the answers to pings and settings for a server that does not read them.
	maxControl = 1 << 20
	// maxSpare is the most memory that is kept for the next write, in bytes.
	maxSpare = 64 << 10
	maxID    = math.MaxInt32 // of a stream; also the mask of numbers whose first bit is reserved
)

// Conn is a connection. Its exchanges share one reading goroutine, and their frames are written together:
// the first exchange that finds no write in progress writes the frames of all.
type Conn struct {
	conn  net.Conn
	limit time.Duration // of an exchange
	ready chan struct{} // closed when the server's settings have come, or the connection has ended

	mu        sync.Mutex // guards the fields below
	exchanges map[uint32]*Exchange
	waiting   []*Exchange // for a stream, in order
	blocked   []*Exchange // for the server's window
	next      uint32      // number of the next stream
	permitted uint32      // streams at the same time
	window    int64       // send window of the connection, in bytes
	initial   int64       // send window of a new stream, in bytes
	out       []byte      // bytes to write
	spare     []byte      // memory for the next out
	writing   time.Time   // start of the write in progress; zero: there is none
	draining  bool        // no new exchanges: the server or this side ends the connection after those in flight
	err       error       // why the connection has ended
	watching  bool        // the watchdog timer is set
	watchdog  *time.Timer
	lastData  time.Time // when data came last
	pinged    bool      // a ping was sent since then

	reader // state of the reading goroutine
}

// Open starts HTTP/2 on a connection, which it then owns, and waits for the server's settings, which limit
// the number of streams. limit is the time limit of every exchange.
func Open(ctx context.Context, conn net.Conn, limit time.Duration) (*Conn, error) {
	c := &Conn{
		conn: conn, limit: limit, ready: make(chan struct{}), exchanges: make(map[uint32]*Exchange),
		lastData: time.Now(),
		next:     1, permitted: math.MaxUint32, window: usualWindow, initial: usualWindow,
	}
	c.reader.decoder = hpack.NewDecoder(4096, c.reader.take)
	c.reader.decoder.SetMaxStringLength(maxHead)
	c.watchdog = time.AfterFunc(time.Hour, c.watch)
	c.watchdog.Stop()
	opening := []byte(preface)
	opening = appendFrame(opening, frameSettings, 0, 0,
		settings(setting{settingPush, 0}, setting{settingWindow, streamWindow}, setting{settingHeader, maxHead}))
	opening = appendFrame(opening, frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, connWindow-usualWindow))
	stop := context.AfterFunc(ctx, func() { c.closeWith(ctx.Err()) })
	defer stop()
	if _, err := conn.Write(opening); err != nil {
		c.closeWith(err) // unless the context has ended it
	} else {
		go c.read()
	}
	<-c.ready
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	return c, nil
}

// Usable reports whether the connection accepts requests.
func (c *Conn) Usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isOpen() && (c.permitted > 0 || len(c.exchanges) > 0)
}

// isOpen reports whether new exchanges may begin or wait. The caller holds mu.
func (c *Conn) isOpen() bool { return c.err == nil && !c.draining }

// hasRoom reports whether a new exchange may begin now. The caller holds mu.
func (c *Conn) hasRoom() bool { return c.isOpen() && uint32(len(c.exchanges)) < c.permitted }

// Ended reports whether the connection has ended, with all its exchanges.
func (c *Conn) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// Close ends the connection and all exchanges in flight.
func (c *Conn) Close() { c.closeWith(ErrClosed) }

// Drain ends the connection after the exchanges in flight have ended.
func (c *Conn) Drain() {
	c.mu.Lock()
	c.draining = true
	last := len(c.exchanges) == 0
	c.mu.Unlock()
	if last {
		c.Close()
	}
}

// RoundTrip sends a request and waits for its answer.
func (c *Conn) RoundTrip(x *Exchange) error {
	x.begin()
	x.Sent = x.Clock()
	c.mu.Lock()
	switch {
	case !c.isOpen():
		err := c.err
		c.mu.Unlock()
		return errors.Join(ErrUnseen, err)
	case len(c.waiting) > 0 || !c.hasRoom():
		x.Waited = true
		c.waiting = append(c.waiting, x)
	default:
		c.start(x)
	}
	if !c.watching && c.err == nil { // otherwise the timer is set for an older exchange, which ends first
		c.watching = true
		c.watchdog.Reset(c.limit)
	}
	c.flush(true)
	c.mu.Unlock()
	<-x.done
	return x.err
}

// start gives an exchange a stream and appends its request to out. The caller holds mu, and the connection
// is not draining.
func (c *Conn) start(x *Exchange) {
	if x.Waited {
		x.Sent = x.Clock()
	}
	x.id = c.next
	x.window = c.initial
	x.begun = time.Now()
	c.next += 2
	c.draining = c.next > maxID // there are no further streams
	c.exchanges[x.id] = x
	x.Written = int64(len(x.request))
	flags := byte(0)
	if len(x.upload) == 0 {
		flags = flagEndStream
	}
	kind := byte(frameHeaders)
	for rest := x.request; ; kind, flags = frameContinuation, 0 {
		part := rest[:min(len(rest), maxFrame)]
		if rest = rest[len(part):]; len(rest) == 0 {
			flags |= flagEndHeaders
		}
		c.out = appendFrame(c.out, kind, flags, x.id, part)
		if len(rest) == 0 {
			break
		}
	}
	if len(x.upload) > 0 {
		c.push(x)
	}
}

// push appends as much of a body to out as the server's windows permit. The caller holds mu.
func (c *Conn) push(x *Exchange) {
	for len(x.upload) > 0 {
		left := int64(len(x.upload))
		n := int(min(left, maxFrame, c.window, x.window))
		if n <= 0 {
			if !x.blocked {
				x.blocked = true
				c.blocked = append(c.blocked, x)
			}
			return
		}
		flags := byte(0)
		if n == len(x.upload) {
			flags = flagEndStream
		}
		c.out = appendFrame(c.out, frameData, flags, x.id, x.upload[:n])
		x.upload = x.upload[n:]
		x.Written += int64(n)
		c.window -= int64(n)
		x.window -= int64(n)
	}
}

// pushAll continues with the bodies that waited for the window. The caller holds mu.
func (c *Conn) pushAll() {
	waiting := c.blocked
	c.blocked = nil
	for _, x := range waiting {
		if x.blocked = false; x.id != 0 {
			c.push(x)
		}
	}
}

// end ends an exchange and starts the next one that waits for a stream. The caller holds mu.
func (c *Conn) end(x *Exchange, err error) {
	delete(c.exchanges, x.id)
	if len(x.upload) > 0 && c.err == nil { // the answer came before the whole request was sent
		c.reset(x.id, cancel)
	}
	x.id = 0
	x.upload = nil
	x.err = err
	if c.heading == x { // the rest of its header block belongs to no exchange
		c.heading = nil
	}
	if x.blocked {
		x.blocked = false
		c.blocked = slices.DeleteFunc(c.blocked, func(other *Exchange) bool { return other == x })
	}
	x.done <- struct{}{} // never blocks: an exchange ends once
	c.admit()
	if c.draining && len(c.exchanges) == 0 {
		c.closeLocked(ErrClosed)
	}
}

// abort ends an exchange and resets its stream. The caller holds mu.
func (c *Conn) abort(x *Exchange, code Code, err error) {
	c.reset(x.id, code)
	x.upload = nil // otherwise end resets the stream of an unfinished upload, too
	c.end(x, err)
}

// admit starts exchanges that waited for a stream. The caller holds mu.
func (c *Conn) admit() {
	for len(c.waiting) > 0 && c.hasRoom() {
		next := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.start(next)
	}
}

// reset tells the server that this side has ended a stream. The caller holds mu.
func (c *Conn) reset(id uint32, code Code) {
	c.out = appendFrame(c.out, frameReset, 0, id, binary.BigEndian.AppendUint32(nil, uint32(code)))
}

// flush writes out to the connection, unless another goroutine is writing, which will write it. The caller
// holds mu. If yields is set, other goroutines run first, so that their frames go out with the same write.
func (c *Conn) flush(yields bool) {
	if !c.writing.IsZero() || len(c.out) == 0 || c.err != nil {
		return
	}
	c.writing = time.Now()
	if yields {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	for len(c.out) > 0 && c.err == nil {
		data := c.out
		c.out = c.spare[:0]
		c.mu.Unlock()
		_, err := c.conn.Write(data)
		c.mu.Lock()
		if c.spare = data[:0]; cap(data) > maxSpare {
			c.spare = nil
		}
		if err != nil {
			c.writeFailed(err)
		}
	}
	c.writing = time.Time{}
}

// writesFor reports whether a write has been in progress for at least some time. The caller holds mu.
func (c *Conn) writesFor(span time.Duration) bool {
	return !c.writing.IsZero() && time.Since(c.writing) >= span
}

// writeFailed handles a server that accepts no more data. Its earlier data is still read, up to its end
// of the connection. The caller holds mu.
func (c *Conn) writeFailed(err error) {
	c.draining = true
	c.out = nil
	c.refuseWaiting(err)
	if len(c.exchanges) == 0 {
		c.closeLocked(err)
	}
}

// closeWith ends the connection and all its exchanges with an error. The first call counts.
func (c *Conn) closeWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked(err)
}

// closeLocked is closeWith for a caller that holds mu.
func (c *Conn) closeLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.watchdog.Stop()
	if !c.settled { // otherwise ready is closed already
		c.settled = true
		close(c.ready)
	}
	// Closing may wait for the end of a write, so it must not happen under mu.
	go func() { _ = c.conn.Close() }()
	for _, x := range c.exchanges {
		c.end(x, err)
	}
	c.refuseWaiting(err)
}

// refuseWaiting ends the exchanges that wait for a stream. The caller holds mu.
func (c *Conn) refuseWaiting(err error) {
	for _, x := range c.waiting {
		x.err = errors.Join(ErrUnseen, err)
		x.done <- struct{}{}
	}
	c.waiting = nil
}

// watch ends the exchanges that have exceeded their time limit, and runs again when the next one may. If an
// exchange timed out and nothing has come for a whole limit, it sends a ping. It ends the connection if
// nothing comes after the ping either, or if a write takes as long.
func (c *Conn) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watching = false
	now := time.Now()
	expired := false
	left := func(x *Exchange) time.Duration { return c.limit - now.Sub(x.begun) }
	for _, x := range c.exchanges {
		if left(x) <= 0 {
			expired = true
			c.abort(x, cancel, ErrTimeout)
		}
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(x *Exchange) bool {
		if left(x) > 0 {
			return false
		}
		x.err = ErrTimeout
		x.done <- struct{}{}
		return true
	})
	next := time.Duration(math.MaxInt64)
	for _, x := range c.exchanges { // with those that were started in place of the ended ones
		next = min(next, left(x))
	}
	for _, x := range c.waiting {
		next = min(next, left(x))
	}
	silent := (expired || c.pinged) && now.Sub(c.lastData) >= c.limit
	dead := silent && c.pinged
	switch {
	case c.err != nil:
		return
	case dead || c.writesFor(c.limit):
		c.closeLocked(fmt.Errorf("%w: nor anything else on the connection", ErrTimeout))
		return
	case silent:
		c.pinged = true
		c.out = appendFrame(c.out, framePing, 0, 0, make([]byte, 8))
		next = min(next, c.limit)
	}
	if next < math.MaxInt64 {
		c.watching = true
		c.watchdog.Reset(next)
	}
	c.flush(false)
}

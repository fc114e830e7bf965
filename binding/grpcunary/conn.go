package grpcunary

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/net/http2/hpack"

	"github.com/cleave-lab/cleave/binding/accept"
)

// conn is the part of a connection that client and server share. Any goroutine writes
// frames; one goroutine reads them.
//
// Frames are queued in out while another goroutine writes, so under load many calls
// share one system call; a single call is written at once.
type conn struct {
	net.Conn

	mu        sync.Mutex // guards all fields up to streamLimit
	room      *sync.Cond // on mu: a window has grown, a stream has ended, or the connection has failed
	out       []byte     // queued frames
	spare     []byte     // memory for the next queue
	writing   bool       // a goroutine writes the queue
	failed    error      // why the connection has ended; nil while it is usable
	goingAway bool       // no new streams
	next      uint32     // of a client: the number of its next stream
	waiting   int        // goroutines that wait for room
	streams   map[uint32]*stream

	block   bytes.Buffer
	encoder *hpack.Encoder // into block

	// The limits that the peer has set.
	window       int64 // bytes left of the connection's window
	streamWindow int64 // initial window of new streams
	frameSize    int
	streamLimit  int

	// These belong to the goroutine that reads.
	decoder     *hpack.Decoder
	header      fields // of the header block that is being read
	headerBytes int    // size of that block so far
	continued   frame  // a HEADERS frame whose block continues; kind 0: none
	consumed    int64  // bytes received since the last WINDOW_UPDATE for the connection
}

// stream is one call on a connection.
type stream struct {
	id     uint32
	window int64  // bytes left of the window that the peer has set; guarded by conn.mu
	body   []byte // received so far; guarded by conn.mu
	fields fields // received

	ended  bool               // server: the whole request has come; guarded by conn.mu
	done   chan struct{}      // client: receives a value when the call has ended
	lost   error              // client: why there is no answer; set before done
	cancel context.CancelFunc // server: cancels the call while it runs
	gone   bool               // server: the caller has given up; guarded by conn.mu
}

// newConn returns a connection on which nothing was sent or received.
func newConn(raw net.Conn) *conn {
	c := &conn{Conn: accept.LimitWrites(raw, accept.AnswerTimeout), streams: map[uint32]*stream{},
		window: defaultWindow, streamWindow: defaultWindow, frameSize: defaultFrameSize,
		streamLimit: unlimitedStreams}
	c.room = sync.NewCond(&c.mu)
	c.encoder = hpack.NewEncoder(&c.block)
	c.decoder = hpack.NewDecoder(defaultTableSize, func(field hpack.HeaderField) { c.header.take(field) })
	c.decoder.SetMaxStringLength(maxHeaderValue)
	return c
}

// writeFields appends a header block. mu is held.
func (c *conn) writeFields(stream uint32, end bool, lists ...[]hpack.HeaderField) {
	c.block.Reset()
	for _, list := range lists {
		for _, field := range list {
			_ = c.encoder.WriteField(field) // writes to a bytes.Buffer never fail
		}
	}
	kind := byte(frameHeaders)
	flags := byte(0)
	if end {
		flags = flagEndStream
	}
	for {
		part := c.block.Next(c.frameSize)
		if c.block.Len() == 0 {
			flags |= flagEndHeaders
		}
		c.out = append(appendPrefix(c.out, len(part), kind, flags, stream), part...)
		if c.block.Len() == 0 {
			return
		}
		kind, flags = frameContinuation, 0
	}
}

// writeData queues a message in DATA frames; end sets END_STREAM in the last one. While the peer's windows
// are full or too much is unsent, it waits, at most for accept.AnswerTimeout. It returns nil if the stream
// has ended meanwhile. mu is held; it is released while waiting.
func (c *conn) writeData(ctx context.Context, s *stream, data []byte, end bool) error {
	for waits := false; ; {
		n := int(min(int64(len(data)), int64(c.frameSize), c.window, s.window))
		fits := n > 0 || len(data) == 0
		if fits && len(c.out) < fullQueue {
			flags := byte(0)
			if end && n == len(data) {
				flags = flagEndStream
			}
			c.out = append(appendPrefix(c.out, n, frameData, flags, s.id), data[:n]...)
			c.window -= int64(n)
			s.window -= int64(n)
			if data = data[n:]; len(data) == 0 {
				return nil
			}
			continue
		}
		if !waits {
			limited, cancel := context.WithTimeout(ctx, accept.AnswerTimeout)
			defer cancel()
			ctx, waits = limited, true
		}
		err := c.await(ctx, func() bool {
			hasRoom := c.window > 0 && s.window > 0 && len(c.out) < fullQueue
			return hasRoom || c.streams[s.id] != s
		})
		if err != nil {
			return err
		}
		if c.streams[s.id] != s {
			return nil // the peer has ended the stream and does not read the rest
		}
	}
}

// await flushes and waits until a condition holds. It returns an error if the connection
// fails or ctx ends before. mu is held; it is released while waiting.
func (c *conn) await(ctx context.Context, holds func() bool) error {
	if c.failed != nil || holds() {
		return c.failed
	}
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.room.Broadcast()
	})
	defer stop()
	c.flush()
	c.waiting++
	defer func() { c.waiting-- }()
	for c.failed == nil && !holds() {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.room.Wait()
	}
	return c.failed
}

// flush writes the queued frames. If another goroutine is writing, it returns at once,
// because that goroutine also writes these frames. mu is held; it is released during writes.
func (c *conn) flush() {
	if c.isWriting() {
		return
	}
	c.writing = true
	for len(c.out) > 0 && c.failed == nil {
		gathered := c.out
		c.out = c.spare[:0]
		if c.waiting > 0 {
			c.room.Broadcast()
		}
		c.mu.Unlock()
		_, err := c.Write(gathered)
		c.mu.Lock()
		if c.spare = gathered[:0]; cap(gathered) > keptBytes {
			c.spare = nil
		}
		if err != nil {
			c.fail(err)
		}
	}
	c.writing = false
	if c.waiting > 0 {
		c.room.Broadcast()
	}
}

// isWriting reports whether a goroutine writes the queue. It fails the connection if the queue is longer than
// maxQueued: then the peer sends frames that are answered at once (PING, SETTINGS), but does not read the
// answers. mu is held.
func (c *conn) isWriting() bool {
	if c.writing && len(c.out) > maxQueued {
		c.fail(fmt.Errorf("the peer does not read: %d bytes are unsent", len(c.out)))
	}
	return c.writing
}

// Limits of the queue in bytes: writeData waits from fullQueue on, and beyond maxQueued the connection fails.
const fullQueue, maxQueued = 1 << 20, 4 << 20

// isIdle reports whether no call is open and all frames are written. mu is held.
func (c *conn) isIdle() bool { return len(c.streams) == 0 && len(c.out) == 0 && !c.writing }

// keptBytes is the size, in bytes, of the largest buffer that is kept for reuse.
const keptBytes = 64 << 10

// flushAsync flushes in another goroutine. It is for the reading goroutine, which must not
// wait for the peer to read while the peer waits for it to read. mu is held.
func (c *conn) flushAsync() {
	if c.isWriting() {
		return
	}
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.flush()
	}()
}

// fail closes the connection and wakes all waiters; the first reason is kept. mu is held.
func (c *conn) fail(why error) {
	if c.failed != nil {
		return
	}
	c.failed = why
	_ = c.Close() // nothing can be done about an error
	c.room.Broadcast()
}

// remove removes a stream and wakes goroutines that wait for room. mu is held.
func (c *conn) remove(s *stream) {
	delete(c.streams, s.id)
	if c.waiting > 0 {
		c.room.Broadcast()
	}
}

// drop resets a stream if it is still open, and reports whether it was. mu is held.
func (c *conn) drop(s *stream) bool {
	if c.streams[s.id] != s {
		return false
	}
	c.remove(s)
	c.out = appendNumber(c.out, frameReset, s.id, codeCancel)
	c.flush()
	return true
}

// run reads frames until the connection ends and returns why. It passes the frames of
// calls, and GOAWAY, to take.
func (c *conn) run(take func(frame) error) error {
	memory := make([]byte, 4*(defaultFrameSize+framePrefix))
	from, to := 0, 0
	for {
		n, err := c.Read(memory[to:])
		to += n
		for {
			f, taken, err := parseFrame(memory[from:to])
			if err == nil && taken > 0 {
				err = c.dispatch(f, take)
			}
			if err != nil {
				return c.reject(err)
			}
			if taken == 0 {
				break
			}
			from += taken
		}
		if err != nil {
			return err
		}
		if from == to {
			from, to = 0, 0
		} else if to == len(memory) {
			to = copy(memory, memory[from:to])
			from = 0
		}
	}
}

// reject returns err. If it is a mistake of the peer, reject first sends GOAWAY with the error's code.
func (c *conn) reject(err error) error {
	if mistake, is := errors.AsType[*protocolError](err); is {
		c.mu.Lock()
		c.out = appendGoAway(c.out, 0, mistake.code)
		c.flush()
		c.mu.Unlock()
	}
	return err
}

// dispatch handles the frames that concern the connection and passes the others to
// take: HEADERS only once the header block is complete in c.header.
func (c *conn) dispatch(f frame, take func(frame) error) error {
	continues := f.kind == frameContinuation && f.stream == c.continued.stream
	if c.continued.kind != 0 && !continues {
		return violation("a header block is interrupted")
	}
	switch f.kind {
	case frameHeaders, frameContinuation:
		whole, err := c.readBlock(f)
		if err != nil || whole.kind == 0 {
			return err
		}
		return take(whole)
	case frameData:
		c.giveBack(len(f.payload))
		return take(f)
	case frameReset, frameGoAway:
		if len(f.payload) < 4 {
			return &protocolError{codeFrameSize, "a short frame"}
		}
		return take(f)
	case frameSettings, framePing, frameWindow:
		return c.control(f)
	}
	return nil // PRIORITY, PUSH_PROMISE and unknown kinds are ignored
}

// readBlock decodes a frame of a header block into c.header. It returns the block's HEADERS
// frame once the block is complete, and a frame of kind 0 before.
func (c *conn) readBlock(f frame) (whole frame, err error) {
	block := f.payload
	if f.kind == frameHeaders {
		c.header = fields{}
		c.headerBytes = 0
		if block, err = f.content(); err != nil {
			return frame{}, err
		}
	} else if c.continued.kind == 0 {
		return frame{}, violation("a CONTINUATION frame without a HEADERS frame")
	}
	if c.headerBytes += len(block); c.headerBytes > maxHeaderBlock {
		return frame{}, violation("a header block that is too long")
	}
	if _, err := c.decoder.Write(block); err != nil {
		return frame{}, &protocolError{codeCompression, err.Error()}
	}
	if f.kind == frameHeaders {
		whole = frame{kind: frameHeaders, flags: f.flags, stream: f.stream}
	} else {
		whole = c.continued
	}
	if !f.has(flagEndHeaders) {
		c.continued = whole
		return frame{}, nil
	}
	c.continued = frame{}
	if err := c.decoder.Close(); err != nil {
		return frame{}, &protocolError{codeCompression, err.Error()}
	}
	return whole, nil
}

// giveBack counts n received bytes and, once they are half of the connection's window,
// returns them to the peer with a WINDOW_UPDATE.
func (c *conn) giveBack(n int) {
	if c.consumed += int64(n); c.consumed < ourConnectionWindow/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = appendNumber(c.out, frameWindow, 0, uint32(c.consumed))
	c.consumed = 0
	c.flushAsync()
}

// control handles SETTINGS, PING and WINDOW_UPDATE.
func (c *conn) control(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case f.kind == frameWindow:
		if len(f.payload) != 4 {
			return &protocolError{codeFrameSize, "a WINDOW_UPDATE of another length"}
		}
		return c.grow(f.stream, int64(binary.BigEndian.Uint32(f.payload)&windowLimit))
	case f.has(flagAck):
		return nil
	case f.kind == framePing:
		if len(f.payload) != 8 {
			return &protocolError{codeFrameSize, "a PING of another length"}
		}
		c.out = append(appendPrefix(c.out, 8, framePing, flagAck, 0), f.payload...)
	default:
		if err := c.applySettings(f.payload); err != nil {
			return err
		}
		c.out = appendPrefix(c.out, 0, frameSettings, flagAck, 0)
	}
	c.flushAsync()
	return nil
}

// grow enlarges the window of a stream, or of the connection if id is 0. mu is held.
func (c *conn) grow(id uint32, by int64) error {
	if id == 0 {
		c.window += by
	} else if s := c.streams[id]; s != nil {
		s.window += by
	}
	if c.window > windowLimit {
		return violation("a window that is too large")
	}
	c.room.Broadcast()
	return nil
}

// applySettings stores the peer's settings, which alternate setting and value. mu is held.
func (c *conn) applySettings(pairs []byte) error {
	if len(pairs)%6 != 0 {
		return &protocolError{codeFrameSize, "SETTINGS of another length"}
	}
	for ; len(pairs) > 0; pairs = pairs[6:] {
		value := binary.BigEndian.Uint32(pairs[2:])
		switch binary.BigEndian.Uint16(pairs) {
		case settingTableSize:
			c.encoder.SetMaxDynamicTableSizeLimit(min(value, defaultTableSize))
		case settingStreams:
			c.streamLimit = int(min(value, unlimitedStreams))
		case settingFrameSize:
			if value < defaultFrameSize || value > 1<<24-1 {
				return violation(fmt.Sprintf("a frame size of %d", value))
			}
			c.frameSize = int(value)
		case settingWindow:
			if value > windowLimit {
				return violation("a window that is too large")
			}
			for _, s := range c.streams {
				s.window += int64(value) - c.streamWindow
			}
			c.streamWindow = int64(value)
		}
	}
	c.room.Broadcast()
	return nil
}

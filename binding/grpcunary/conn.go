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

// errClosed means that a connection was closed on this side.
var errClosed = errors.New("the connection is closed")

// conn holds the state that both ends of a connection have in common: frames are written by
// whoever has something to say, and read by one goroutine.
//
// What is written gathers while another goroutine writes, so under load many calls
// share one system call; alone, a call is written at once.
type conn struct {
	net.Conn

	mu      sync.Mutex // guards all below
	room    *sync.Cond // on mu: a window has grown, a stream has gone, or all is over
	out     []byte     // gathered
	spare   []byte     // memory for the next gathering
	writing bool       // somebody writes what gathers
	failed  error      // why the connection is over
	leaving bool       // no new streams
	next    uint32     // of a client: the number of its next stream
	waiting int        // goroutines that wait for room
	streams map[uint32]*stream

	block   bytes.Buffer
	encoder *hpack.Encoder // into block

	// What the peer takes.
	window       int64 // of all streams together
	streamWindow int64 // of a new stream
	frameSize    int
	streamLimit  int

	// Of the goroutine that reads.
	decoder   *hpack.Decoder
	got       fields // of the header block that is being read
	gotBytes  int    // of its frames
	continued frame  // HEADERS whose block goes on; kind 0: none
	consumed  int64  // bytes of messages since the peer's window was made whole
}

// stream is one call on a connection.
type stream struct {
	id     uint32
	window int64  // what the peer takes of it; guarded by conn.mu
	body   []byte // received so far; guarded by conn.mu
	fields fields // received

	ended  bool               // of a server's call: the whole request has come; guarded by conn.mu
	done   chan struct{}      // of a client's call: it is over
	lost   error              // why it has no answer
	cancel context.CancelFunc // of a server's call that is being carried out
	gone   bool               // the caller has given up; guarded by conn.mu
}

func newConn(raw net.Conn) *conn {
	c := &conn{Conn: accept.LimitWrites(raw, accept.AnswerTimeout), streams: map[uint32]*stream{},
		window: defaultWindow, streamWindow: defaultWindow, frameSize: defaultFrameSize,
		streamLimit: unlimitedStreams}
	c.room = sync.NewCond(&c.mu)
	c.encoder = hpack.NewEncoder(&c.block)
	c.decoder = hpack.NewDecoder(defaultTableSize, func(field hpack.HeaderField) { c.got.take(field) })
	c.decoder.SetMaxStringLength(maxHeaderValue)
	return c
}

// writeFields appends a header block. mu is held.
func (c *conn) writeFields(stream uint32, end bool, lists ...[]hpack.HeaderField) {
	c.block.Reset()
	for _, list := range lists {
		for _, field := range list {
			_ = c.encoder.WriteField(field) // memory takes everything
		}
	}
	kind, flags := byte(frameHeaders), byte(0)
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

// writeData appends a message, and waits where the peer's windows are too small or too much is unsent, for
// accept.AnswerTimeout at most. mu is held; it is released meanwhile.
func (c *conn) writeData(ctx context.Context, s *stream, data []byte, end bool) error {
	for waits := false; ; {
		n := int(min(int64(min(len(data), c.frameSize)), c.window, s.window))
		if (n > 0 || len(data) == 0) && len(c.out) < fullyGathered {
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
			return c.window > 0 && s.window > 0 && len(c.out) < fullyGathered || c.streams[s.id] != s
		})
		if err != nil {
			return err
		}
		if c.streams[s.id] != s {
			return nil // it is over: nobody reads the rest
		}
	}
}

// await waits until a condition holds, the connection is over or ctx ends. mu is
// held; it is released meanwhile.
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

// flush writes what has gathered, unless somebody does already, who then writes
// this too. mu is held; it is released meanwhile.
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
		if c.spare = gathered[:0]; cap(gathered) > keptMemory {
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

// isWriting reports whether somebody writes what gathers. A peer that reads none of it and has more gather,
// by frames that are answered at once, loses its connection. mu is held.
func (c *conn) isWriting() bool {
	if c.writing && len(c.out) > maxGathered {
		c.fail(fmt.Errorf("the peer does not read: %d bytes are unsent", len(c.out)))
	}
	return c.writing
}

// Limits of what gathers, in bytes: messages wait beyond the first, and the second ends the connection.
const fullyGathered, maxGathered = 1 << 20, 4 << 20

// quiet reports whether no call is left and all is written. mu is held.
func (c *conn) quiet() bool { return len(c.streams) == 0 && len(c.out) == 0 && !c.writing }

// keptMemory is how much memory, in bytes, is kept for the next write or message.
const keptMemory = 64 << 10

// flushBeside writes for the goroutine that reads, which must not wait for a peer
// that waits for it. mu is held.
func (c *conn) flushBeside() {
	if c.isWriting() {
		return
	}
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.flush()
	}()
}

// fail ends the connection; the first reason stays. mu is held.
func (c *conn) fail(why error) {
	if c.failed != nil {
		return
	}
	c.failed = why
	_ = c.Close() // it is over in any case
	c.room.Broadcast()
}

// remove forgets a stream. mu is held.
func (c *conn) remove(s *stream) {
	delete(c.streams, s.id)
	if c.waiting > 0 {
		c.room.Broadcast()
	}
}

// drop ends a call before its end, and reports whether it was open. mu is held.
func (c *conn) drop(s *stream) bool {
	if c.streams[s.id] != s {
		return false
	}
	c.remove(s)
	c.out = appendNumber(c.out, frameReset, s.id, codeCancel)
	c.flush()
	return true
}

// run reads frames and hands those of calls on, until the connection is over.
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
			from, to = 0, copy(memory, memory[from:to])
		}
	}
}

// reject tells the peer what it did wrong.
func (c *conn) reject(err error) error {
	var mistake *protocolError
	if errors.As(err, &mistake) {
		c.mu.Lock()
		c.out = appendGoAway(c.out, 0, mistake.code)
		c.flush()
		c.mu.Unlock()
	}
	return err
}

// dispatch handles what concerns the connection and hands the rest on, with whole
// header blocks in c.got.
func (c *conn) dispatch(f frame, take func(frame) error) error {
	if c.continued.kind != 0 && (f.kind != frameContinuation || f.stream != c.continued.stream) {
		return wrong("a header block is interrupted")
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
	return nil // of a kind that is to be ignored
}

// readBlock decodes a header block; what it returns has kind 0 until it is whole.
func (c *conn) readBlock(f frame) (whole frame, err error) {
	block := f.payload
	if f.kind == frameHeaders {
		c.got, c.gotBytes = fields{}, 0
		if block, err = f.content(); err != nil {
			return frame{}, err
		}
	} else if c.continued.kind == 0 {
		return frame{}, wrong("a continuation of nothing")
	}
	if c.gotBytes += len(block); c.gotBytes > maxHeaderBlock {
		return frame{}, wrong("a header block that is too long")
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

// giveBack makes the window of all streams together whole again, now and then.
func (c *conn) giveBack(n int) {
	if c.consumed += int64(n); c.consumed < ourConnection/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = appendNumber(c.out, frameWindow, 0, uint32(c.consumed))
	c.consumed = 0
	c.flushBeside()
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
		if err := c.settle(f.payload); err != nil {
			return err
		}
		c.out = appendPrefix(c.out, 0, frameSettings, flagAck, 0)
	}
	c.flushBeside()
	return nil
}

// grow makes a window larger. mu is held.
func (c *conn) grow(id uint32, by int64) error {
	if id == 0 {
		c.window += by
	} else if s := c.streams[id]; s != nil {
		s.window += by
	}
	if c.window > windowLimit {
		return wrong("a window that is too large")
	}
	c.room.Broadcast()
	return nil
}

// settle takes over the peer's settings. mu is held.
func (c *conn) settle(pairs []byte) error {
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
				return wrong(fmt.Sprintf("a frame size of %d", value))
			}
			c.frameSize = int(value)
		case settingWindow:
			if value > windowLimit {
				return wrong("a window that is too large")
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

package http2

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"golang.org/x/net/http2/hpack"
)

// Types of frames and their flags (RFC 9113, 6).
const (
	frameData         = 0
	frameHeaders      = 1
	framePriority     = 2
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameGoAway       = 7
	frameWindow       = 8
	frameContinuation = 9

	frameHead = 9 // bytes before a payload

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4
	flagPadded     = 8
	flagPriority   = 32
)

// Settings.
const (
	settingPush    = 2
	settingStreams = 3
	settingWindow  = 4
	settingFrame   = 5
	settingHeader  = 6
)

// setting is a setting that one peer sends the other.
type setting struct {
	name  uint16
	value uint32
}

// settings returns the payload of a SETTINGS frame.
func settings(all ...setting) []byte {
	var out []byte
	for _, s := range all {
		out = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(out, s.name), s.value)
	}
	return out
}

// appendFrame writes a frame (RFC 9113, 4.1).
func appendFrame(out []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	out = append(out, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	return append(binary.BigEndian.AppendUint32(out, stream), payload...)
}

// reader holds the state of the reading goroutine. The connection's lock guards it.
type reader struct {
	decoder *hpack.Decoder
	block   uint32    // stream of the incomplete header block; 0: there is none
	last    bool      // the block ends its stream
	length  int       // length of the block so far, in bytes
	heading *Exchange // the exchange of the block; nil: it has ended
	settled bool      // the server's first settings have come
	credit  int64     // bytes that came and are not yet credited to the connection's window
}

// take passes a decoded field of a header block to its exchange.
func (r *reader) take(f hpack.HeaderField) {
	if r.heading != nil {
		r.heading.field(f.Name, f.Value)
	}
}

// read reads frames until the connection ends. Its buffer grows up to a few frames.
func (c *Conn) read() {
	input := make([]byte, 4<<10)
	kept := 0 // bytes of an incomplete frame
	for {
		n, err := c.conn.Read(input[kept:])
		if n > 0 {
			whole, mistake := c.receive(input[:kept+n])
			if mistake != nil {
				c.closeWith(mistake)
				return
			}
			full := kept+n == len(input)
			kept = copy(input, input[whole:kept+n])
			if full && len(input) < 4*maxFrame {
				grown := make([]byte, 2*len(input))
				copy(grown, input[:kept])
				input = grown
			}
		}
		if err != nil {
			c.closeWith(err)
			return
		}
	}
}

// receive handles the complete frames and returns their length in bytes.
func (c *Conn) receive(data []byte) (taken int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastData = time.Now()
	c.pinged = false
	for len(data)-taken >= frameHead && c.err == nil {
		head := data[taken : taken+frameHead]
		n := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		if n > maxFrame {
			return taken, malformed("a frame has %d bytes", n)
		}
		if len(data)-taken < frameHead+n {
			break
		}
		payload := data[taken+frameHead : taken+frameHead+n]
		taken += frameHead + n
		if err := c.dispatch(head[3], head[4], binary.BigEndian.Uint32(head[5:])&maxID, payload); err != nil {
			return taken, err
		}
	}
	if len(c.out) > maxControl && c.writesFor(time.Second) {
		return taken, malformed("it sends pings or settings and does not read the answers")
	}
	if len(c.out) > 0 && c.writing.IsZero() {
		// This goroutine must go on reading: the server may write before it reads.
		go func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.flush(false)
		}()
	}
	return taken, nil
}

// dispatch handles a frame. An error ends the connection.
func (c *Conn) dispatch(kind, flags byte, stream uint32, payload []byte) error {
	isSettings := kind == frameSettings && flags&flagAck == 0
	isInBlock := c.block != 0
	continues := kind == frameContinuation
	switch {
	case !c.settled && !isSettings:
		return malformed("it does not begin with settings")
	case isInBlock != continues, isInBlock && c.block != stream:
		return malformed("a header block is interrupted")
	}
	switch kind {
	case frameData, frameHeaders, frameReset, frameContinuation:
		if stream%2 == 0 || stream >= c.next {
			return malformed("a frame of kind %d is about stream %d, which is not ours", kind, stream)
		}
		return c.streamFrame(kind, flags, stream, payload)
	case frameWindow:
		return c.widen(stream, payload)
	case frameSettings, framePing, frameGoAway:
		if stream != 0 {
			return malformed("a frame of kind %d is about stream %d", kind, stream)
		}
		return c.connectionFrame(kind, flags, payload)
	case framePriority:
		return nil
	case framePush:
		return malformed("it pushes, which it was asked not to")
	}
	return nil // unknown frames are extensions (RFC 9113, 5.5)
}

// streamFrame handles a frame of a stream that this side has started.
func (c *Conn) streamFrame(kind, flags byte, stream uint32, payload []byte) (err error) {
	x := c.exchanges[stream] // nil if it has ended
	switch kind {
	case frameReset:
		if len(payload) != 4 {
			return malformed("a reset has %d bytes", len(payload))
		}
		if x != nil {
			x.upload = nil
			c.end(x, ResetError{Code(binary.BigEndian.Uint32(payload))})
		}
		return nil
	case frameContinuation:
		return c.fragment(payload, flags)
	}
	whole := int64(len(payload))
	if payload, err = unpad(kind, flags, payload); err != nil {
		return err
	}
	if kind == frameHeaders {
		c.block = stream
		c.last = flags&flagEndStream != 0
		c.length = 0
		c.heading = x
		return c.fragment(payload, flags)
	}
	return c.data(x, payload, whole, flags&flagEndStream != 0)
}

// unpad returns a payload without its padding and priority.
func unpad(kind, flags byte, payload []byte) ([]byte, error) {
	padding, priority := 0, 0
	if flags&flagPadded != 0 {
		if len(payload) == 0 {
			return nil, malformed("a frame has no room for its padding")
		}
		padding, payload = int(payload[0]), payload[1:]
	}
	if kind == frameHeaders && flags&flagPriority != 0 {
		priority = 5
	}
	if len(payload) < padding+priority {
		return nil, malformed("a frame has more padding than bytes")
	}
	return payload[priority : len(payload)-padding], nil
}

// fragment reads a part of a header block. It also decodes blocks of exchanges that have ended, because
// their fields change the table for all later blocks.
func (c *Conn) fragment(part []byte, flags byte) error {
	if c.length += len(part); c.length > maxHead {
		return ErrTooLarge
	}
	if c.heading != nil && c.heading.First == 0 {
		c.heading.First = c.heading.Clock()
	}
	_, err := c.decoder.Write(part)
	if err == nil && flags&flagEndHeaders == 0 {
		return nil
	}
	if err = errors.Join(err, c.decoder.Close()); err != nil {
		if errors.Is(err, hpack.ErrStringLength) {
			return ErrTooLarge
		}
		return malformed("its header: %v", err)
	}
	x, last := c.heading, c.last
	c.block = 0
	c.heading = nil
	if x == nil {
		return nil
	}
	switch err := x.endOfBlock(last); {
	case err != nil:
		c.abort(x, protocolError, err)
	case last:
		c.end(x, nil)
	}
	return nil
}

// data takes a part of a body and credits it to the server's window.
func (c *Conn) data(x *Exchange, part []byte, whole int64, last bool) error {
	if c.credit += whole; c.credit >= connWindow/2 {
		c.out = appendFrame(c.out, frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, uint32(c.credit)))
		c.credit = 0
	}
	if x == nil {
		return nil
	}
	err := x.data(part)
	if err == nil && last {
		err = x.end()
	}
	switch {
	case err != nil:
		c.abort(x, protocolError, err)
	case last:
		c.end(x, nil)
	default:
		if x.credit += whole; x.credit >= streamWindow/2 {
			c.out = appendFrame(c.out, frameWindow, 0, x.id, binary.BigEndian.AppendUint32(nil, uint32(x.credit)))
			x.credit = 0
		}
	}
	return nil
}

// widen increases a send window.
func (c *Conn) widen(stream uint32, payload []byte) error {
	if len(payload) != 4 || stream >= c.next {
		return malformed("a window of %d bytes for stream %d", len(payload), stream)
	}
	n := int64(binary.BigEndian.Uint32(payload) & maxID)
	x, window := c.exchanges[stream], &c.window
	if x != nil {
		window = &x.window
	}
	if stream != 0 && x == nil {
		return nil
	}
	if n == 0 || *window+n > math.MaxInt32 {
		return malformed("it makes a window of %d greater by %d", *window, n)
	}
	*window += n
	c.pushAll()
	return nil
}

// connectionFrame handles a frame about the connection itself.
func (c *Conn) connectionFrame(kind, flags byte, payload []byte) error {
	switch {
	case kind == frameSettings && flags&flagAck == 0:
		return c.settings(payload)
	case kind == frameSettings && len(payload) > 0, kind == framePing && len(payload) != 8,
		kind == frameGoAway && len(payload) < 8:
		return malformed("a frame of kind %d has %d bytes", kind, len(payload))
	case kind == framePing && flags&flagAck == 0:
		c.out = appendFrame(c.out, framePing, flagAck, 0, payload)
	case kind == frameGoAway:
		last := binary.BigEndian.Uint32(payload) & maxID
		code := binary.BigEndian.Uint32(payload[4:])
		c.goAway(last, Code(code))
	}
	return nil
}

// settings applies the server's settings and acknowledges them.
func (c *Conn) settings(payload []byte) error {
	if len(payload)%6 != 0 {
		return malformed("settings have %d bytes", len(payload))
	}
	for ; len(payload) > 0; payload = payload[6:] {
		value := binary.BigEndian.Uint32(payload[2:])
		switch binary.BigEndian.Uint16(payload) {
		case settingPush:
			if value != 0 {
				return malformed("a server cannot be pushed to")
			}
		case settingStreams:
			c.permitted = value
		case settingWindow:
			if value > math.MaxInt32 {
				return malformed("a window of %d", value)
			}
			for _, x := range c.exchanges {
				x.window += int64(value) - c.initial
			}
			c.initial = int64(value)
		case settingFrame:
			if value < maxFrame || value >= 1<<24 {
				return malformed("frames of %d bytes", value)
			}
		}
	}
	c.out = appendFrame(c.out, frameSettings, flagAck, 0, nil)
	c.pushAll()
	c.admit()
	if !c.settled {
		c.settled = true
		close(c.ready)
	}
	return nil
}

// goAway ends the exchanges that the server did not process, and lets the others finish.
func (c *Conn) goAway(last uint32, code Code) {
	c.draining = true
	var err error = GoAwayError{code}
	if code == noError {
		err = ErrUnseen
	}
	c.refuseWaiting(nil)
	for id, x := range c.exchanges {
		if id > last {
			x.upload = nil
			c.end(x, err)
		}
	}
	if len(c.exchanges) == 0 {
		c.closeLocked(ErrClosed)
	}
}

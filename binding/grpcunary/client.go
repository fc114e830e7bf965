package grpcunary

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// Client calls one server over one connection that all calls share. It
// implements grpc.ClientConnInterface.
type Client struct {
	rpc.Unary
	network, address string
	secured          *tls.Config         // nil: no TLS
	common           []hpack.HeaderField // the first header fields of every request
	contentType      string
	messages         messages
	dialing          chan struct{} // a semaphore: one call dials at a time

	mu      sync.Mutex
	current *conn // the connection for new calls, if any
	all     map[*conn]struct{}
	closed  bool
}

var _ grpc.ClientConnInterface = (*Client)(nil)

// NewClient returns a client of the server at an address: host:port, or unix:PATH. It
// connects with the first call. secured is the TLS configuration; nil means no TLS. codec is the
// encoding; nil means Protocol Buffers.
func NewClient(address string, secured *tls.Config, codec rpc.Codec) (*Client, error) {
	codec = cmp.Or[rpc.Codec](codec, rpc.Protobuf{})
	c := &Client{secured: secure.OverHTTP2(secured), contentType: contentTypeOf(codec),
		messages: messages{codec: codec}, dialing: make(chan struct{}, 1), all: map[*conn]struct{}{}}
	c.network, c.address = lab.SplitAddress(address)
	authority, scheme := address, "http"
	if secured != nil {
		scheme = "https"
	}
	if c.network == "unix" {
		authority = "localhost"
	} else if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("call %s: %w", address, err)
	}
	c.common = []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: scheme}, {Name: ":authority", Value: authority},
	}
	return c, nil
}

// Invoke implements grpc.ClientConnInterface. It ignores the options, which are those
// of grpc-go's transport.
func (c *Client) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	ctx, call := spans.Call(ctx, method)
	defer call.End()
	message, err := c.messages.encode(in, call)
	if err != nil {
		return rpc.Unencodable(in, err)
	}
	defer c.messages.put(message)
	s, err := c.roundTrip(ctx, method, *message, call)
	if errors.Is(err, errGoingAway) { // the server has not carried it out: a retry is safe
		s, err = c.roundTrip(ctx, method, *message, call)
	}
	switch {
	case errors.Is(err, errTooLong):
		return rpc.TooLong(c.address, maxResponse, err)
	case err != nil:
		return rpc.Lost(ctx, c.address, err)
	}
	defer c.messages.release(s)
	if answered := s.fields.status(); answered.Code() != codes.OK {
		return rpc.ProblemOfStatus(ctx, c.address, answered)
	}
	if err := c.messages.decode(s.body, out, call); err != nil {
		return rpc.Unexpected(c.address, err)
	}
	return nil
}

// roundTrip sends a request over the connection and returns the stream with its
// answer.
func (c *Client) roundTrip(
	ctx context.Context, method string, message []byte, call *spans.Part,
) (*stream, error) {
	waiting := call.Begin("wait for a connection", lab.SegmentQueueing)
	connection, err := c.connection(ctx)
	waiting.End()
	if err != nil {
		return nil, err
	}
	s := c.messages.stream()
	return s, c.exchange(ctx, connection, s, method, message, call.Traceparent())
}

// connection returns a connection that takes new calls. It dials if there is none.
func (c *Client) connection(ctx context.Context) (*conn, error) {
	if ready, err := c.ready(); ready != nil || err != nil {
		return ready, err
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ready, err := c.ready(); ready != nil || err != nil {
		return ready, err // another call has dialed meanwhile
	}
	raw, err := secure.Dial(ctx, c.network, c.address, c.secured)
	if err != nil {
		return nil, err
	}
	return c.start(raw)
}

// ready returns the current connection if it takes new calls, else nil. It fails after
// Close.
func (c *Client) ready() (*conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, net.ErrClosed
	case c.current == nil:
		return nil, nil
	}
	c.current.mu.Lock()
	defer c.current.mu.Unlock()
	if c.current.goingAway || c.current.failed != nil {
		return nil, nil
	}
	return c.current, nil
}

// start makes a connection the current one and starts to read it. When the connection
// ends, so do its calls.
func (c *Client) start(raw net.Conn) (*conn, error) {
	made := newConn(raw)
	made.next = 1
	made.out = append(made.out, preface...)
	made.out = appendSettings(made.out, settingPush, 0, settingWindow, ourStreamWindow)
	made.out = appendNumber(made.out, frameWindow, 0, ourConnectionWindow-defaultWindow)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(net.ErrClosed, raw.Close())
	}
	c.current = made
	c.all[made] = struct{}{}
	go func() {
		why := made.run(made.handle)
		made.mu.Lock()
		made.fail(why)
		for _, s := range made.streams {
			made.end(s, why)
		}
		made.mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.all, made)
	}()
	return made, nil
}

// exchange sends a request and waits for the end of its answer.
func (c *Client) exchange(
	ctx context.Context, on *conn, s *stream, method string, message []byte, trace string,
) error {
	request := []hpack.HeaderField{{Name: ":path", Value: method}, {Name: "content-type", Value: c.contentType},
		{Name: "te", Value: "trailers"}}
	if deadline, limited := ctx.Deadline(); limited {
		var memory [16]byte
		left := appendTimeout(memory[:0], time.Until(deadline))
		request = append(request, hpack.HeaderField{Name: "grpc-timeout", Value: string(left), Sensitive: true})
	}
	if trace != "" {
		request = append(request, hpack.HeaderField{Name: spans.Header, Value: trace, Sensitive: true})
	}
	if err := on.send(ctx, s, message, c.common, request); err != nil {
		return err
	}
	select {
	case <-s.done:
		return s.lost
	case <-ctx.Done():
	}
	if on.giveUp(s) {
		return ctx.Err()
	}
	<-s.done // the answer came just before the context ended
	return s.lost
}

// send opens a stream and sends a request. After an error no stream is open.
func (c *conn) send(ctx context.Context, s *stream, message []byte, lists ...[]hpack.HeaderField) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.await(ctx, func() bool { return len(c.streams) < c.streamLimit || c.goingAway }); err != nil {
		return err
	}
	if c.goingAway {
		return errGoingAway
	}
	s.id = c.next
	s.window = c.streamWindow
	c.next += 2
	c.goingAway = c.next > lastUsefulStream
	c.streams[s.id] = s
	c.writeFields(s.id, false, lists...)
	if err := c.writeData(ctx, s, message, true); err != nil {
		c.drop(s)
		return err
	}
	c.flush()
	return nil
}

// errGoingAway means that the server has not carried out the call, because the connection
// takes no new ones: the server shuts down, or the stream numbers are used up.
var errGoingAway = errors.New("the server takes no more calls on this connection")

// errTooLong means that the answer has more than maxResponse bytes.
var errTooLong = errors.New("the answer is too long")

// giveUp resets the stream of a call. It reports false if the call has ended already.
func (c *conn) giveUp(s *stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop(s)
}

// end wakes the goroutine that waits for a call; lost is why there is no answer, or nil.
// mu is held.
func (c *conn) end(s *stream, lost error) {
	c.remove(s)
	s.lost = lost
	s.done <- struct{}{}
	if c.goingAway && len(c.streams) == 0 {
		c.fail(errGoingAway)
	}
}

// handle handles GOAWAY and the frames of calls that a server sends.
func (c *conn) handle(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.kind == frameGoAway {
		c.goAway(binary.BigEndian.Uint32(f.payload) & windowLimit)
		return nil
	}
	s := c.streams[f.stream]
	if s == nil {
		return nil // given up
	}
	switch f.kind {
	case frameReset:
		c.end(s, fmt.Errorf("the server gave the call up with HTTP/2 error %d", binary.BigEndian.Uint32(f.payload)))
		return nil
	case frameData:
		content, err := f.content()
		if err != nil {
			return err
		}
		if s.body = append(s.body, content...); isTooLong(s.body, maxResponse) {
			c.out = appendNumber(c.out, frameReset, s.id, codeCancel)
			c.end(s, errTooLong)
			c.flushAsync()
			return nil
		}
	case frameHeaders:
		s.fields = c.header // the trailer, which comes last, has the status
	}
	if f.has(flagEndStream) {
		c.end(s, nil)
	}
	return nil
}

// goAway ends the calls after stream last, which the server will not carry out, and
// takes no new ones. mu is held.
func (c *conn) goAway(last uint32) {
	c.goingAway = true
	c.room.Broadcast() // calls that wait for a stream leave
	for _, s := range c.streams {
		if s.id > last {
			c.end(s, errGoingAway)
		}
	}
	if len(c.streams) == 0 {
		c.fail(errGoingAway)
	}
}

// Close ends the connection and the calls on it.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for open := range c.all {
		open.mu.Lock()
		open.fail(net.ErrClosed)
		open.mu.Unlock()
	}
	return nil
}

package httpjson

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// Client calls one server over a bounded pool of connections. It implements
// grpc.ClientConnInterface.
type Client struct {
	rpc.Unary
	network, address string
	codec            rpc.Codec
	mediaType        string      // of requests
	secured          *tls.Config // nil: no TLS
	encoders         encoders
	slots            chan struct{} // a semaphore: one slot per connection

	mu     sync.Mutex
	idle   []*conn // a stack: the most recently used connection is reused first
	closed bool
}

var _ grpc.ClientConnInterface = (*Client)(nil)

// conn is one connection. It carries one call at a time.
type conn struct {
	net.Conn
	in   []byte
	call *spans.Part // the call that it carries; nil if that is not traced
}

// NewClient returns a client of the server at an address: host:port, or unix:PATH. It
// connects with the first call. At most connections calls run at once; others wait.
// secured is the TLS configuration; nil means no TLS. codec is the encoding; nil means JSON.
func NewClient(address string, connections int, secured *tls.Config, codec rpc.Codec) *Client {
	codec = cmp.Or[rpc.Codec](codec, rpc.JSON{})
	c := &Client{secured: secured, codec: codec, mediaType: rpc.MediaType(codec),
		slots: make(chan struct{}, connections)}
	c.network, c.address = lab.SplitAddress(address)
	return c
}

// Invoke implements grpc.ClientConnInterface. It ignores the options, which are those
// of grpc-go's transport.
func (c *Client) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	ctx, call := spans.Call(ctx, method)
	defer call.End()
	waiting := call.Begin("wait for a connection", lab.SegmentQueueing)
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		waiting.End()
		return rpc.Lost(ctx, c.address, ctx.Err())
	}
	connection, err := c.connection(ctx)
	waiting.End()
	if err != nil {
		return rpc.Lost(ctx, c.address, err)
	}
	connection.call = call
	response, err := c.exchange(ctx, connection, method, in)
	if err != nil {
		_ = connection.Close() // the call has failed already
		return c.problem(ctx, err)
	}
	decoding := call.Begin("decode", lab.SegmentEncoding)
	err = c.read(response, out)
	decoding.End()
	c.release(connection, response.KeepAlive)
	return err
}

// problem returns the problem of a call whose exchange has failed.
func (c *Client) problem(ctx context.Context, err error) *rpc.Problem {
	if unsent, is := errors.AsType[*rpc.Problem](err); is {
		return unsent
	}
	if refused, is := errors.AsType[*leanhttp.Error](err); is &&
		refused.Status == http.StatusRequestEntityTooLarge {
		return rpc.TooLong(c.address, rpc.MaxAnswer, err)
	}
	return rpc.Lost(ctx, c.address, err)
}

// connection takes an idle connection, or dials if there is none. It fails if ctx has ended.
func (c *Client) connection(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, net.ErrClosed
	}
	if n := len(c.idle); n > 0 {
		taken := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return taken, nil
	}
	c.mu.Unlock()
	made, err := secure.Dial(ctx, c.network, c.address, c.secured)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: made, in: make([]byte, 0, 4<<10)}, nil
}

// release keeps a connection for the next call, or closes it.
func (c *Client) release(connection *conn, reuse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !reuse || c.closed {
		_ = connection.Close() // an error does not matter: its call is over
		return
	}
	if cap(connection.in) > keptBytes {
		connection.in = nil
	}
	c.idle = append(c.idle, connection)
}

// exchange sends the request and waits for the response, which is in the connection's
// buffer.
func (c *Client) exchange(
	ctx context.Context, connection *conn, method string, in any,
) (leanhttp.Response, error) {
	var response leanhttp.Response
	// Unblocks reads and writes when ctx ends. An error could only mean that the connection is closed.
	stop := context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := c.send(ctx, connection, method, in); err != nil {
		return response, err
	}
	connection.in = connection.in[:0]
	for {
		n, err := leanhttp.Fill(connection.Conn, &connection.in)
		if err != nil {
			return response, err
		}
		if n == 0 {
			continue // a read may return no bytes and no error
		}
		taken, err := leanhttp.ParseResponse(connection.in, leanhttp.Limits{Body: rpc.MaxAnswer}, &response)
		if err != nil {
			return response, err
		}
		if taken > 0 {
			// If stop returns false, the connection has a deadline that is past.
			response.KeepAlive = response.KeepAlive && taken == len(connection.in) && stop()
			return response, nil
		}
	}
}

// send writes the request. A request that cannot be encoded is a Problem: a mistake of the caller, not an
// unavailable callee.
func (c *Client) send(ctx context.Context, connection *conn, method string, in any) error {
	e := c.encoders.get()
	defer c.encoders.put(e)
	encoding := connection.call.Begin("encode", lab.SegmentEncoding)
	err := e.encode(c.codec, in)
	encoding.End()
	if err != nil {
		return rpc.Unencodable(in, err)
	}
	out := append(e.out[:0], "POST "...)
	out = append(out, method...)
	out = append(out, " HTTP/1.1\r\nHost: cleave\r\nContent-Type: "...)
	out = append(out, c.mediaType...)
	out = append(out, "\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(e.body.Len()), 10)
	if deadline, limited := ctx.Deadline(); limited {
		out = append(out, "\r\n"+rpc.TimeoutHeader+": "...)
		out = rpc.AppendTimeout(out, time.Until(deadline))
	}
	if header := connection.call.Traceparent(); header != "" {
		out = append(out, "\r\nTraceparent: "...)
		out = append(out, header...)
	}
	out = append(out, "\r\n\r\n"...)
	out = append(out, e.body.Bytes()...)
	e.out = out
	_, err = connection.Write(out)
	return err
}

// read decodes the message of a response into out, or returns its problem.
func (c *Client) read(response leanhttp.Response, out any) error {
	if response.Status != http.StatusOK {
		return rpc.ProblemOfHTTP(c.address, response.Status, response.Body)
	}
	if err := c.codec.Unmarshal(response.Body, out); err != nil {
		return rpc.Unexpected(c.address, err)
	}
	return nil
}

// Close closes the idle connections; the others are closed when their calls end.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for _, connection := range c.idle {
		errs = append(errs, connection.Close())
	}
	c.idle = nil
	return errors.Join(errs...)
}

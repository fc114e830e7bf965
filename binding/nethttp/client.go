package nethttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/lab"
)

// Client calls one server over a bounded pool of persistent connections. It implements
// grpc.ClientConnInterface.
type Client struct {
	rpc.Unary
	address   string // for messages
	base      string // of URLs
	codec     rpc.Codec
	media     string // type of requests
	transport *http.Transport
	http      *http.Client
}

var _ grpc.ClientConnInterface = (*Client)(nil)

// NewClient returns a client of the server at an address: host:port, or unix:PATH. It
// connects with the first call. At most connections calls run at once, and as many
// connections are kept; others wait. secured is the TLS configuration; nil means no TLS.
// The protocol is HTTP/1.1 in both cases. codec is the encoding; nil means JSON.
func NewClient(address string, connections int, secured *tls.Config, codec rpc.Codec) *Client {
	codec = cmp.Or[rpc.Codec](codec, rpc.JSON{})
	// net/http keeps only two idle connections per host by default: under load most calls would dial.
	// The client closes idle connections before the server does, which might do so while a call is sent. The
	// server waits only headTimeout for the first call on a connection. A connection may be idle
	// before that: net/http keeps one that it has opened for a call, even if the call took another one.
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConns: connections,
		MaxIdleConnsPerHost: connections, IdleConnTimeout: headTimeout / 2, TLSClientConfig: secured,
		TLSHandshakeTimeout: headTimeout}
	scheme := "http://"
	if secured != nil {
		scheme = "https://"
	}
	network, shown := lab.SplitAddress(address)
	c := &Client{address: shown, base: scheme + address, transport: transport, codec: codec,
		media: rpc.MediaType(codec), http: &http.Client{Transport: transport}}
	if network == "unix" {
		c.base = scheme + "unix"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return rpc.Dial(ctx, address)
		}
	}
	return c
}

// Invoke implements grpc.ClientConnInterface. It ignores the options, which are those
// of grpc-go's transport.
func (c *Client) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	ctx, call := spans.Call(ctx, method)
	defer call.End()
	request, err := c.request(ctx, call, method, in)
	if err != nil {
		return rpc.Unencodable(in, err)
	}
	status, body, err := c.exchange(request, call)
	if _, tooLong := errors.AsType[bounded.Error](err); tooLong {
		return rpc.TooLong(c.address, rpc.MaxAnswer, err)
	}
	if err != nil {
		return rpc.Lost(ctx, c.address, err)
	}
	if status != http.StatusOK {
		return rpc.ProblemOfHTTP(c.address, status, body)
	}
	decoding := call.Begin("decode", lab.SegmentEncoding)
	defer decoding.End()
	if err := c.codec.Unmarshal(body, out); err != nil {
		return rpc.Unexpected(c.address, err)
	}
	return nil
}

// request returns the HTTP request of a call.
func (c *Client) request(
	ctx context.Context, call *spans.Part, method string, in any,
) (*http.Request, error) {
	encoding := call.Begin("encode", lab.SegmentEncoding)
	body, err := c.codec.Append(nil, in)
	encoding.End()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", c.media)
	if deadline, limited := ctx.Deadline(); limited {
		timeout := rpc.AppendTimeout(nil, time.Until(deadline))
		request.Header.Set(rpc.TimeoutHeader, string(timeout))
	}
	if header := call.Traceparent(); header != "" {
		request.Header.Set(spans.Header, header)
	}
	return request, nil
}

// exchange sends a request and reads the whole answer, so that the connection can
// be reused.
func (c *Client) exchange(request *http.Request, call *spans.Part) (status int, body []byte, err error) {
	if call != nil {
		waiting := call.Begin("wait for a connection", lab.SegmentQueueing)
		defer waiting.End() // does nothing if there was a connection
		request = request.WithContext(httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { waiting.End() }}))
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err = bounded.ReadAll(response.Body, rpc.MaxAnswer)
	return response.StatusCode, body, err
}

// Close closes the idle connections; the others are closed after their idle timeout.
func (c *Client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

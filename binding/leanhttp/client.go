//go:build linux

package leanhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/cleave-lab/cleave/binding/eventloop"
)

// Receiver receives the responses and the end of a client's connection.
type Receiver interface {
	// Response is called for each request, in the order of Send. The response
	// is valid during the call.
	Response(c *Client, r *Response)
	// Lost is called once when the connection is lost, but not after Close. The
	// error is nil when the server closed it with no request outstanding.
	Lost(c *Client, err error)
}

// Client is one persistent connection to a server.
type Client struct {
	conn        *eventloop.Conn
	host        string
	limits      Limits
	receiver    Receiver
	outstanding int
	response    Response
	output      []byte
}

// Dial connects to a server at IP:port.
func Dial(loop *eventloop.Loop, address string, limits Limits, receiver Receiver) (*Client, error) {
	client := &Client{host: address, limits: limits, receiver: receiver}
	conn, err := loop.Dial("tcp", address, client)
	if err != nil {
		return nil, err
	}
	client.conn = conn
	return client, nil
}

// Send sends a request without waiting for the response; several may be outstanding. It
// fails if the connection is lost; Lost is then not called. It refuses HEAD, whose
// response has a Content-Length but no body.
func (c *Client) Send(method, target, contentType string, body []byte) error {
	if method == http.MethodHead {
		return errors.New("send HEAD: not supported, use GET")
	}
	c.output = AppendRequest(c.output[:0], method, c.host, target, contentType, body)
	if err := c.conn.Write(c.output); err != nil {
		return fmt.Errorf("send %s %s to %s: %w", method, target, c.host, err)
	}
	c.outstanding++
	return nil
}

// Close closes the connection at once; outstanding requests get no response.
func (c *Client) Close() { c.conn.Close() }

// Data implements eventloop.Handler.
func (c *Client) Data(conn *eventloop.Conn, data []byte) (consumed int, err error) {
	for consumed < len(data) {
		if c.outstanding == 0 {
			return consumed, fmt.Errorf("response from %s without a request", c.host)
		}
		n, err := ParseResponse(data[consumed:], c.limits, &c.response)
		if err != nil {
			return consumed, fmt.Errorf("response from %s: %w", c.host, err)
		}
		if n == 0 {
			break
		}
		consumed += n
		c.outstanding-- // before the call: the receiver may send the next request
		c.receiver.Response(c, &c.response)
		if conn.IsClosed() { // the receiver has called Close, or its Send has failed
			return consumed, nil
		}
		if !c.response.KeepAlive {
			return consumed, c.serverCloses()
		}
	}
	return consumed, nil
}

// serverCloses ends the connection after a response that announced its end.
func (c *Client) serverCloses() error {
	if c.outstanding > 0 {
		return fmt.Errorf("%s closes with %d requests unanswered: %w", c.host, c.outstanding, io.ErrUnexpectedEOF)
	}
	c.conn.Close()
	c.receiver.Lost(c, nil)
	return nil
}

// Closed implements eventloop.Handler.
func (c *Client) Closed(_ *eventloop.Conn, err error) {
	if err == nil && c.outstanding > 0 {
		err = fmt.Errorf("%s closed with %d requests unanswered: %w", c.host, c.outstanding, io.ErrUnexpectedEOF)
	}
	c.receiver.Lost(c, err)
}

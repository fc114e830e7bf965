//go:build linux

package leanhttp

import (
	"net/http"

	"github.com/cleave-lab/cleave/binding/eventloop"
)

// Handler answers requests, one at a time and in the order in which each
// connection sent them.
type Handler interface {
	// Handle fills in a, which starts as an empty 200. The request is only valid during
	// the call; the body of the answer must stay valid until the next call.
	Handle(r *Request, a *Answer)
}

// Answer is the response of a handler.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// server handles all connections of one address. It keeps no state per connection,
// because HTTP/1.1 has none between messages.
type server struct {
	limits  Limits
	handler Handler
	request Request
	answer  Answer
	output  []byte
	clock   Clock
}

// Serve starts to answer requests at an address (IP:port) on the loop. The answer to an
// invalid request has the status of its Error (400, 413, 431, 501, ...) and the reason;
// then the connection is closed.
func Serve(
	loop *eventloop.Loop, address string, limits Limits, handler Handler,
) (*eventloop.Listener, error) {
	s := &server{limits: limits, handler: handler}
	return loop.Listen("tcp", address, func(*eventloop.Conn) eventloop.Handler { return s })
}

// Data implements eventloop.Handler: it answers all complete requests with one write.
func (s *server) Data(c *eventloop.Conn, data []byte) (consumed int, err error) {
	s.output = s.output[:0]
	last := false
	for consumed < len(data) && !last {
		n, err := ParseRequest(data[consumed:], s.limits, &s.request)
		if err != nil {
			s.answerInvalid(err)
			last = true
			break
		}
		if n == 0 {
			break
		}
		consumed += n
		last = !s.request.KeepAlive
		s.respond(last)
	}
	if len(s.output) > 0 {
		if err := c.Write(s.output); err != nil {
			return consumed, err
		}
	}
	if last {
		c.Finish()
	}
	return consumed, nil
}

// Closed implements eventloop.Handler. There is no state to clean up.
func (s *server) Closed(*eventloop.Conn, error) {}

// respond appends the handler's answer to the current request.
func (s *server) respond(last bool) {
	s.answer = Answer{Status: http.StatusOK}
	s.handler.Handle(&s.request, &s.answer)
	a := &s.answer
	s.output = AppendResponse(s.output, a.Status, s.clock.Date(), a.ContentType, a.Body, last)
	if string(s.request.Method) == http.MethodHead {
		s.output = s.output[:len(s.output)-len(a.Body)]
	}
}

// answerInvalid appends the answer to a request that ParseRequest has refused.
func (s *server) answerInvalid(err error) {
	s.output = AppendResponse(s.output, err.(*Error).Status, s.clock.Date(), "text/plain; charset=utf-8",
		[]byte(err.Error()+"\n"), true)
}

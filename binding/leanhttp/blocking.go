//go:build linux

package leanhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/binding/secure"
)

// Respond answers a request: it appends the whole answer to out and returns the result.
// ctx ends when the peer hangs up or Shutdown runs out of time. If last is true, the
// answer must announce the end of the connection (see AppendResponse). A Respond may
// also announce the end by itself: it then sets r.KeepAlive to false. If it panics, the
// server logs the stack and closes the connection without an answer.
type Respond func(ctx context.Context, r *Request, last bool, out []byte) []byte

// Patience holds the timeouts of a Server; 0 means none.
type Patience struct {
	Request time.Duration // from the first bytes of a request to its end
	Idle    time.Duration // between requests
	Answer  time.Duration // until the peer has read an answer; see accept.LimitWrites
}

// Server answers requests with handlers that may block: each connection has its own
// goroutine.
type Server struct {
	limits   Limits
	patience Patience
	respond  Respond
	refuse   func(*Error) (contentType string, body []byte)
	watch    *watch

	mu       sync.Mutex
	listener net.Listener
	served   map[*served]struct{}
	closing  bool
	running  sync.WaitGroup
}

// NewServer returns a server. refuse returns the answer to an invalid request.
func NewServer(
	limits Limits, patience Patience, respond Respond, refuse func(*Error) (contentType string, body []byte),
) (*Server, error) {
	w, err := newWatch()
	if err != nil {
		return nil, fmt.Errorf("watch connections: %w", err)
	}
	return &Server{limits: limits, patience: patience, respond: respond, refuse: refuse, watch: w,
		served: make(map[*served]struct{})}, nil
}

// Serve answers requests on the listener's connections until Shutdown.
func (s *Server) Serve(listener net.Listener) error {
	s.mu.Lock()
	s.listener = listener
	closing := s.closing
	s.mu.Unlock()
	if closing { // Shutdown came first
		return listener.Close()
	}
	err := accept.Each(listener, func(accepted net.Conn) { s.running.Go(func() { s.serve(accepted) }) })
	if s.isClosing() {
		return nil
	}
	return err
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// served is a connection of the server.
type served struct {
	net.Conn
	cancel  context.CancelFunc // of the request that is being answered
	busy    bool               // a request is being answered; guarded by Server.mu
	begun   bool               // a part of a request was received, and Patience.Request runs
	limited bool               // a read deadline is set
}

// serve answers the requests of one connection in turn.
func (s *Server) serve(accepted net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &served{Conn: accept.LimitWrites(accepted, s.patience.Answer), cancel: cancel}
	if !s.enter(c) {
		_ = accepted.Close() // the server is closing
		return
	}
	forget := s.watch.add(accepted, cancel)
	defer func() {
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler { // as net/http does
			log.Printf("the answer to %v panicked: %v\n%s", accepted.RemoteAddr(), cause, debug.Stack())
		}
		forget()
		s.leave(c)
		_ = accepted.Close() // all answers are written
	}()
	if secure.Handshake(accepted) != nil {
		return
	}
	in := make([]byte, 0, 4<<10)
	var out []byte
	for {
		if err := s.read(c, &in); err != nil {
			return
		}
		for len(in) > 0 {
			var request Request
			taken, err := ParseRequest(in, s.limits, &request)
			if err != nil {
				s.refuseRequest(c, err.(*Error))
				return
			}
			if taken == 0 {
				break
			}
			if !s.begin(c) {
				return
			}
			last := !request.KeepAlive || s.isClosing()
			out = s.respond(ctx, &request, last, out[:0])
			if _, err := c.Write(out); err != nil || last || !request.KeepAlive || !s.end(c) {
				return
			}
			in = in[:copy(in, in[taken:])]
			c.begun = false
			if cap(out) > keptBytes {
				out = nil
			}
		}
	}
}

// keptBytes is the size of the largest answer buffer that a connection keeps.
const keptBytes = 64 << 10

// read waits for the next request, or reads more of one that has begun. Patience.Request is the time limit of
// a whole request: further data do not extend it.
func (s *Server) read(c *served, in *[]byte) error {
	if !c.begun {
		patience := s.patience.Idle
		if c.begun = len(*in) > 0; c.begun {
			patience = s.patience.Request
		}
		if patience > 0 || c.limited {
			c.limited = patience > 0
			var until time.Time // zero: no deadline
			if c.limited {
				until = time.Now().Add(patience)
			}
			if err := c.SetReadDeadline(until); err != nil {
				return err
			}
		}
	}
	_, err := Fill(c, in)
	return err
}

// Fill reads once and appends the data to the buffer. It enlarges the buffer if it is full.
func Fill(from io.Reader, buffer *[]byte) (int, error) {
	b := *buffer
	if len(b) == cap(b) {
		b = append(b, make([]byte, max(cap(b), 4<<10))...)[:len(b)]
	}
	n, err := from.Read(b[len(b):cap(b)])
	*buffer = b[:len(b)+n]
	if n > 0 {
		err = nil // the caller gets the data first; the next read returns the error again
	}
	return n, err
}

// enter registers a connection. It returns false if the server is closing.
func (s *Server) enter(c *served) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.served[c] = struct{}{}
	}
	return !s.closing
}

func (s *Server) leave(c *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, c)
}

// begin marks a connection as busy, so that Shutdown waits for its answer. It returns
// false if the server is closing.
func (s *Server) begin(c *served) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.busy = !s.closing
	return c.busy
}

// end marks a connection as idle again. It returns false if the server is closing.
func (s *Server) end(c *served) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.busy = false
	return !s.closing
}

// refuseRequest answers an invalid request.
func (s *Server) refuseRequest(c *served, why *Error) {
	contentType, body := s.refuse(why)
	_, _ = c.Write(AppendResponse(nil, why.Status, "", contentType, body, true)) // the peer may be gone
	// Read on for a moment: closing while the peer still sends would reset the connection and lose the answer.
	_ = c.SetReadDeadline(time.Now().Add(lingerFor))
	_, _ = io.CopyN(io.Discard, c, lingerMost)
}

// The time and the bytes for which a refused peer may go on sending.
const (
	lingerFor  = 500 * time.Millisecond
	lingerMost = 1 << 20
)

// Shutdown accepts no new requests, waits for the running ones and closes all
// connections. If the context ends first, it cancels the running requests and returns an
// error. It may be called once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	var errs []error
	if s.listener != nil {
		errs = append(errs, s.listener.Close())
	}
	for c := range s.served {
		if !c.busy {
			_ = c.Close() // ends its goroutine, which waits for a request
		}
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("calls still running: %w", ctx.Err()))
		s.cutOff()
		<-done
	}
	return errors.Join(append(errs, s.watch.close())...)
}

// cutOff cancels the running requests and closes their connections.
func (s *Server) cutOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.served {
		c.cancel()
		_ = c.Close() // nothing can be done about an error
	}
}

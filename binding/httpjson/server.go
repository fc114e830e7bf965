package httpjson

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

const (
	statusOK    = http.StatusOK
	contentType = "application/json"
)

// Server answers calls. It implements grpc.ServiceRegistrar; services are
// registered before Serve.
type Server struct {
	faults   rpc.Faults
	limits   leanhttp.Limits
	methods  map[string]method
	encoders encoders
	watch    *watch
	tracer   trace.TracerProvider // nil where nothing is traced

	mu       sync.Mutex
	listener net.Listener
	served   map[*served]struct{}
	closing  bool
	running  sync.WaitGroup
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// method is a method of a registered service.
type method struct {
	desc grpc.MethodDesc
	impl any
}

// NewServer makes a server whose messages may have up to maxBody bytes.
func NewServer(maxBody int, faults rpc.Faults, options ...rpc.Option) (*Server, error) {
	w, err := newWatch()
	if err != nil {
		return nil, fmt.Errorf("watch connections: %w", err)
	}
	return &Server{
		faults: faults, limits: leanhttp.Limits{Body: maxBody}, methods: make(map[string]method), watch: w, served: make(map[*served]struct{}),
		tracer: rpc.Sum(options).Tracer,
	}, nil
}

// RegisterService implements grpc.ServiceRegistrar. Methods that stream are left
// out.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	for _, m := range desc.Methods {
		s.methods["/"+desc.ServiceName+"/"+m.MethodName] = method{desc: m, impl: impl}
	}
}

// Serve answers calls on the listener's connections until Shutdown.
func (s *Server) Serve(listener net.Listener) error {
	s.mu.Lock()
	s.listener = listener
	closing := s.closing
	s.mu.Unlock()
	if closing { // Shutdown came first
		return listener.Close()
	}
	for {
		accepted, err := listener.Accept()
		if err != nil {
			if s.isClosing() {
				return nil
			}
			return err
		}
		s.running.Go(func() { s.serve(accepted) })
	}
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// served is a connection of the server.
type served struct {
	net.Conn
	cancel context.CancelFunc // of the call that is being answered
	busy   bool               // a call is being answered; guarded by Server.mu
}

// serve answers the calls of one connection in turn.
func (s *Server) serve(accepted net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &served{Conn: accepted, cancel: cancel}
	if !s.enter(c) {
		_ = accepted.Close() // refused: the server ends
		return
	}
	forget := s.watch.add(accepted, cancel)
	defer func() {
		forget()
		s.leave(c)
		_ = accepted.Close() // whatever was to be said has been said
	}()
	in := make([]byte, 0, 4<<10)
	for {
		if _, err := fill(accepted, &in); err != nil {
			return
		}
		for len(in) > 0 {
			var request leanhttp.Request
			taken, err := leanhttp.ParseRequest(in, s.limits, &request)
			if err != nil {
				s.refuse(c, err)
				return
			}
			if taken == 0 {
				break
			}
			if !s.begin(c) || !s.answer(ctx, c, &request) || !s.end(c) {
				return
			}
			in = in[:copy(in, in[taken:])]
		}
	}
}

// enter takes a connection into the books, unless the server ends.
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

// begin marks a connection as busy, so that Shutdown waits for it, unless the
// server ends.
func (s *Server) begin(c *served) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.busy = !s.closing
	return c.busy
}

// end marks it as idle again and reports whether it may go on.
func (s *Server) end(c *served) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.busy = false
	return !s.closing
}

// answer carries out one call and reports whether the connection goes on.
func (s *Server) answer(ctx context.Context, c *served, request *leanhttp.Request) bool {
	if left, limited := rpc.ParseTimeout(string(request.Context)); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	e := s.encoders.get()
	defer s.encoders.put(e)
	var call *spans.Part // nil where it is not traced
	if request.Trace != nil {
		ctx, call = spans.Serve(ctx, s.tracer, string(request.Trace), spans.Method(string(request.Target)), lab.SegmentBusiness, trace.SpanKindServer, time.Time{})
	}
	status := s.carryOut(ctx, e, request, call)
	call.End()
	last := !request.KeepAlive || s.isClosing()
	e.out = leanhttp.AppendResponse(e.out[:0], status, "", contentType, e.body.Bytes(), last)
	_, err := c.Write(e.out)
	return err == nil && !last
}

// carryOut calls the method and encodes its answer, or the fault.
func (s *Server) carryOut(ctx context.Context, e *encoder, request *leanhttp.Request, call *spans.Part) (status int) {
	m, known := s.methods[string(request.Target)]
	if !known || string(request.Method) != http.MethodPost {
		return s.fail(e, rpc.Fault{Kind: rpc.InvalidArgument, Detail: fmt.Sprintf("there is no %s %s here", request.Method, request.Target)})
	}
	unreadable := error(nil)
	reply, err := m.desc.Handler(m.impl, ctx, func(message any) error {
		decoding := call.Begin("decode", lab.SegmentEncoding)
		unreadable = json.Unmarshal(request.Body, message)
		decoding.End()
		return unreadable
	}, nil)
	switch {
	case unreadable != nil:
		return s.fail(e, rpc.Fault{Kind: rpc.InvalidArgument, Detail: "the message cannot be read: " + unreadable.Error()})
	case err != nil:
		return s.fail(e, s.faults.Encode(err))
	}
	encoding := call.Begin("encode", lab.SegmentEncoding)
	defer encoding.End()
	if err := e.json.Encode(reply); err != nil {
		e.body.Reset()
		return s.fail(e, s.faults.Encode(fmt.Errorf("encode %T: %w", reply, err)))
	}
	return statusOK
}

// fail encodes a fault.
func (s *Server) fail(e *encoder, fault rpc.Fault) int {
	if err := e.json.Encode(fault); err != nil {
		e.body.Reset() // two texts cannot fail to encode; the status says enough
	}
	return fault.HTTPStatus()
}

// refuse answers what is not a request.
func (s *Server) refuse(c *served, cause error) {
	status := http.StatusBadRequest
	var refused *leanhttp.Error
	if errors.As(cause, &refused) {
		status = refused.Status
	}
	e := s.encoders.get()
	defer s.encoders.put(e)
	s.fail(e, rpc.Fault{Kind: rpc.InvalidArgument, Detail: strings.TrimSpace(cause.Error())})
	_, _ = c.Write(leanhttp.AppendResponse(nil, status, "", contentType, e.body.Bytes(), true)) // the peer may be gone
	// Closed while the peer still sends, the connection would be reset, and the answer lost.
	_ = c.SetReadDeadline(time.Now().Add(lingerFor))
	_, _ = io.CopyN(io.Discard, c, lingerMost)
}

// How long, and for how many bytes, whoever was refused may go on sending.
const (
	lingerFor  = 500 * time.Millisecond
	lingerMost = 1 << 20
)

// Shutdown takes no more calls, waits for those that are being answered, and
// closes all connections. When the context ends first, the rest is cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	var errs []error
	if s.listener != nil {
		errs = append(errs, s.listener.Close())
	}
	for c := range s.served {
		if !c.busy {
			_ = c.Close() // its goroutine sees that and ends
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

// cutOff closes the connections of calls that take too long.
func (s *Server) cutOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.served {
		c.cancel()
		_ = c.Close() // nobody waits for what it would still say
	}
}

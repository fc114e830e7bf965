package grpcunary

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// Server answers calls. It implements grpc.ServiceRegistrar; services must be
// registered before Serve.
type Server struct {
	rpc.Methods
	serving      rpc.Serving
	messages     messages
	answerFields []hpack.HeaderField // the header of every answer
	okFields     []hpack.HeaderField // the trailer of an answer without a problem

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	served    map[*served]struct{}
	closing   bool
	running   sync.WaitGroup // the readers of connections
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer returns a server. Its default encoding is Protocol Buffers. It also refuses requests of more than
// a stream's window.
func NewServer(serving rpc.Serving) *Server {
	serving.Codec = cmp.Or[rpc.Codec](serving.Codec, rpc.Protobuf{})
	serving.MaxBody = min(serving.MaxBody, ourStreamWindow-messagePrefix)
	return &Server{
		Methods: rpc.Methods{}, serving: serving, messages: messages{codec: serving.Codec},
		answerFields: []hpack.HeaderField{{Name: ":status", Value: "200"},
			{Name: "content-type", Value: contentTypeOf(serving.Codec)}},
		okFields:  []hpack.HeaderField{{Name: "grpc-status", Value: "0"}},
		listeners: map[net.Listener]struct{}{}, served: map[*served]struct{}{},
	}
}

// Serve answers calls on the listener's connections until Shutdown or Stop.
func (s *Server) Serve(listener net.Listener) error {
	s.mu.Lock()
	closing := s.closing
	s.listeners[listener] = struct{}{}
	s.mu.Unlock()
	if closing { // Shutdown or Stop came before Serve
		return listener.Close()
	}
	err := accept.Each(listener, s.enter)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil
	}
	return err
}

// served is a connection of the server.
type served struct {
	*conn
	server *Server
	ctx    context.Context // ends with the connection
	last   uint32          // number of the newest stream; guarded by conn.mu
}

// enter registers a connection and serves it in a goroutine. If the server is closing, it
// closes the connection.
func (s *Server) enter(raw net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		_ = raw.Close() // refused
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &served{conn: newConn(raw), server: s, ctx: ctx}
	s.served[c] = struct{}{}
	s.running.Go(func() {
		defer cancel()
		why := secure.Handshake(raw)
		if why == nil {
			why = c.serveCalls()
		}
		c.mu.Lock()
		c.fail(why)
		c.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.served, c)
	})
}

// greetingTimeout is the time in which the preface of HTTP/2 must come.
const greetingTimeout = 5 * time.Second

// serveCalls exchanges the connection prefaces and serves calls until the connection ends. It
// returns the reason of the end.
func (c *served) serveCalls() error {
	if err := c.SetReadDeadline(time.Now().Add(greetingTimeout)); err != nil {
		return err
	}
	greeting := make([]byte, len(preface))
	if _, err := io.ReadFull(c.conn, greeting); err != nil {
		return err
	}
	if string(greeting) != preface {
		return violation("the client does not speak HTTP/2")
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	c.mu.Lock()
	c.out = appendSettings(c.out, settingStreams, concurrentStreams, settingWindow, ourStreamWindow)
	c.out = appendNumber(c.out, frameWindow, 0, ourConnectionWindow-defaultWindow)
	c.flush()
	c.mu.Unlock()
	return c.run(c.handle)
}

// handle handles the frames of calls that a client sends.
func (c *served) handle(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[f.stream]
	switch f.kind {
	case frameReset:
		if s != nil {
			c.abandon(s)
		}
		return nil
	case frameHeaders:
		if s == nil {
			return c.open(f)
		}
		return violation("a request with two header blocks")
	case frameData:
		if s == nil {
			return nil // the rest of a refused or abandoned request
		}
		content, err := f.content()
		if err != nil {
			return err
		}
		if s.ended {
			c.abandon(s)
			c.out = appendNumber(c.out, frameReset, s.id, codeStreamClosed)
			c.flushAsync()
			return nil
		}
		s.body = append(s.body, content...)
		if limit := c.server.serving.MaxBody; isTooLong(s.body, limit) {
			c.refuse(s, status.Newf(codes.ResourceExhausted, "a message of more than %d bytes", limit))
		} else if s.ended = f.has(flagEndStream); s.ended {
			go c.answer(s)
		}
	}
	return nil
}

// open starts a call from its complete header block. It refuses the call if the server
// is closing, has too many calls, or does not accept the header. mu is held.
func (c *served) open(f frame) error {
	if f.stream%2 == 0 || f.stream <= c.last {
		return violation(fmt.Sprintf("stream %d after %d", f.stream, c.last))
	}
	if c.goingAway || len(c.streams) >= concurrentStreams {
		c.out = appendNumber(c.out, frameReset, f.stream, codeRefused)
		c.flushAsync()
		return nil
	}
	c.last = f.stream
	s := c.server.messages.stream()
	s.id = f.stream
	s.window = c.streamWindow
	s.fields = c.header
	c.streams[s.id] = s
	wrongType := rpc.CheckGRPCType(s.fields.contentType, c.server.messages.codec)
	switch {
	case s.fields.method != "POST":
		c.refuse(s, status.Newf(codes.InvalidArgument, "a %s is no gRPC call", s.fields.method))
	case wrongType != nil:
		c.refuse(s, wrongType)
	case f.has(flagEndStream):
		s.ended = true
		go c.answer(s)
	}
	return nil
}

// abandon cancels a call that the caller has given up. mu is held.
func (c *served) abandon(s *stream) {
	c.remove(s)
	s.gone = true
	if s.cancel != nil {
		s.cancel()
	}
}

// refuse answers a call with a status, without carrying it out. mu is held.
func (c *served) refuse(s *stream, why *status.Status) {
	c.writeFields(s.id, true, c.server.answerFields, statusFields(why))
	c.out = appendNumber(c.out, frameReset, s.id, codeNone) // the client need not send the rest
	c.remove(s)
	c.flushAsync()
}

// answer carries out one call and sends its answer.
func (c *served) answer(s *stream) {
	ctx, cancel := c.contextOf(s)
	defer cancel()
	ctx, call := spans.Serve(ctx, c.server.serving.Tracer, s.fields.trace, spans.Method(s.fields.path),
		lab.SegmentBusiness, trace.SpanKindServer, time.Time{})
	message, why := c.server.carryOut(ctx, s, call)
	call.End()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[s.id] != s {
		return // the caller has given up
	}
	if why != nil {
		c.writeFields(s.id, true, c.server.answerFields, statusFields(why))
	} else {
		c.writeFields(s.id, false, c.server.answerFields)
		if err := c.writeData(c.ctx, s, *message, false); err != nil || c.streams[s.id] != s {
			c.drop(s)
			return
		}
		c.writeFields(s.id, true, c.server.okFields)
	}
	c.remove(s)
	c.flush()
	if message != nil {
		c.server.messages.put(message)
	}
	c.server.messages.release(s)
}

// contextOf returns the context of a call. It ends at the caller's deadline, when the
// caller gives up, or with the connection.
func (c *served) contextOf(s *stream) (ctx context.Context, cancel context.CancelFunc) {
	if left, limited := parseTimeout(s.fields.timeout); limited {
		ctx, cancel = context.WithTimeout(c.ctx, left)
	} else {
		ctx, cancel = context.WithCancel(c.ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.cancel = cancel
	if s.gone {
		cancel()
	}
	return ctx, cancel
}

// carryOut calls the method and returns its encoded answer, or the status of its failure.
func (s *Server) carryOut(ctx context.Context, in *stream, call *spans.Part) (*[]byte, *status.Status) {
	m, known := s.Methods[in.fields.path]
	if !known {
		return nil, status.Newf(codes.Unimplemented, "there is no %s here", in.fields.path)
	}
	reply, problem := s.serving.Call(ctx, m, func(message any) error {
		return s.messages.decode(in.body, message, call)
	})
	if problem != nil {
		return nil, problem.Status()
	}
	message, err := s.messages.encode(reply, call)
	if err != nil {
		return nil, s.serving.NotEncoded(m, reply, err).Status()
	}
	return message, nil
}

// Shutdown accepts no new calls, waits for the running ones and closes all connections.
// If the context ends first, it cancels the running calls and returns an error.
func (s *Server) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.Stop)()
	open := s.close()
	for _, c := range open {
		c.mu.Lock()
		c.goingAway = true
		c.out = appendGoAway(c.out, c.last, codeNone)
		c.flush()
		c.mu.Unlock()
	}
	for _, c := range open {
		c.mu.Lock()
		_ = c.await(context.Background(), c.isIdle) // it fails only if the connection has ended
		c.fail(net.ErrClosed)
		c.mu.Unlock()
	}
	s.running.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("calls still running: %w", err)
	}
	return nil
}

// Stop closes all connections; calls that are being answered are cancelled.
func (s *Server) Stop() {
	for _, c := range s.close() {
		c.mu.Lock()
		c.fail(net.ErrClosed)
		c.mu.Unlock()
	}
	s.running.Wait()
}

// close closes the listeners and returns the connections.
func (s *Server) close() []*served {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for listener := range s.listeners {
		_ = listener.Close() // nothing can be done about an error
	}
	clear(s.listeners)
	return slices.Collect(maps.Keys(s.served))
}

package nethttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// The limits of a connection. It is closed if the peer is slower than these.
const (
	headTimeout = 5 * time.Second
	readTimeout = 10 * time.Second // of a whole request
	idleTimeout = 2 * time.Minute
	maxHead     = 8 << 10 // bytes; net/http adds 4 KiB
)

// Server answers calls. It implements grpc.ServiceRegistrar; services must be
// registered before Serve.
type Server struct {
	faults    rpc.Faults
	codec     rpc.Codec
	mediaType string // of messages
	maxBody   int64
	tracer    trace.TracerProvider // nil: no tracing
	logError  func(error)
	routes    *http.ServeMux
	http      http.Server
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer returns a server that refuses requests of more than maxBody bytes.
func NewServer(maxBody int, faults rpc.Faults, options ...rpc.Option) *Server {
	applied := rpc.Apply(rpc.JSON{}, options)
	s := &Server{faults: faults, codec: applied.Codec, mediaType: rpc.MediaType(applied.Codec),
		maxBody: int64(maxBody), tracer: applied.Tracer, logError: applied.LogError, routes: http.NewServeMux()}
	s.routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, rpc.Fault{Kind: rpc.InvalidArgument,
			Detail: fmt.Sprintf("there is no %s %s here", r.Method, r.URL.Path)})
	})
	s.http = http.Server{Handler: s.routes, ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead}
	return s
}

// RegisterService implements grpc.ServiceRegistrar. It does not register streaming
// methods.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	for _, m := range desc.Methods {
		s.routes.HandleFunc("POST /"+desc.ServiceName+"/"+m.MethodName,
			func(w http.ResponseWriter, r *http.Request) {
				s.answer(w, r, rpc.Method{MethodDesc: m, Impl: impl})
			})
	}
}

// Serve answers calls on the listener's connections until Shutdown.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown accepts no new calls, waits for the running ones and closes all connections.
// If the context ends first, it cancels the running calls and returns an error.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("calls still running: %w", err), s.http.Close())
	}
	return nil
}

// answer carries out one call.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, m rpc.Method) {
	if fault, other := rpc.OtherMediaType(r.Header.Get("Content-Type"), s.mediaType); other {
		writeFault(w, http.StatusUnsupportedMediaType, fault)
		return
	}
	ctx := r.Context() // ends when the caller closes the connection
	if left, limited := rpc.ParseTimeout(r.Header.Get(rpc.TimeoutHeader)); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	ctx, call := spans.Serve(ctx, s.tracer, r.Header.Get(spans.Header), spans.Method(r.URL.Path),
		lab.SegmentBusiness, trace.SpanKindServer, time.Time{})
	defer call.End()
	var unreadable error
	reply, err := m.Call(ctx, func(message any) error {
		decoding := call.Begin("decode", lab.SegmentEncoding)
		defer decoding.End()
		var body []byte
		if body, unreadable = io.ReadAll(http.MaxBytesReader(w, r.Body, s.maxBody)); unreadable == nil {
			unreadable = s.codec.Unmarshal(body, message)
		}
		return unreadable
	})
	switch {
	case unreadable != nil:
		s.fail(w, rpc.Unreadable(unreadable))
		return
	case err != nil:
		s.fail(w, rpc.Failed(s.faults, s.logError, r.URL.Path, err))
		return
	}
	encoding := call.Begin("encode", lab.SegmentEncoding)
	body, err := s.codec.Append(nil, reply)
	encoding.End()
	if err != nil {
		err = fmt.Errorf("encode %T: %w", reply, err)
		s.fail(w, rpc.Failed(s.faults, s.logError, r.URL.Path, err))
		return
	}
	write(w, http.StatusOK, s.mediaType, body)
}

// fail answers with a fault.
func (s *Server) fail(w http.ResponseWriter, fault rpc.Fault) {
	writeFault(w, fault.HTTPStatus(), fault)
}

// writeFault answers with a fault, which is always JSON.
func writeFault(w http.ResponseWriter, status int, fault rpc.Fault) {
	body, _ := json.Marshal(fault) // two strings cannot fail to encode
	write(w, status, "application/json", body)
}

// buffered is the size, in bytes, of the longest answer that net/http keeps until its handler returns. It
// sends longer ones in chunks unless their length is set.
const buffered = 2048

// write sends an answer. It sets the write deadline only now, because the duration of
// the call itself is the caller's choice.
func write(w http.ResponseWriter, status int, mediaType string, body []byte) {
	until := time.Now().Add(accept.AnswerTimeout)
	_ = http.NewResponseController(w).SetWriteDeadline(until) // after an error the write has no deadline
	w.Header().Set("Content-Type", mediaType)
	if len(body) > buffered { // else net/http sends the length itself, at less cost
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the peer may be gone
}

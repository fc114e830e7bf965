package nethttp

import (
	"cmp"
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
	serving   rpc.Serving
	mediaType string // of messages
	routes    *http.ServeMux
	http      http.Server
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer returns a server. Its default encoding is JSON.
func NewServer(serving rpc.Serving) *Server {
	serving.Codec = cmp.Or[rpc.Codec](serving.Codec, rpc.JSON{})
	s := &Server{serving: serving, mediaType: rpc.MediaType(serving.Codec), routes: http.NewServeMux()}
	s.routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, rpc.Problemf(rpc.InvalidArgument, "there is no %s %s here", r.Method, r.URL.Path))
	})
	s.http = http.Server{Handler: s.routes, ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead}
	return s
}

// RegisterService implements grpc.ServiceRegistrar. It does not register streaming
// methods.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	methods := rpc.Methods{}
	methods.RegisterService(desc, impl)
	for name, m := range methods {
		s.routes.HandleFunc("POST "+name, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, m) })
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
	if problem := rpc.OtherMediaType(r.Header.Get("Content-Type"), s.mediaType); problem != nil {
		writeProblem(w, http.StatusUnsupportedMediaType, problem)
		return
	}
	ctx := r.Context() // ends when the caller closes the connection
	if left, limited := rpc.ParseTimeout(r.Header.Get(rpc.TimeoutHeader)); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	ctx, call := spans.Serve(ctx, s.serving.Tracer, r.Header.Get(spans.Header), spans.Method(m.Name),
		lab.SegmentBusiness, trace.SpanKindServer, time.Time{})
	defer call.End()
	reply, problem := s.serving.Call(ctx, m, func(message any) error {
		decoding := call.Begin("decode", lab.SegmentEncoding)
		defer decoding.End()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.serving.MaxBody)))
		if err != nil {
			return err
		}
		return s.serving.Codec.Unmarshal(body, message)
	})
	if problem != nil {
		fail(w, problem)
		return
	}
	encoding := call.Begin("encode", lab.SegmentEncoding)
	body, err := s.serving.Codec.Append(nil, reply)
	encoding.End()
	if err != nil {
		fail(w, s.serving.NotEncoded(m, reply, err))
		return
	}
	write(w, http.StatusOK, s.mediaType, body)
}

// fail answers with a problem.
func fail(w http.ResponseWriter, problem *rpc.Problem) {
	writeProblem(w, problem.HTTPStatus(), problem)
}

// writeProblem answers with a problem, which is always JSON, and a status.
func writeProblem(w http.ResponseWriter, status int, problem *rpc.Problem) {
	body, _ := json.Marshal(problem) // two strings cannot fail to encode
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

package httpjson

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// faultType is the media type of faults, in every encoding of messages.
const faultType = "application/json"

// Server answers calls. It implements grpc.ServiceRegistrar; services must be
// registered before Serve.
type Server struct {
	*leanhttp.Server
	rpc.Methods
	faults    rpc.Faults
	codec     rpc.Codec
	mediaType string // of messages
	encoders  encoders
	tracer    trace.TracerProvider // nil: no tracing
	logError  func(error)
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// requestTimeout limits the time from the first to the last byte of a request.
const requestTimeout = 10 * time.Second

// NewServer returns a server that refuses requests of more than maxBody bytes.
func NewServer(maxBody int, faults rpc.Faults, options ...rpc.Option) (*Server, error) {
	applied := rpc.Apply(rpc.JSON{}, options)
	s := &Server{faults: faults, codec: applied.Codec, mediaType: rpc.MediaType(applied.Codec),
		Methods: rpc.Methods{}, tracer: applied.Tracer, logError: applied.LogError}
	var err error
	s.Server, err = leanhttp.NewServer(leanhttp.Limits{Body: maxBody},
		leanhttp.Patience{Request: requestTimeout, Answer: accept.AnswerTimeout}, s.answer, s.refuse)
	return s, err
}

// answer implements leanhttp.Respond: it carries out one call and appends its answer to out.
func (s *Server) answer(ctx context.Context, request *leanhttp.Request, last bool, out []byte) []byte {
	if left, limited := rpc.ParseTimeout(string(request.Context)); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	e := s.encoders.get()
	defer s.encoders.put(e)
	var call *spans.Part // nil: not traced
	if request.Trace != nil {
		ctx, call = spans.Serve(ctx, s.tracer, string(request.Trace), spans.Method(string(request.Target)),
			lab.SegmentBusiness, trace.SpanKindServer, time.Time{})
	}
	status := s.carryOut(ctx, e, request, call)
	call.End()
	mediaType := s.mediaType
	if status != http.StatusOK {
		mediaType = faultType
	}
	return leanhttp.AppendResponse(out, status, "", mediaType, e.body.Bytes(), last)
}

// carryOut calls the method and encodes its answer, or the fault, into e. It returns the HTTP status.
func (s *Server) carryOut(
	ctx context.Context, e *encoder, request *leanhttp.Request, call *spans.Part,
) (status int) {
	m, known := s.Methods[string(request.Target)]
	if !known || string(request.Method) != http.MethodPost {
		return s.fail(e, rpc.Fault{Kind: rpc.InvalidArgument,
			Detail: fmt.Sprintf("there is no %s %s here", request.Method, request.Target)})
	}
	if fault, other := rpc.OtherMediaType(request.ContentType, s.mediaType); other {
		s.fail(e, fault)
		return http.StatusUnsupportedMediaType
	}
	var unreadable error
	reply, err := m.Call(ctx, func(message any) error {
		decoding := call.Begin("decode", lab.SegmentEncoding)
		unreadable = s.codec.Unmarshal(request.Body, message)
		decoding.End()
		return unreadable
	})
	switch {
	case unreadable != nil:
		return s.fail(e, rpc.Unreadable(unreadable))
	case err != nil:
		return s.fail(e, rpc.Failed(s.faults, s.logError, string(request.Target), err))
	}
	encoding := call.Begin("encode", lab.SegmentEncoding)
	defer encoding.End()
	if err := e.encode(s.codec, reply); err != nil {
		e.body.Reset()
		return s.fail(e, rpc.Failed(s.faults, s.logError, string(request.Target),
			fmt.Errorf("encode %T: %w", reply, err)))
	}
	return http.StatusOK
}

// fail encodes a fault into e and returns its HTTP status.
func (s *Server) fail(e *encoder, fault rpc.Fault) int {
	if err := e.json.Encode(fault); err != nil {
		e.body.Reset() // cannot happen with two strings; the status would be enough
	}
	return fault.HTTPStatus()
}

// refuse returns the answer to an invalid HTTP request.
func (s *Server) refuse(cause *leanhttp.Error) (mediaType string, body []byte) {
	e := s.encoders.get()
	defer s.encoders.put(e)
	s.fail(e, rpc.Fault{Kind: rpc.InvalidArgument, Detail: strings.TrimSpace(cause.Error())})
	return faultType, bytes.Clone(e.body.Bytes())
}

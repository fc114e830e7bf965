package httpjson

import (
	"bytes"
	"cmp"
	"context"
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

// problemType is the media type of problems, in every encoding of messages.
const problemType = "application/json"

// Server answers calls. It implements grpc.ServiceRegistrar; services must be
// registered before Serve.
type Server struct {
	*leanhttp.Server
	rpc.Methods
	serving   rpc.Serving
	mediaType string // of messages
	encoders  encoders
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// requestTimeout limits the time from the first to the last byte of a request.
const requestTimeout = 10 * time.Second

// NewServer returns a server. Its default encoding is JSON.
func NewServer(serving rpc.Serving) (*Server, error) {
	serving.Codec = cmp.Or[rpc.Codec](serving.Codec, rpc.JSON{})
	s := &Server{Methods: rpc.Methods{}, serving: serving, mediaType: rpc.MediaType(serving.Codec)}
	var err error
	s.Server, err = leanhttp.NewServer(leanhttp.Limits{Body: serving.MaxBody},
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
		name := spans.Method(string(request.Target))
		ctx, call = spans.Serve(ctx, s.serving.Tracer, string(request.Trace), name, lab.SegmentBusiness,
			trace.SpanKindServer, time.Time{})
	}
	status := s.carryOut(ctx, e, request, call)
	call.End()
	mediaType := s.mediaType
	if status != http.StatusOK {
		mediaType = problemType
	}
	return leanhttp.AppendResponse(out, status, "", mediaType, e.body.Bytes(), last)
}

// carryOut calls the method and encodes its answer, or the problem, into e. It returns the HTTP status.
func (s *Server) carryOut(
	ctx context.Context, e *encoder, request *leanhttp.Request, call *spans.Part,
) (status int) {
	m, known := s.Methods[string(request.Target)]
	if !known || string(request.Method) != http.MethodPost {
		return e.fail(rpc.Problemf(rpc.InvalidArgument, "there is no %s %s here", request.Method, request.Target))
	}
	if problem := rpc.OtherMediaType(request.ContentType, s.mediaType); problem != nil {
		e.fail(problem)
		return http.StatusUnsupportedMediaType
	}
	reply, problem := s.serving.Call(ctx, m, func(message any) error {
		decoding := call.Begin("decode", lab.SegmentEncoding)
		defer decoding.End()
		return s.serving.Codec.Unmarshal(request.Body, message)
	})
	if problem != nil {
		return e.fail(problem)
	}
	encoding := call.Begin("encode", lab.SegmentEncoding)
	defer encoding.End()
	if err := e.encode(s.serving.Codec, reply); err != nil {
		e.body.Reset()
		return e.fail(s.serving.NotEncoded(m, reply, err))
	}
	return http.StatusOK
}

// refuse returns the answer to an invalid HTTP request.
func (s *Server) refuse(cause *leanhttp.Error) (mediaType string, body []byte) {
	e := s.encoders.get()
	defer s.encoders.put(e)
	text := strings.TrimSpace(cause.Error())
	e.fail(rpc.Problemf(rpc.InvalidArgument, "%s", text))
	return problemType, bytes.Clone(e.body.Bytes())
}

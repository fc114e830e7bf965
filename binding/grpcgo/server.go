package grpcgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// The limits of a connection.
const (
	greetingTimeout = 5 * time.Second // time for the connection preface of HTTP/2
	maxHead         = 16 << 10        // bytes of a call's header
	maxCalls        = 4_096           // concurrent calls
)

// Server answers calls. It implements grpc.ServiceRegistrar; services must be
// registered before Serve.
type Server struct {
	serving rpc.Serving
	grpc    *grpc.Server
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer returns a server. Its default encoding is Protocol Buffers.
func NewServer(serving rpc.Serving) *Server {
	serving.Codec = cmp.Or[rpc.Codec](serving.Codec, rpc.Protobuf{})
	return &Server{serving, grpc.NewServer(
		grpc.MaxRecvMsgSize(serving.MaxBody), grpc.MaxHeaderListSize(maxHead), grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(greetingTimeout), grpc.WaitForHandlers(true),
		grpc.ForceServerCodecV2(newCodec(serving.Codec, serving.LogError)),
	)}
}

// RegisterService implements grpc.ServiceRegistrar. It does not register streaming
// methods.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	ours := *desc
	ours.Streams = nil
	ours.Methods = nil
	methods := rpc.Methods{}
	methods.RegisterService(desc, impl)
	for _, m := range methods {
		ours.Methods = append(ours.Methods, grpc.MethodDesc{MethodName: m.MethodName,
			Handler: func(_ any, ctx context.Context, decode func(any) error,
				_ grpc.UnaryServerInterceptor) (any, error) {
				return s.answer(ctx, m, decode)
			}})
	}
	s.grpc.RegisterService(&ours, impl)
}

// answer carries out one call of a method. It traces the call and turns problems into gRPC statuses.
func (s *Server) answer(ctx context.Context, m rpc.Method, decode func(any) error) (any, error) {
	if sent := metadata.ValueFromIncomingContext(ctx, "content-type"); len(sent) > 0 {
		if err := rpc.CheckGRPCType(sent[0], s.serving.Codec); err != nil {
			return nil, err.Err()
		}
	}
	var call *spans.Part
	if s.serving.Tracer != nil {
		header := strings.Join(metadata.ValueFromIncomingContext(ctx, spans.Header), "")
		ctx, call = spans.Serve(ctx, s.serving.Tracer, header, spans.Method(m.Name), lab.SegmentBusiness,
			trace.SpanKindServer, time.Time{})
	}
	reply, problem := s.serving.Call(ctx, m, func(message any) error {
		if call != nil {
			message = traced{message: message, call: call}
		}
		return decode(message)
	})
	if problem != nil {
		call.End()
		return nil, problem.Status().Err()
	}
	if call != nil {
		return traced{message: reply, call: call, ends: true}, nil
	}
	return reply, nil
}

// Serve answers calls on the listener's connections until Shutdown.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.grpc.Serve(listener); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // Shutdown came first
}

// Shutdown accepts no new calls, waits for the running ones and closes all connections.
// If the context ends first, it cancels the running calls and returns an error.
func (s *Server) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.grpc.Stop)()
	s.grpc.GracefulStop()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("calls still running: %w", err)
	}
	return nil
}

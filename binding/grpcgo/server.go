package grpcgo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
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
	faults   rpc.Faults
	codec    rpc.Codec
	tracer   trace.TracerProvider // nil: no tracing
	logError func(error)
	grpc     *grpc.Server
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer returns a server that refuses requests of more than maxBody bytes.
func NewServer(maxBody int, faults rpc.Faults, options ...rpc.Option) *Server {
	applied := rpc.Apply(rpc.Protobuf{}, options)
	return &Server{faults: faults, codec: applied.Codec, tracer: applied.Tracer,
		logError: applied.LogError, grpc: grpc.NewServer(
			grpc.MaxRecvMsgSize(maxBody), grpc.MaxHeaderListSize(maxHead), grpc.MaxConcurrentStreams(maxCalls),
			grpc.ConnectionTimeout(greetingTimeout), grpc.WaitForHandlers(true),
			grpc.ForceServerCodecV2(newCodec(applied.Codec, applied.LogError)),
		)}
}

// RegisterService implements grpc.ServiceRegistrar. It does not register streaming
// methods.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	ours := *desc
	ours.Streams, ours.Methods = nil, slices.Clone(desc.Methods)
	for i, m := range desc.Methods {
		name := spans.Method("/" + desc.ServiceName + "/" + m.MethodName)
		ours.Methods[i].Handler = func(impl any, ctx context.Context, decode func(any) error,
			_ grpc.UnaryServerInterceptor) (any, error) {
			return s.answer(ctx, name, decode, rpc.Method{MethodDesc: m, Impl: impl})
		}
	}
	s.grpc.RegisterService(&ours, impl)
}

// answer carries out one call of a method. It traces the call and turns errors into gRPC statuses.
func (s *Server) answer(
	ctx context.Context, name string, decode func(any) error, m rpc.Method,
) (any, error) {
	if sent := metadata.ValueFromIncomingContext(ctx, "content-type"); len(sent) > 0 {
		if err := rpc.CheckGRPCType(sent[0], s.codec); err != nil {
			return nil, err.Err()
		}
	}
	var call *spans.Part
	if s.tracer != nil {
		header := strings.Join(metadata.ValueFromIncomingContext(ctx, spans.Header), "")
		ctx, call = spans.Serve(ctx, s.tracer, header, name, lab.SegmentBusiness, trace.SpanKindServer, time.Time{})
	}
	var unreadable error
	reply, err := m.Call(ctx, func(message any) error {
		if call != nil {
			message = traced{message: message, call: call}
		}
		unreadable = decode(message)
		return unreadable
	})
	switch {
	case err == nil && call != nil:
		return traced{message: reply, call: call, ends: true}, nil
	case err != nil && unreadable == nil:
		method, _ := grpc.Method(ctx) // always present in a server's context
		err = rpc.Failed(s.faults, s.logError, method, err).Status().Err()
	case unreadable != nil:
		err = rpc.Unreadable(unreadable).Status().Err()
	}
	call.End()
	return reply, err
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

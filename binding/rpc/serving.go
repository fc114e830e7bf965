package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
)

// Serving holds the settings of a server, and carries out its calls.
type Serving struct {
	MaxBody int // size limit of requests, in bytes
	// ProblemOf converts an error of a method to a problem, usually by the function ProblemOf: the caller gets
	// its kind and its detail. It returns problems unchanged, and must turn the errors of an ended context into
	// DeadlineExceeded and Cancelled, because the callee can notice them before the caller does. It must be safe
	// for concurrent use.
	ProblemOf func(error) *Problem
	// Codec is the encoding of messages; nil: the default of the binding. Both ends must have the same.
	Codec Codec
	// Tracer starts the spans of calls whose caller is traced; nil disables tracing.
	Tracer trace.TracerProvider
	// LogError is called with the errors of calls that failed inside of the callee; may be nil.
	LogError func(error)
	// LogCall is called after each call, with the kind of its problem; empty: there was none. May be nil.
	LogCall func(ctx context.Context, began time.Time, method string, kind Kind)
}

// Methods holds the unary methods of registered services by their full names, /package.Service/Method.
// Streaming methods are not registered.
type Methods map[string]Method

// Method is a method of a service that was registered.
type Method struct {
	grpc.MethodDesc
	Name string // its full name
	Impl any
}

// RegisterService implements grpc.ServiceRegistrar.
func (all Methods) RegisterService(desc *grpc.ServiceDesc, impl any) {
	for _, m := range desc.Methods {
		name := "/" + desc.ServiceName + "/" + m.MethodName
		all[name] = Method{m, name, impl}
	}
}

// Call carries out a call. decode decodes the request; if it fails, the request is unreadable. problem is nil
// if the call has succeeded.
func (s *Serving) Call(ctx context.Context, m Method, decode func(any) error) (reply any, problem *Problem) {
	var began time.Time
	if s.LogCall != nil {
		began = time.Now()
	}
	var kind Kind
	reply, err := m.carryOut(ctx, func(message any) error {
		if err := decode(message); err != nil {
			return unreadable(err)
		}
		return nil
	})
	if err != nil {
		problem = s.failed(m, err)
		kind = problem.Kind
	}
	if s.LogCall != nil {
		s.LogCall(ctx, began, m.Name, kind)
	}
	return reply, problem
}

// carryOut calls the method. It turns a panic into an error with the stack: over every binding
// the caller then gets the problem Internal, the unit goes on, and its log has the cause.
func (m Method) carryOut(ctx context.Context, decode func(any) error) (reply any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			reply = nil
			err = fmt.Errorf("the method panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return m.Handler(m.Impl, ctx, decode, nil)
}

// failed returns the problem of a call that failed with an error. If its kind is Internal, it passes the
// error with its cause, which the caller does not get, to LogError.
func (s *Serving) failed(m Method, err error) *Problem {
	problem := s.ProblemOf(err)
	if problem.Kind == Internal && s.LogError != nil {
		s.LogError(&Failure{m.Name, err})
	}
	return problem
}

// NotEncoded returns the problem of a call whose answer cannot be encoded.
func (s *Serving) NotEncoded(m Method, reply any, err error) *Problem {
	return s.failed(m, fmt.Errorf("encode %T: %w", reply, err))
}

// Failure is the error of an operation. It formats its text only on request, because logs drop most errors
// under load.
type Failure struct {
	Operation string
	Err       error
}

// Error implements error.
func (f *Failure) Error() string { return f.Operation + ": " + f.Err.Error() }

// Unwrap returns the error without the operation.
func (f *Failure) Unwrap() error { return f.Err }

// Serve serves a binding on the listener until ctx ends. It then waits up to drain for
// the calls in flight, and returns nil if they have ended in time. If not, the server cancels
// them, and Serve returns an error. It also returns if the server fails before ctx ends.
// The server's Serve must return nil after Shutdown.
func Serve(ctx context.Context, listener net.Listener, server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}, drain time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return errors.Join(server.Shutdown(limited), <-served)
}

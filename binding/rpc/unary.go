package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc"
)

// Unary makes a client refuse streams; bindings without streams embed it.
type Unary struct{}

// NewStream implements grpc.ClientConnInterface; it always fails.
func (Unary) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, errors.New("this binding carries calls of one message each way, no streams")
}

// Methods holds the unary methods of registered services by their full names, /package.Service/Method.
// Servers embed it. Streaming methods are not registered.
type Methods map[string]Method

// Method is a method of a service that was registered.
type Method struct {
	grpc.MethodDesc
	Impl any
}

// RegisterService implements grpc.ServiceRegistrar.
func (all Methods) RegisterService(desc *grpc.ServiceDesc, impl any) {
	for _, m := range desc.Methods {
		all["/"+desc.ServiceName+"/"+m.MethodName] = Method{m, impl}
	}
}

// Call carries out a call. It turns a panic of the method into an error with the stack: over every binding
// the caller then gets the fault Internal, the unit goes on, and its log has the cause.
func (m Method) Call(ctx context.Context, decode func(any) error) (reply any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			reply, err = nil, fmt.Errorf("the method panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return m.Handler(m.Impl, ctx, decode, nil)
}

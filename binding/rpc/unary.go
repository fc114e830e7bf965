package rpc

import (
	"context"
	"errors"

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

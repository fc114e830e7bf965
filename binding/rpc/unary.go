package rpc

import (
	"context"
	"errors"

	"google.golang.org/grpc"
)

// Unary is the part of a client that carries no streams, for bindings to embed.
type Unary struct{}

// NewStream implements grpc.ClientConnInterface; it always fails.
func (Unary) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, errors.New("this binding carries calls of one message each way, no streams")
}

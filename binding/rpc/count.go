package rpc

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
)

// counting counts calls and streams when they begin.
type counting struct {
	grpc.ClientConnInterface
	calls *atomic.Int64
}

// Counted returns a connection that counts its calls in calls.
func Counted(connection grpc.ClientConnInterface, calls *atomic.Int64) grpc.ClientConnInterface {
	return counting{connection, calls}
}

// Invoke implements grpc.ClientConnInterface.
func (c counting) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	c.calls.Add(1)
	return c.ClientConnInterface.Invoke(ctx, method, in, out, options...)
}

// NewStream implements grpc.ClientConnInterface.
func (c counting) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	c.calls.Add(1)
	return c.ClientConnInterface.NewStream(ctx, desc, method, options...)
}

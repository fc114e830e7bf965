package rpc

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
)

// Balanced spreads calls over replicas of one callee, one after the other. It
// does not repeat a call that failed: whether it was carried out is unknown.
type Balanced struct {
	replicas []grpc.ClientConnInterface
	next     atomic.Uint64
}

var _ grpc.ClientConnInterface = (*Balanced)(nil)

// Balance spreads calls over replicas, of which there is at least one.
func Balance(replicas ...grpc.ClientConnInterface) *Balanced {
	return &Balanced{replicas: replicas}
}

// Invoke implements grpc.ClientConnInterface.
func (b *Balanced) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	return b.turn().Invoke(ctx, method, in, out, options...)
}

// NewStream implements grpc.ClientConnInterface.
func (b *Balanced) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return b.turn().NewStream(ctx, desc, method, options...)
}

func (b *Balanced) turn() grpc.ClientConnInterface {
	return b.replicas[b.next.Add(1)%uint64(len(b.replicas))]
}

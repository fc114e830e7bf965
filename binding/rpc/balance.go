package rpc

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/lab"
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

// Client calls other units until it is closed.
type Client interface {
	grpc.ClientConnInterface
	Close() error
}

// Spread is a client of every replica of a unit, whose addresses are separated by commas:
// calls go to one after the other, as round robin over a headless service has it. Where one
// replica has ended, its share of the calls fails until it is back. One address gets
// the client itself.
func Spread(addresses string, connect func(address string) (Client, error)) (Client, error) {
	var all spread
	for address := range strings.SplitSeq(addresses, lab.AddressSeparator) {
		client, err := connect(address)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.clients = append(all.clients, client)
		all.replicas = append(all.replicas, client)
	}
	if len(all.clients) == 1 {
		return all.clients[0], nil
	}
	return &all, nil
}

// spread are the clients of several replicas.
type spread struct {
	Balanced
	clients []Client
}

// Close implements Client.
func (s *spread) Close() error {
	var errs []error
	for _, client := range s.clients {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

func (b *Balanced) turn() grpc.ClientConnInterface {
	return b.replicas[b.next.Add(1)%uint64(len(b.replicas))]
}

package rpc

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// Balance returns a connection that distributes calls over replicas of one callee. There must be at least
// one. Unlike Spread, it does not check whether they are reachable. It does not retry failed calls, because
// they may have been carried out.
func Balance(by Balancing, replicas ...grpc.ClientConnInterface) grpc.ClientConnInterface {
	s := &spread{by: by}
	for _, connection := range replicas {
		s.all = append(s.all, &replica{ClientConnInterface: connection})
	}
	s.updateAvailable()
	return s
}

// Client calls other units until it is closed.
type Client interface {
	grpc.ClientConnInterface
	Close() error
}

// Unary makes a client refuse streams; bindings without streams embed it.
type Unary struct{}

// NewStream implements grpc.ClientConnInterface; it always fails.
func (Unary) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, errors.New("this binding carries calls of one message each way, no streams")
}

// Spread returns a client that distributes calls over all replicas of a unit (see Replicas); connect makes
// the client for one address. After a failed call it checks whether the replica accepts connections, and
// skips it while it does not. A replica on standby is checked from the beginning. Failed calls are not
// retried. For a single address it returns the client of connect.
func Spread(addresses string, by Balancing, connect func(address string) (Client, error)) (Client, error) {
	s := &spread{by: by}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for address, standby := range Replicas(addresses) {
		client, err := connect(address)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.all = append(s.all, &replica{ClientConnInterface: client, client: client, address: address,
			unreachable: standby})
	}
	if len(s.all) == 1 {
		return s.all[0].client, nil
	}
	s.updateAvailable()
	for _, r := range s.all {
		if r.unreachable {
			s.check(r)
		}
	}
	return s, nil
}

// spread is a client of several replicas.
type spread struct {
	by        Balancing
	all       []*replica
	turn      atomic.Uint64              // the number of calls so far
	available atomic.Pointer[[]*replica] // the replicas that get calls, at least one

	mu       sync.Mutex     // guards unreachable and checking of all replicas
	checkers sync.WaitGroup // the goroutines that check replicas
	ctx      context.Context
	// stop ends ctx, with mu held: then no further goroutine checks replicas. It is nil in a spread of Balance.
	stop context.CancelFunc
}

// replica is one of the replicas of a spread. It counts its open calls, but not streams, because no binding
// supports them.
type replica struct {
	grpc.ClientConnInterface
	open        atomic.Int64 // calls of this caller
	client      Client
	address     string // empty if it was made by Balance: it is never checked
	unreachable bool   // it accepts no connections
	checking    bool   // a goroutine checks it
}

// Invoke implements grpc.ClientConnInterface.
func (r *replica) Invoke(
	ctx context.Context, method string, in, out any, options ...grpc.CallOption,
) error {
	r.open.Add(1)
	defer r.open.Add(-1)
	return r.ClientConnInterface.Invoke(ctx, method, in, out, options...)
}

// Invoke implements grpc.ClientConnInterface.
func (s *spread) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	r := s.next()
	err := r.Invoke(ctx, method, in, out, options...)
	if err != nil && r.address != "" {
		s.check(r)
	}
	return err
}

// NewStream implements grpc.ClientConnInterface. Streams are not checked, because no binding supports them.
func (s *spread) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return s.next().NewStream(ctx, desc, method, options...)
}

// next returns the replica for the next call.
func (s *spread) next() *replica {
	return choose(s.by, s.turn.Add(1), *s.available.Load())
}

// updateAvailable sets available to the reachable replicas, or to all if none is reachable. mu is held, or s
// is not shared yet.
func (s *spread) updateAvailable() {
	available := slices.DeleteFunc(slices.Clone(s.all), func(r *replica) bool { return r.unreachable })
	if len(available) == 0 {
		available = s.all
	}
	s.available.Store(&available)
}

const (
	// checkInterval is the pause between checks of an unreachable replica.
	checkInterval = 100 * time.Millisecond
	// checkTimeout is the longest time that a replica may take to accept a connection.
	checkTimeout = 500 * time.Millisecond
)

// check checks in the background whether a replica accepts connections, and marks it as
// unreachable until it does. A failed call alone does not mean that the replica is
// unreachable: it may have refused the request. After Close, check does nothing.
func (s *spread) check(r *replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.checking || s.ctx.Err() != nil {
		return
	}
	r.checking = true
	s.checkers.Go(func() {
		for {
			accepts := s.accepts(r)
			s.mu.Lock()
			r.unreachable = !accepts
			r.checking = !accepts
			s.updateAvailable()
			s.mu.Unlock()
			if accepts {
				return
			}
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(checkInterval):
			}
		}
	})
}

// accepts reports whether a replica accepts connections.
func (s *spread) accepts(r *replica) bool {
	ctx, cancel := context.WithTimeout(s.ctx, checkTimeout)
	defer cancel()
	return Reachable(ctx, r.address) == nil
}

// Close implements Client. It does nothing for a spread of Balance, which does not own its clients.
func (s *spread) Close() error {
	if s.stop == nil {
		return nil
	}
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.checkers.Wait()
	var errs []error
	for _, r := range s.all {
		errs = append(errs, r.client.Close())
	}
	return errors.Join(errs...)
}

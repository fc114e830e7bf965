package rpc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/lab"
)

// Balance returns a connection that distributes calls over replicas of one callee. There must be at least
// one. Unlike Spread, it does not check whether they are reachable. It does not retry failed calls, because
// they may have been carried out.
func Balance(by Balancing, replicas ...grpc.ClientConnInterface) grpc.ClientConnInterface {
	s := &spread{by: by}
	for _, of := range replicas {
		s.all = append(s.all, &replica{callee: callee{ClientConnInterface: of}})
	}
	s.choose()
	return s
}

// Client calls other units until it is closed.
type Client interface {
	grpc.ClientConnInterface
	Close() error
}

// Spread returns a client that distributes calls over all replicas of a unit. Their addresses are
// separated by commas; connect makes the client for one address. After a failed call it checks
// whether the replica accepts connections, and skips it while it does not. A replica on standby
// (lab.StandbyMark) is checked from the beginning. Failed calls are not retried. For a single
// address it returns the client of connect.
func Spread(addresses string, by Balancing, connect func(address string) (Client, error)) (Client, error) {
	s := &spread{by: by, closed: make(chan struct{})}
	for address := range strings.SplitSeq(addresses, lab.AddressSeparator) {
		address, standby := strings.CutPrefix(address, lab.StandbyMark)
		client, err := connect(address)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.all = append(s.all, &replica{callee: callee{ClientConnInterface: client}, client: client,
			address: address, away: standby})
	}
	if len(s.all) == 1 {
		return s.all[0].client, nil
	}
	s.choose()
	for _, r := range s.all {
		if r.away {
			s.lookAt(r)
		}
	}
	return s, nil
}

// spread is a client of several replicas.
type spread struct {
	by   Balancing
	all  []*replica
	next atomic.Uint64
	here atomic.Pointer[[]*replica] // the replicas that get calls, at least one

	mu      sync.Mutex // guards away and looked of all replicas
	looking sync.WaitGroup
	once    sync.Once
	closed  chan struct{}
}

// replica is one of the replicas of a spread.
type replica struct {
	callee
	client       Client
	address      string // "": made by Balance, never checked
	away, looked bool   // it accepts no connections; a goroutine checks it
}

// Invoke implements grpc.ClientConnInterface.
func (s *spread) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	r := s.turn()
	err := r.Invoke(ctx, method, in, out, options...)
	if err != nil && r.address != "" {
		s.lookAt(r)
	}
	return err
}

// NewStream implements grpc.ClientConnInterface.
func (s *spread) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return s.turn().NewStream(ctx, desc, method, options...)
}

func (s *spread) turn() *replica {
	return choose(s.by, s.next.Add(1), *s.here.Load())
}

// choose updates the replicas that get calls: those that are not away, or all if all are. mu is
// held, or s is not shared yet.
func (s *spread) choose() {
	here := slices.DeleteFunc(slices.Clone(s.all), func(r *replica) bool { return r.away })
	if len(here) == 0 {
		here = s.all
	}
	s.here.Store(&here)
}

const (
	// lookAgain is the pause between checks of a replica that is away.
	lookAgain = 100 * time.Millisecond
	// lookPatience is the longest time that a replica may take to accept a connection.
	lookPatience = 500 * time.Millisecond
)

// lookAt checks in the background whether a replica accepts connections, and marks it as away
// until it does. A failed call alone does not mean that the replica is unreachable: it may have
// refused the request.
func (s *spread) lookAt(r *replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.looked {
		return
	}
	r.looked = true
	s.looking.Go(func() {
		for {
			accepts := s.accepts(r)
			s.mu.Lock()
			if r.away == accepts {
				r.away = !accepts
				s.choose()
			}
			r.looked = !accepts
			s.mu.Unlock()
			if accepts {
				return
			}
			select {
			case <-s.closed:
				return
			case <-time.After(lookAgain):
			}
		}
	})
}

// accepts reports whether a replica accepts connections.
func (s *spread) accepts(r *replica) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	return Reachable(ctx, r.address) == nil
}

// Close implements Client. It does nothing for a spread of Balance, which does not own its clients.
func (s *spread) Close() error {
	if s.closed == nil {
		return nil
	}
	s.once.Do(func() { close(s.closed) })
	s.looking.Wait()
	var errs []error
	for _, r := range s.all {
		errs = append(errs, r.client.Close())
	}
	return errors.Join(errs...)
}

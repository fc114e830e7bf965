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

// Balance spreads calls over replicas of one callee, at least one, of which all always get calls. It does not
// repeat a call that failed: whether it was carried out is unknown.
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

// Spread returns a client of every replica of a unit, whose addresses are separated by commas:
// calls go to all of them, as clients of a headless service have it. A replica
// that a call has failed at is looked at, and passed over while it accepts no connections; so
// is one on standby (lab.StandbyMark) from the beginning. A call that failed is not repeated.
// One address gets the client itself.
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

// spread are the clients of several replicas.
type spread struct {
	by   Balancing
	all  []*replica
	next atomic.Uint64
	here atomic.Pointer[[]*replica] // those that get calls, at least one

	mu      sync.Mutex // of away and looked
	looking sync.WaitGroup
	once    sync.Once
	closed  chan struct{}
}

// replica is one of several.
type replica struct {
	callee
	client       Client
	address      string // "": it always gets calls
	away, looked bool   // it accepts no connections; somebody looks whether it does
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

// choose has calls go to the replicas that are not away; where all are, to all. The mutex is
// held, or nobody else knows of s.
func (s *spread) choose() {
	here := slices.DeleteFunc(slices.Clone(s.all), func(r *replica) bool { return r.away })
	if len(here) == 0 {
		here = s.all
	}
	s.here.Store(&here)
}

const (
	// lookAgain is how long after a replica that is away is looked for again.
	lookAgain = 100 * time.Millisecond
	// lookPatience is how long one may take to accept a connection.
	lookPatience = 500 * time.Millisecond
)

// lookAt finds out whether a replica accepts connections and, where it does not, waits in the
// background until it does. A refusal of what was asked for looks like a failure here: then
// the replica is there.
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

// Close implements Client. What Balance has made has nothing to close.
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

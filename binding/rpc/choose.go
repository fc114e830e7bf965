package rpc

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"google.golang.org/grpc"
)

// Balancing is a way to choose among the replicas of a callee. Only the open calls of this process are
// known.
type Balancing int

// The ways to choose.
const (
	RoundRobin    Balancing = iota // one after the other
	LeastRequests                  // the replica with the fewest open calls; equal ones one after the other
	TwoChoices                     // of two random replicas, the one with fewer open calls
)

// candidate is a replica that choose can return. It counts its open calls, but not streams, because no
// binding supports them.
type candidate struct {
	grpc.ClientConnInterface
	open atomic.Int64 // calls of this caller
}

// Invoke implements grpc.ClientConnInterface.
func (c *candidate) Invoke(
	ctx context.Context, method string, in, out any, options ...grpc.CallOption,
) error {
	c.open.Add(1)
	defer c.open.Add(-1)
	return c.ClientConnInterface.Invoke(ctx, method, in, out, options...)
}

func (c *candidate) openCalls() int64 { return c.open.Load() }

// choose returns one of the replicas, of which there must be at least one. The caller increases turn by one
// with each call.
func choose[R interface{ openCalls() int64 }](by Balancing, turn uint64, replicas []R) R {
	n := len(replicas)
	chosen := replicas[turn%uint64(n)]
	switch {
	case by == LeastRequests:
		least := chosen.openCalls()
		for k := range uint64(n - 1) {
			other := replicas[(turn+1+k)%uint64(n)]
			if open := other.openCalls(); open < least {
				chosen, least = other, open
			}
		}
	case by == TwoChoices && n > 1:
		i, j := rand.IntN(n), rand.IntN(n-1)
		if j >= i {
			j++ // j differs from i
		}
		if chosen = replicas[i]; replicas[j].openCalls() < chosen.openCalls() {
			chosen = replicas[j]
		}
	}
	return chosen
}

package rpc

import "math/rand/v2"

// Balancing is a way to choose among the replicas of a callee. Only the open calls of this process are
// known.
type Balancing int

// The ways to choose.
const (
	RoundRobin    Balancing = iota // one after the other
	LeastRequests                  // the replica with the fewest open calls; equal ones one after the other
	TwoChoices                     // of two random replicas, the one with fewer open calls
)

// choose returns one of the replicas, of which there must be at least one. The caller increases turn by one
// with each call.
func choose(by Balancing, turn uint64, replicas []*replica) *replica {
	n := len(replicas)
	chosen := replicas[turn%uint64(n)]
	switch {
	case by == LeastRequests:
		least := chosen.open.Load()
		for k := range uint64(n - 1) {
			other := replicas[(turn+1+k)%uint64(n)]
			if open := other.open.Load(); open < least {
				chosen, least = other, open
			}
		}
	case by == TwoChoices && n > 1:
		i := rand.IntN(n)
		j := rand.IntN(n - 1)
		if j >= i {
			j++ // j differs from i
		}
		if chosen = replicas[i]; replicas[j].open.Load() < chosen.open.Load() {
			chosen = replicas[j]
		}
	}
	return chosen
}

package rpc

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
)

func TestReplicasAreChosenByTheirOpenCalls(t *testing.T) {
	for name, c := range map[string]struct {
		by    Balancing
		open  []int64
		never []int // the replicas that get none of many calls; all others get some
	}{
		"round robin counts nothing":             {RoundRobin, []int64{9, 0, 1}, nil},
		"the fewest":                             {LeastRequests, []int64{2, 1, 0, 1}, []int{0, 1, 3}},
		"all with the fewest":                    {LeastRequests, []int64{0, 5, 0, 1}, []int{1, 3}},
		"never the worst of all":                 {TwoChoices, []int64{2, 1, 0}, []int{0}},
		"two choices are no search for the best": {TwoChoices, []int64{3, 2, 1, 0}, []int{0}},
		"the better of two":                      {TwoChoices, []int64{1, 0}, []int{0}},
		"two choices of one":                     {TwoChoices, []int64{7}, nil},
		"the fewest of one":                      {LeastRequests, []int64{7}, nil},
	} {
		replicas := make([]*replica, len(c.open))
		index := map[*replica]int{}
		for i, open := range c.open {
			replicas[i] = &replica{}
			replicas[i].open.Store(open)
			index[replicas[i]] = i
		}
		got := make([]int, len(replicas))
		for turn := range uint64(1000) {
			got[index[choose(c.by, turn, replicas)]]++
		}
		unwanted := map[int]bool{}
		for _, i := range c.never {
			unwanted[i] = true
		}
		for i, n := range got {
			if (n == 0) != unwanted[i] {
				t.Errorf("%s: with %d open calls, %d of 1000 calls go to the replicas, want none at %d", name, c.open,
					got, c.never)
				break
			}
		}
	}
}

// held is a callee that does not answer before the test lets it.
type held struct {
	grpc.ClientConnInterface
	begun  chan struct{} // receives a value for each call
	answer chan struct{} // closed to answer all calls
}

func (h held) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	select {
	case h.begun <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-h.answer:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestACallIsOpenUntilItIsAnswered: while a call to one replica is open, further calls go to the other one;
// then they go to both again.
func TestACallIsOpenUntilItIsAnswered(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	slow := held{begun: make(chan struct{}), answer: make(chan struct{})}
	quick := &counted{}
	balanced := Balance(LeastRequests, quick, slow) // the first turn is 1, that of slow
	call := func() error { return balanced.Invoke(ctx, "/a.B/C", nil, nil) }
	beginSlowCall := func() (done chan error) {
		done = make(chan error, 1)
		go func() { done <- call() }()
		select {
		case <-slow.begun:
		case err := <-done:
			t.Fatalf("with no call open, the next in turn is not called, or error %v", err)
		}
		return done
	}
	done := beginSlowCall()
	for range 5 {
		if err := call(); err != nil {
			t.Fatalf("a call while another is open: %v", err)
		}
	}
	close(slow.answer)
	if err := <-done; err != nil || quick.calls != 5 {
		t.Errorf("error %v, %d of 5 calls went past the one that was busy", err, quick.calls)
	}
	if err := <-beginSlowCall(); err != nil { // the seventh call: it is the turn of slow again
		t.Error(err)
	}
}

package batching

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// callers make calls at the same time: the call first is under way until the rest wait.
type callers struct {
	batcher  *Batcher[int]
	arrived  chan struct{} // gets a value when the call first is under way
	release  chan struct{} // is closed to end the call first
	mu       sync.Mutex
	together []int // calls in batches of several
	alone    []int // calls in batches of one, without first
}

// newCallers returns callers. all carries out their batches of several calls.
func newCallers(t *testing.T, all func(group []int) ([]steps.Outcome, error)) *callers {
	c := &callers{arrived: make(chan struct{}), release: make(chan struct{})}
	db := databasetest.Open(t, database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/db"})
	c.batcher = &Batcher[int]{db: db, all: func(_ context.Context, group []int) ([]steps.Outcome, error) {
		if group[0] == first {
			c.arrived <- struct{}{}
			<-c.release
			return fine(group)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(group) == 1 {
			c.alone = append(c.alone, group[0])
			return fine(group)
		}
		c.together = append(c.together, group...)
		return all(group)
	}}
	return c
}

// first is a call that stays until release.
const first = -1

// fine returns the outcomes of a group of which no call is refused.
func fine(group []int) ([]steps.Outcome, error) { return make([]steps.Outcome, len(group)), nil }

// call makes a call.
func (c *callers) call(ctx context.Context, n int) error {
	_, err := c.batcher.Do(ctx, n)
	return err
}

// count returns the number of waiting calls.
func (b *Batcher[Q]) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// occupy starts a call, which lasts until release, so that other calls wait.
func (c *callers) occupy(t *testing.T) *sync.WaitGroup {
	var calls sync.WaitGroup
	calls.Go(func() { _ = c.call(t.Context(), first) })
	<-c.arrived
	return &calls
}

// awaitCalls waits until this number of calls wait.
func awaitCalls(t *testing.T, waiting func() int, calls int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); waiting() < calls; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d of %d calls wait after a minute", waiting(), calls)
		}
	}
}

// play makes calls that all wait while the call first is under way, and returns their errors.
func (c *callers) play(t *testing.T, calls int) []error {
	t.Helper()
	all := c.occupy(t)
	errs := make([]error, calls)
	for n := range calls {
		all.Go(func() { errs[n] = c.call(t.Context(), n) })
	}
	awaitCalls(t, c.batcher.count, calls)
	close(c.release)
	all.Wait()
	return errs
}

func TestWaitingCallsShareABatch(t *testing.T) {
	c := newCallers(t, fine)
	if err := errors.Join(c.play(t, 5)...); err != nil || len(c.together) != 5 || len(c.alone) != 0 {
		t.Errorf("together %v, alone %v, error %v", c.together, c.alone, err)
	}
	if err := c.call(t.Context(), 9); err != nil || len(c.alone) != 1 {
		t.Errorf("a call without company: alone %v, error %v", c.alone, err)
	}
}

// TestARefusalConcernsOneCall: the other calls of the batch succeed.
func TestARefusalConcernsOneCall(t *testing.T) {
	refused := errors.New("refused")
	c := newCallers(t, func(group []int) ([]steps.Outcome, error) {
		outcomes, err := fine(group)
		outcomes[slices.Index(group, 3)].Err = refused
		return outcomes, err
	})
	for n, err := range c.play(t, 5) {
		if (n == 3) != errors.Is(err, refused) || n != 3 && err != nil {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if len(c.together) != 5 || len(c.alone) != 0 {
		t.Errorf("together %v, alone %v", c.together, c.alone)
	}
}

// TestABatchThatFailsGoesOneByOne: an error of one call must not fail the others.
func TestABatchThatFailsGoesOneByOne(t *testing.T) {
	c := newCallers(t, func([]int) ([]steps.Outcome, error) { return nil, errors.New("planted") })
	if err := errors.Join(c.play(t, 5)...); err != nil || len(c.together) != 5 || len(c.alone) != 5 {
		t.Errorf("together %v, alone %v, error %v", c.together, c.alone, err)
	}
}

// TestAnUnavailableUnitIsAskedOnce: a batch that fails because a unit is down is not repeated call by call.
func TestAnUnavailableUnitIsAskedOnce(t *testing.T) {
	c := newCallers(t, func([]int) ([]steps.Outcome, error) {
		return nil, rpc.Problemf(rpc.Unavailable, "planted")
	})
	for n, err := range c.play(t, 5) {
		if !shop.IsKind(err, rpc.Unavailable) {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if len(c.together) != 5 || len(c.alone) != 0 {
		t.Errorf("together %v, alone %v", c.together, c.alone)
	}
}

// TestATransactionOfTheCallerIsJoined: a call in a transaction joins no batch, since a batch has another
// transaction.
func TestATransactionOfTheCallerIsJoined(t *testing.T) {
	c := newCallers(t, fine)
	firsts := c.occupy(t)
	err := c.batcher.db.Do(t.Context(), func(ctx context.Context) error { return c.call(ctx, 1) })
	if err != nil || len(c.alone) != 1 {
		t.Errorf("alone %v, error %v", c.alone, err)
	}
	close(c.release)
	firsts.Wait()
}

func TestACallerWhoGivesUpWaitsNoMore(t *testing.T) {
	c := newCallers(t, fine)
	firsts := c.occupy(t)
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	if err := c.call(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(c.release)
	firsts.Wait()
}

// TestACallWithLittleTimeLeavesTheOthersTheirs: the batch goes on when the deadline of its first call passes.
func TestACallWithLittleTimeLeavesTheOthersTheirs(t *testing.T) {
	db := databasetest.Open(t, database.Config{Driver: database.SQLite, DSN: t.TempDir() + "/db"})
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		ask := Ask(db, func(ctx context.Context, group []int) ([]steps.Outcome, error) {
			if group[0] == first {
				<-busy
				return fine(group)
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
				return fine(group)
			}
		}, true)
		var all sync.WaitGroup
		call := func(n int, limit time.Duration, want error) {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				if _, err := ask(ctx, n); !errors.Is(err, want) {
					t.Errorf("call %d: error %v, want %v", n, err, want)
				}
			})
			synctest.Wait()
		}
		call(first, time.Minute, nil)
		call(1, 500*time.Millisecond, context.DeadlineExceeded)
		call(2, time.Minute, nil)
		call(3, time.Minute, nil)
		close(busy)
		all.Wait()
	})
}

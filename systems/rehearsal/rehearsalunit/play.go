package rehearsalunit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
)

// values holds a distribution to draw from.
type values []model.Point

// draw returns a value: it is linear between the quantiles.
func (v values) draw() time.Duration {
	share := rand.Float64()
	i := sort.Search(len(v), func(i int) bool { return v[i].Share >= share })
	seconds := 0.0
	switch {
	case i == len(v):
		seconds = v[i-1].Seconds
	case i == 0 || v[i].Share == v[i-1].Share:
		seconds = v[i].Seconds
	default:
		a, b := v[i-1], v[i]
		seconds = a.Seconds + (share-a.Share)/(b.Share-a.Share)*(b.Seconds-a.Seconds)
	}
	return time.Duration(seconds * float64(time.Second))
}

// score is a call as this unit plays it.
type score struct {
	*rehearsal.Call
	cpu, wait, background values
	visits                []visit // of embedded stores
	in, out               string
}

// visit is the work of a call at an embedded store.
type visit struct {
	model.Visit
	store *station
	wait  values
	// commitCPU is the CPU time that our program takes for a commit.
	commitCPU time.Duration
}

// perCommit returns the number of statements of one commit.
func (v visit) perCommit() int { return max(1, int(math.Round(v.Statements/v.Commits))) }

// scoreOf prepares a call.
func (u *Unit) scoreOf(c *rehearsal.Call) *score {
	s := &score{Call: c, cpu: c.CPU.Points(), wait: c.Wait.Points(), background: c.Background.Points(),
		in: filler(c.In), out: filler(c.Out)}
	for _, v := range c.Visits {
		s.visits = append(s.visits, visit{Visit: v, store: u.stations[v.Store], wait: v.Wait.Points()})
	}
	return s
}

// filler returns a text of so many bytes.
func filler(bytes float64) string { return strings.Repeat("x", int(bytes+0.5)) }

// play plays a call in this unit: half of its CPU time, its waiting, its stores, its calls, and the other
// half. Where it commits, all of its CPU time comes at the end, without what the commit took.
func (u *Unit) play(ctx context.Context, s *score) error {
	u.counts.add(s.Number, served)
	cpu, background := s.cpu.draw(), s.background.draw()
	u.counts.demanded().Add(int64(cpu + background))
	cpu, background = u.withoutOwn(s, cpu, background)
	first := cpu / 2
	if slices.ContainsFunc(s.visits, func(v visit) bool { return v.store.db != nil }) {
		first = 0
	}
	u.burner.burn(first)
	wait := s.wait.draw()
	if s.OfStore {
		wait -= u.storeWait
	}
	if err := u.sleeper.sleep(wait); err != nil {
		return err
	}
	used := time.Duration(0)
	for _, v := range s.visits {
		took, err := v.store.visit(ctx, v)
		if err != nil {
			return err
		}
		used += took
	}
	if err := u.playCalls(ctx, s.Calls); err != nil {
		return err
	}
	u.burner.burn(cpu - first - used)
	if background > 0 {
		u.begin(func() { u.burner.burn(background) })
	}
	u.counts.add(s.Number, done)
	return nil
}

// withoutOwn subtracts from the CPU time of a call what this program itself takes for the request of a client
// and for calls of stores that are units. The model has the latter in the CPU time of both sides.
func (u *Unit) withoutOwn(s *score, cpu, background time.Duration) (time.Duration, time.Duration) {
	own := time.Duration(0)
	if s.Caller == nil {
		own += u.frontCPU[s.Operation]
	}
	if s.OfStore {
		own += u.storeCPU
	}
	for _, c := range s.Calls {
		if c.OfStore && c.Unit != u.index {
			own += u.storeCPU
		}
	}
	less := min(own, background)
	return max(0, cpu-(own-less)), background - less
}

// playCalls plays calls in their order. One that is parallel begins together with the call before it.
func (u *Unit) playCalls(ctx context.Context, calls []*rehearsal.Call) error {
	for i := 0; i < len(calls); {
		c := calls[i]
		i++
		if c.Async {
			for range executions(c.Count) {
				u.begin(func() { u.logIf(u.call(context.WithoutCancel(ctx), c)) })
			}
			continue
		}
		var together []*rehearsal.Call
		for ; i < len(calls) && calls[i].Parallel && !calls[i].Async; i++ {
			together = append(together, calls[i])
		}
		if !c.Parallel && len(together) == 0 {
			if err := u.repeat(ctx, c); err != nil {
				return err
			}
			continue
		}
		if err := u.fork(ctx, c, together); err != nil {
			return err
		}
	}
	return nil
}

// begin starts work that nobody waits for.
func (u *Unit) begin(work func()) {
	u.aside.Add(1)
	go func() {
		defer u.aside.Add(-1)
		work()
	}()
}

// finish waits for the work that nobody waits for.
func (u *Unit) finish() {
	for u.aside.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// repeat makes the executions of a call, one after the other.
func (u *Unit) repeat(ctx context.Context, c *rehearsal.Call) error {
	for range executions(c.Count) {
		if err := u.call(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// fork makes calls that begin together. The executions of the first follow each other unless it is parallel,
// too.
func (u *Unit) fork(ctx context.Context, first *rehearsal.Call, together []*rehearsal.Call) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs error
	start := func(work func() error) {
		all.Go(func() {
			err := work()
			mu.Lock()
			defer mu.Unlock()
			errs = errors.Join(errs, err)
		})
	}
	if !first.Parallel {
		start(func() error { return u.repeat(ctx, first) })
	} else {
		together = append(together, first)
	}
	for _, c := range together {
		for range executions(c.Count) {
			start(func() error { return u.call(ctx, c) })
		}
	}
	all.Wait()
	return errs
}

// executions returns how often a call is made this time: 2.5 is twice or three times.
func executions(count float64) int {
	whole := int(count)
	if rand.Float64() < count-float64(whole) {
		whole++
	}
	return whole
}

// call makes a call once: in this unit, or over the binding.
func (u *Unit) call(ctx context.Context, c *rehearsal.Call) error {
	u.counts.add(c.Number, made)
	s := u.scores[c.Number]
	if c.Unit == u.index {
		return u.play(ctx, s)
	}
	answer, err := u.parts[c.Unit].Play(ctx, &rehearsalpb.PlayRequest{Call: uint32(c.Number), Load: s.in})
	if err == nil && len(answer.GetLoad()) != len(s.out) {
		err = &rpc.Problem{Kind: rpc.Internal, Detail: "a call was answered with another number of bytes"}
	}
	return err
}

// enter plays a call that comes from outside of the unit. It waits until a worker is free.
func (u *Unit) enter(ctx context.Context, s *score) error {
	if u.workers == nil {
		return u.play(ctx, s)
	}
	select {
	case u.workers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-u.workers }()
	return u.play(ctx, s)
}

// Play implements rehearsalpb.Part.
func (u *Unit) Play(ctx context.Context, in *rehearsalpb.PlayRequest) (*rehearsalpb.PlayResponse, error) {
	number := int(in.GetCall())
	if number >= len(u.scores) || u.scores[number].Unit != u.index {
		return nil, &rpc.Problem{Kind: rpc.InvalidArgument, Detail: "this unit does not play the call"}
	}
	s := u.scores[number]
	if len(in.GetLoad()) != len(s.in) {
		return nil, &rpc.Problem{Kind: rpc.InvalidArgument, Detail: "the request has another number of bytes"}
	}
	if err := u.enter(ctx, s); err != nil {
		return nil, err
	}
	return &rehearsalpb.PlayResponse{Load: s.out}, nil
}

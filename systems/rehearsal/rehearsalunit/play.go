package rehearsalunit

import (
	"context"
	"errors"
	"math/rand/v2"
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
	// share is the share of the CPU time that is left to compute: the program itself takes the rest.
	share float64
}

// visit is the work of a call at an embedded store.
type visit struct {
	model.Visit
	store *station
	wait  values
}

// scoreOf prepares a call.
func (u *Unit) scoreOf(c *rehearsal.Call) *score {
	s := &score{Call: c, cpu: c.CPU.Points(), wait: c.Wait.Points(), background: c.Background.Points(),
		in: filler(c.In), out: filler(c.Out), share: 1}
	for _, v := range c.Visits {
		s.visits = append(s.visits, visit{v, u.stations[v.Store], v.Wait.Points()})
	}
	return s
}

// filler returns a text of a length in bytes, rounded.
func filler(bytes float64) string { return strings.Repeat("x", int(bytes+0.5)) }

// play plays a call in this unit: half of its CPU time, its waiting, its stores, its calls, and the other
// half. While probes are sent nothing is computed, asked of other units, or counted.
func (u *Unit) play(ctx context.Context, s *score) error {
	cpu, background := s.cpu.draw(), s.background.draw()
	if !u.dry {
		u.counts.add(s.Number, served)
		u.counts.demanded().Add(int64(cpu + background))
	}
	cpu, background = u.withoutOwn(s, cpu, background)
	u.burner.burn(cpu / 2)
	wait := s.wait.draw()
	if s.OfStore {
		wait -= u.storeWait
	}
	if err := u.sleeper.sleep(u.dried(wait)); err != nil {
		return err
	}
	for _, v := range s.visits {
		if err := v.store.visit(ctx, v, u.dried(v.wait.draw())); err != nil {
			return err
		}
	}
	if err := u.playCalls(ctx, s.Calls); err != nil {
		return err
	}
	u.burner.burn(cpu - cpu/2)
	if background > 0 {
		u.begin(func() { u.burner.burn(background) })
	}
	if !u.dry {
		u.counts.add(s.Number, done)
	}
	return nil
}

// dried returns a wait: while probes are sent it is short.
func (u *Unit) dried(wait time.Duration) time.Duration {
	if u.dry {
		return min(wait, dryWait)
	}
	return wait
}

// withoutOwn returns the CPU time of a call that is left to compute: this program itself takes the rest, and
// some more for calls of stores that are units. The model has the latter in the CPU time of both sides.
func (u *Unit) withoutOwn(s *score, cpu, background time.Duration) (time.Duration, time.Duration) {
	if u.dry {
		return 0, 0
	}
	own := time.Duration(0)
	if s.OfStore {
		own += u.storeCPU
	}
	for _, c := range s.Calls {
		if c.OfStore && c.Unit != u.index {
			own += u.storeCPU
		}
	}
	left := func(of time.Duration) time.Duration { return time.Duration(s.share * float64(of)) }
	less := min(own, left(background))
	return max(0, left(cpu)-(own-less)), left(background) - less
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
	s := u.scores[c.Number]
	if u.dry && c.Unit != u.index {
		return nil
	}
	if !u.dry {
		u.counts.add(c.Number, made)
	}
	if c.Unit == u.index {
		return u.play(ctx, s)
	}
	answer, err := u.parts[c.Unit].Play(ctx, &rehearsalpb.PlayRequest{Call: uint32(c.Number), Load: s.in})
	if err == nil && len(answer.GetLoad()) != len(s.out) {
		err = rpc.Problemf(rpc.Internal, "call %d was answered with %d bytes, the model says %d", c.Number,
			len(answer.GetLoad()), len(s.out))
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
		return nil, rpc.Problemf(rpc.InvalidArgument, "unit %s does not play call %d", u.Name, number)
	}
	s := u.scores[number]
	if len(in.GetLoad()) != len(s.in) {
		return nil, rpc.Problemf(rpc.InvalidArgument, "the request of call %d has %d bytes, the model says %d",
			number, len(in.GetLoad()), len(s.in))
	}
	if err := u.enter(ctx, s); err != nil {
		return nil, err
	}
	return &rehearsalpb.PlayResponse{Load: s.out}, nil
}

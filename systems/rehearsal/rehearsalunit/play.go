package rehearsalunit

import (
	"context"
	"math/rand/v2"
	"sort"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
)

// values is a distribution to draw from, as quantiles.
type values []model.Point

// draw returns a random value. Between two quantiles it is uniformly distributed.
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

// preparedCall is a call with everything that a unit needs to play or make it.
type preparedCall struct {
	*rehearsal.Call
	cpu, wait, background values
	visits                []visit // of embedded stores
	in, out               string  // the loads of the request and of the answer
	// share is the share of the CPU time to burn: the program itself takes the rest (see calibrate).
	share float64
}

// visit is a visit of an embedded store.
type visit struct {
	model.Visit
	store *embeddedStore
	wait  values
}

// prepare returns the prepared form of a call. The stores must be open.
func (u *Unit) prepare(c *rehearsal.Call) *preparedCall {
	p := &preparedCall{Call: c, cpu: c.CPU.Points(), wait: c.Wait.Points(), background: c.Background.Points(),
		in: filler(c.In), out: filler(c.Out), share: 1}
	for _, v := range c.Visits {
		p.visits = append(p.visits, visit{v, u.stores[v.Store], v.Wait.Points()})
	}
	return p
}

// filler returns a string of a length in bytes, rounded.
func filler(bytes float64) string { return strings.Repeat("x", int(bytes+0.5)) }

// play plays a call in this unit: half of its CPU time, its wait, its visits of stores, its calls, and the
// other half of the CPU time. A probe calls no other unit, and counts nothing.
func (u *Unit) play(ctx context.Context, p *preparedCall) error {
	cpu := p.cpu.draw()
	background := p.background.draw()
	if !u.probing {
		u.counts.add(p.Number, served)
		u.counts.demanded().Add(int64(cpu + background))
	}
	cpu, background = u.toBurn(p, cpu, background)
	u.burn(cpu / 2)
	wait := p.wait.draw()
	if p.OfStore {
		wait -= u.storeWait // the call itself takes this time
	}
	if err := u.sleeper.sleep(u.limitWait(wait)); err != nil {
		return err
	}
	for _, v := range p.visits {
		if err := v.store.visit(ctx, v, u.limitWait(v.wait.draw())); err != nil {
			return err
		}
	}
	if err := u.playCalls(ctx, p.Calls); err != nil {
		return err
	}
	u.burn(cpu - cpu/2)
	if background > 0 {
		u.inBackground(func() { u.burner.burn(background) })
	}
	if !u.probing {
		u.counts.add(p.Number, done)
	}
	return nil
}

// burn uses an amount of CPU time. A probe uses at most probeMost, and nothing once all probes together have
// used allBurns.
func (u *Unit) burn(cpu time.Duration) {
	switch {
	case !u.probing:
		u.burner.burn(cpu)
	case time.Duration(u.burner.probed.Load()) < allBurns:
		u.burner.probe(min(cpu, probeMost))
	}
}

// limitWait returns a wait; in a probe, at most probeMost.
func (u *Unit) limitWait(wait time.Duration) time.Duration {
	if u.probing {
		return min(wait, probeMost)
	}
	return wait
}

// toBurn returns the CPU times of a call without the time that this program itself takes: for the call (its
// share), and for its calls to stores that are units. The latter is part of the CPU time of both ends in the
// model. A probe takes nothing off, and burns nothing in the background.
func (u *Unit) toBurn(p *preparedCall, cpu, background time.Duration) (time.Duration, time.Duration) {
	if u.probing {
		return cpu, 0
	}
	own := time.Duration(0)
	if p.OfStore {
		own += u.storeCPU
	}
	for _, c := range p.Calls {
		if c.OfStore && c.Unit != u.index {
			own += u.storeCPU
		}
	}
	cpu = time.Duration(p.share * float64(cpu))
	background = time.Duration(p.share * float64(background))
	inBackground := min(own, background) // models count the handling of messages as background work
	return max(0, cpu-(own-inBackground)), background - inBackground
}

// playCalls makes calls in their order. A parallel call starts together with the call before it, and nobody
// waits for an asynchronous one.
func (u *Unit) playCalls(ctx context.Context, calls []*rehearsal.Call) error {
	for i := 0; i < len(calls); {
		c := calls[i]
		i++
		if c.Async {
			for range executions(c.Count) {
				u.inBackground(func() {
					ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
					defer cancel()
					u.logIf(u.call(ctx, c))
				})
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

// inBackground starts work that no caller waits for, but finish does.
func (u *Unit) inBackground(work func()) {
	u.background.Add(1)
	go func() {
		defer u.background.Add(-1)
		work()
	}()
}

// finish waits for the work in the background.
func (u *Unit) finish() {
	for u.background.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// repeat makes the executions of a call one after the other.
func (u *Unit) repeat(ctx context.Context, c *rehearsal.Call) error {
	for range executions(c.Count) {
		if err := u.call(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// fork makes calls that start together, with all their executions. Those of the first follow each other
// unless it is parallel, too. It waits for all, and returns the first error.
func (u *Unit) fork(ctx context.Context, first *rehearsal.Call, together []*rehearsal.Call) error {
	var all errgroup.Group
	if !first.Parallel {
		all.Go(func() error { return u.repeat(ctx, first) })
	} else {
		together = append(together, first)
	}
	for _, c := range together {
		for range executions(c.Count) {
			all.Go(func() error { return u.call(ctx, c) })
		}
	}
	return all.Wait()
}

// executions returns the number of executions for a mean count: for 2.5 it is 2 or 3, at random.
func executions(count float64) int {
	whole := int(count)
	if rand.Float64() < count-float64(whole) {
		whole++
	}
	return whole
}

// call makes a call once, in this unit or over the binding. A call within the unit takes no further worker.
// A probe does not leave the unit.
func (u *Unit) call(ctx context.Context, c *rehearsal.Call) error {
	p := u.calls[c.Number]
	if u.probing && c.Unit != u.index {
		return nil
	}
	if !u.probing {
		u.counts.add(c.Number, made)
	}
	if c.Unit == u.index {
		return u.play(ctx, p)
	}
	answer, err := u.parts[c.Unit].Play(ctx, &rehearsalpb.PlayRequest{Call: uint32(c.Number), Load: p.in})
	if err == nil && len(answer.GetLoad()) != len(p.out) {
		err = rpc.Problemf(rpc.Internal, "call %d was answered with %d bytes, the model says %d", c.Number,
			len(answer.GetLoad()), len(p.out))
	}
	return err
}

// enter plays a call from a client or another unit, after it has got a worker.
func (u *Unit) enter(ctx context.Context, p *preparedCall) error {
	if u.workers == nil {
		return u.play(ctx, p)
	}
	select {
	case u.workers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-u.workers }()
	return u.play(ctx, p)
}

// Play implements rehearsalpb.Part: it plays a call from another unit.
func (u *Unit) Play(ctx context.Context, in *rehearsalpb.PlayRequest) (*rehearsalpb.PlayResponse, error) {
	number := int(in.GetCall())
	if number >= len(u.calls) || u.calls[number].Unit != u.index {
		return nil, rpc.Problemf(rpc.InvalidArgument, "unit %s does not play call %d", u.Name, number)
	}
	p := u.calls[number]
	if len(in.GetLoad()) != len(p.in) {
		return nil, rpc.Problemf(rpc.InvalidArgument, "the request of call %d has %d bytes, the model says %d",
			number, len(in.GetLoad()), len(p.in))
	}
	if err := u.enter(ctx, p); err != nil {
		return nil, err
	}
	return &rehearsalpb.PlayResponse{Load: p.out}, nil
}

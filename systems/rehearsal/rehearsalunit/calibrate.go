package rehearsalunit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
	"github.com/cleave-lab/cleave/unit"
)

const (
	// About allProbes probes are distributed over the entries of a unit, but each gets at least minProbes, after
	// warmUpProbes that are not measured. Between them are the pauses of the load, but at most maxPause: a
	// program that was idle takes more CPU time for the same work.
	allProbes, minProbes, warmUpProbes = 100, 20, 5
	maxPause                           = 10 * time.Millisecond
	// An entry is an operation, or a call by another unit. The first probedEntries of each kind are measured.
	// The others get the mean of these, since a unit must start within seconds.
	probedEntries = 20
	// probeMost limits each wait and each burn of a probe, and allBurns the burns of all probes together.
	probeMost, allBurns = time.Millisecond, 5 * time.Second
)

// calibrate measures the CPU time that this program itself takes beside what it burns: for each entry,
// without the transport between units, and for a call to a store that is a unit. The CPU times of the model
// include that of the real program, so it is subtracted from them. Probes burn as calls under load do: a
// core that has only just woken up takes several times as long for a request as one that is at work.
func (u *Unit) calibrate(ctx context.Context) error {
	var entries []*preparedCall
	for _, p := range u.calls {
		isPlayed := p.Unit == u.index && !p.OfStore
		if isPlayed && p.Crosses() {
			entries = append(entries, p)
		}
	}
	isFront := u.index == u.design.Front()
	probed := min(probedEntries, len(entries))
	if isFront {
		probed += min(probedEntries, len(u.design.Roots))
	}
	u.probesEach = max(minProbes, allProbes/max(1, probed))
	u.probing = true
	defer func() {
		u.finish()
		u.probing = false
	}()
	if isFront {
		if err := u.serveWhile(ctx, u.serveProbes, u.probeFront); err != nil {
			return err
		}
	}
	if err := u.probeEntries(ctx, entries); err != nil {
		return err
	}
	callsStore := func(c *rehearsal.Call) bool { // either end is this unit
		return c.OfStore && (c.Unit == u.index || c.Caller.Unit == u.index)
	}
	if !slices.ContainsFunc(u.design.Calls, callsStore) {
		return nil
	}
	return u.serveWhile(ctx, u.Unit.Serve, u.probeStore)
}

// probeEntries measures the program's own CPU time of calls by other units, and subtracts it from them.
func (u *Unit) probeEntries(ctx context.Context, entries []*preparedCall) error {
	if len(entries) == 0 {
		return nil
	}
	idle, err := u.metered(func() error { return nil })
	if err != nil {
		return err
	}
	return u.subtractAll(entries, func(i int) (time.Duration, error) {
		took, err := u.metered(func() error { return u.play(ctx, entries[i]) })
		return max(0, took-idle), err
	})
}

// subtractAll subtracts the program's own CPU time from entries: measure returns that of an entry, and is
// called for the first probedEntries. The others get the mean of these.
func (u *Unit) subtractAll(entries []*preparedCall, measure func(i int) (time.Duration, error)) (err error) {
	sum := time.Duration(0)
	for i, p := range entries {
		own := sum / probedEntries
		if i < probedEntries {
			if own, err = measure(i); err != nil {
				return err
			}
			sum += own
		}
		u.subtract(p, own)
	}
	return nil
}

// subtract subtracts the program's own CPU time from the calls of an entry that this unit plays, in
// proportion to their CPU time.
func (u *Unit) subtract(entry *preparedCall, own time.Duration) {
	var cpuOf func(c *rehearsal.Call) float64 // with the calls that it makes in this unit
	cpuOf = func(c *rehearsal.Call) float64 {
		all := c.CPU.Seconds() + c.Background.Seconds()
		for _, called := range c.Calls {
			if called.Unit == u.index && !called.OfStore {
				all += called.Count * cpuOf(called)
			}
		}
		return all
	}
	whole := cpuOf(entry.Call)
	if whole == 0 {
		return
	}
	var scale func(c *rehearsal.Call)
	scale = func(c *rehearsal.Call) {
		u.calls[c.Number].share = max(0, 1-own.Seconds()/whole)
		for _, called := range c.Calls {
			if called.Unit == u.index && !called.OfStore {
				scale(called)
			}
		}
	}
	scale(entry.Call)
}

// serveWhile serves at a loopback address while probe runs.
func (u *Unit) serveWhile(ctx context.Context, serve func(context.Context, net.Listener) error,
	probe func(ctx context.Context, address string) error,
) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener) }()
	err = probe(ctx, listener.Addr().String())
	end()
	return errors.Join(err, <-served)
}

// serveProbes serves the interface for clients. It does not wait for workers.
func (u *Unit) serveProbes(ctx context.Context, listener net.Listener) error {
	return unit.ServeFront(ctx, listener, u.front(u.play), requestTimeout)
}

// probeFront measures the program's own CPU time of a request of each operation, and subtracts it from the
// calls.
func (u *Unit) probeFront(ctx context.Context, address string) error {
	var roots []*preparedCall
	for _, root := range u.design.Roots {
		roots = append(roots, u.calls[root.Number])
	}
	return u.subtractAll(roots, func(i int) (time.Duration, error) {
		return u.cpuOfRequest(ctx, address, u.request(i))
	})
}

// request returns the HTTP request of an operation.
func (u *Unit) request(operation int) []byte {
	body := rehearsal.Body(u.design.Roots[operation].In)
	return fmt.Appendf(nil, "PUT %s HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", rehearsal.Path(operation), len(body), body)
}

// cpuOfRequest has a request sent repeatedly and returns the CPU time that this process takes for one.
func (u *Unit) cpuOfRequest(ctx context.Context, address string, request []byte) (time.Duration, error) {
	var took [2]time.Duration // of the first requests alone, and with those that are measured
	for i, number := range []int{warmUpProbes, warmUpProbes + u.probesEach} {
		before := u.ownCPU()
		if err := sendProbes(ctx, address, request, number, u.pause); err != nil {
			return 0, err
		}
		u.finish() // what still burns in the background is not counted
		took[i] = u.ownCPU() - before
	}
	return max(0, took[1]-took[0]) / time.Duration(u.probesEach), nil
}

// rest pauses between two probes. The goroutine waits, and not its thread: a thread that blocks keeps Go's
// scheduler awake.
func (u *Unit) rest() { time.Sleep(u.pause) }

// ownCPU returns the CPU time of this process so far, without what its probes have burnt.
func (u *Unit) ownCPU() time.Duration {
	return clock(unix.CLOCK_PROCESS_CPUTIME_ID) - time.Duration(u.burner.probed.Load())
}

// metered returns the CPU time of work and a pause, without what it burns, in the mean over u.probesEach
// probes.
func (u *Unit) metered(work func() error) (took time.Duration, err error) {
	for i := range u.probesEach + warmUpProbes {
		if i == warmUpProbes {
			u.finish() // what still burns in the background is not counted
			took = -u.ownCPU()
		}
		u.rest()
		if err := work(); err != nil {
			return 0, err
		}
	}
	u.finish()
	return (took + u.ownCPU()) / time.Duration(u.probesEach), nil
}

// probeStore measures the CPU time and the duration of a call that does nothing. Both ends are in this
// process: half of the CPU time is counted for each.
func (u *Unit) probeStore(ctx context.Context, address string) (err error) {
	client, err := u.Calls.NewClient(u.Name, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	part := rehearsalpb.CallPart(client)
	waited := time.Duration(0)
	begun := time.Duration(0)
	for i := range allProbes + warmUpProbes {
		if i == warmUpProbes {
			begun = clock(unix.CLOCK_PROCESS_CPUTIME_ID)
		}
		u.rest()
		sent := time.Now()
		if _, err := part.Settle(ctx, &rehearsalpb.SettleRequest{}); err != nil {
			return err
		}
		if i >= warmUpProbes {
			waited += time.Since(sent)
		}
	}
	u.storeCPU = (clock(unix.CLOCK_PROCESS_CPUTIME_ID) - begun) / (2 * allProbes)
	u.storeWait = waited / allProbes
	return nil
}

//go:build linux

package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/engine"
)

// patience is the time in which the pool must connect, or Config.Timeout if that is longer: a handshake may
// take the server as long as an operation.
const patience = 5 * time.Second

// Run connects, sends the load and records every operation. It closes the recorder in any case. It
// returns an UnreachableError if no connection can be made, and the context's error if the context ends
// early; the report then holds the results until that time.
func Run(ctx context.Context, config Config) (report engine.Report, err error) {
	defer func() { config.Recorder.Close(report.Elapsed) }()
	if err := config.fill(); err != nil {
		return engine.Report{}, err
	}
	pool, err := newPool(ctx, &config)
	if err != nil {
		return engine.Report{}, err
	}
	defer pool.close()
	if err := pool.open(ctx); err != nil {
		return engine.Report{}, err
	}
	if config.Connected != nil {
		if err := config.Connected(); err != nil {
			return engine.Report{}, err
		}
	}
	// Flows may keep all processors of the Go runtime busy; the pacer needs one more. The kernel shares the
	// real ones.
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + 1)
	defer runtime.GOMAXPROCS(before)
	return play(ctx, &config, pool)
}

// play sends the load through an open pool.
func play(ctx context.Context, config *Config, pool *pool) (report engine.Report, err error) {
	before, err := engine.ProcessorTime(unix.RUSAGE_SELF)
	if err != nil {
		return report, err
	}
	l, err := newLoop(config, pool)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, l.waiter.close()) }()
	defer context.AfterFunc(ctx, func() { l.interrupted.Store(true); l.waiter.nudge() })()
	workers := l.begin(pool)
	stopped, paceErr := l.pace()
	l.drain(ctx, workers, pool)
	after, cpuErr := engine.ProcessorTime(unix.RUSAGE_SELF)
	report = l.report(workers, stopped)
	report.Connects = pool.dialer.connects.Load()
	report.Received = pool.dialer.received.Load()
	report.ThreadCPU = after - before
	return report, errors.Join(paceErr, cpuErr, ctx.Err())
}

// newLoop returns a loop whose time zero is now.
func newLoop(config *Config, pool *pool) (*loop, error) {
	w, err := newWaiter()
	if err != nil {
		return nil, fmt.Errorf("make an event descriptor: %w", err)
	}
	l := &loop{config: config, ctx: pool.ctx, waiter: w, limit: engine.NewLimit(config.MaxRate),
		start: time.Now(), until: math.MaxInt64}
	if !config.Until.IsZero() {
		l.until = max(config.Until.Sub(l.start), 0)
	}
	l.end = min(config.Pacing.Slot(config.Duration), l.until)
	l.advance()
	return l, nil
}

// workerGroup holds all workers, and a channel that is closed when all of them have ended.
type workerGroup struct {
	workers []*worker
	ended   chan struct{}
}

// begin starts the goroutines of all workers.
func (l *loop) begin(pool *pool) workerGroup {
	g := workerGroup{ended: make(chan struct{})}
	var all sync.WaitGroup
	for i := range l.config.workers() {
		number := i % len(pool.links) // so that neighbours in the list of idle workers use different connections
		w := newWorker(l, pool.links[number], number)
		g.workers = append(g.workers, w)
		if users := l.config.Users; users != nil {
			begin := users.Begins(i)
			all.Go(func() { w.playUser(begin, users.Think) })
		} else {
			all.Go(w.serve)
		}
	}
	go func() {
		all.Wait()
		close(g.ended)
	}()
	return g
}

// pace wakes workers at their times, on a thread of its own, and returns when no step begins any more.
func (l *loop) pace() (stopped time.Duration, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with the goroutine, and its settings with it. By default the kernel delays wake-ups
		// by up to 50 us, to wake less often.
		runtime.LockOSThread()
		err = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
		for {
			again, over := l.turn()
			if over {
				stopped = again
				return
			}
			if waitErr := l.waitUntil(again); waitErr != nil {
				err = errors.Join(err, waitErr)
				l.interrupted.Store(true)
			}
		}
	}()
	<-done
	return stopped, err
}

// waitUntil waits until a time, or until the agenda changes.
func (l *loop) waitUntil(at time.Duration) error {
	if !l.config.Pacing.Spins() {
		return l.waiter.wait(at - l.clock())
	}
	if rest := at - l.clock(); rest > engine.Guard {
		return l.waiter.wait(rest - engine.Guard)
	}
	for l.clock() < at { // spins, so that the processor stays awake
	}
	return nil
}

// drain waits for operations in flight as long as they may take, and then aborts them.
func (l *loop) drain(ctx context.Context, g workerGroup, pool *pool) {
	grace := time.NewTimer(cmp.Or(l.config.Grace, l.config.Timeout))
	defer grace.Stop()
	select {
	case <-g.ended:
		return
	case <-grace.C:
	case <-ctx.Done():
	}
	l.abandoned.Store(true)
	pool.abort()
	<-g.ended
}

// report returns the report, after all goroutines have ended.
func (l *loop) report(g workerGroup, stopped time.Duration) engine.Report {
	r := engine.Report{
		Start: l.start, Elapsed: l.clock(), Window: min(stopped, l.config.Duration),
		HeldBack: l.held, Cut: l.cut, Skipped: l.config.Player.Skipped(), Ended: l.endedAt, Example: l.example,
		ErrorSamples: l.errorSamples,
		Statuses:     make(map[int]int64),
	}
	if l.until < l.config.Duration && stopped >= l.until {
		r.Stopped = l.config.PermissionEnded()
	}
	if l.config.Open != nil && !l.interrupted.Load() {
		r.Window = l.config.Duration // even if the schedule was empty at its end
		l.config.CountUnsent(&r, l.next, l.hasNext, l.limit.From() > stopped)
	}
	for _, w := range g.workers {
		for status, n := range w.statuses {
			r.Statuses[status] += n
		}
		r.BusyTime += w.busy
		r.PauseTime += w.pause
		r.UserTime += w.active
	}
	return r
}

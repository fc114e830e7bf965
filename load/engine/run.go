//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/record"
)

// RunAll connects, sends the load and records every operation. Each loop plays on a thread of its own;
// all loops begin together and have the same time zero. Each needs its own player, recorder and share of
// the schedule. RunAll closes the recorders. If one loop cannot begin, none does. RunAll returns an
// UnreachableError if no connection can be made, and the context's error if the context ends early; the
// reports then hold the results until that time.
func RunAll(ctx context.Context, configs []Config) ([]Report, error) {
	reports := make([]Report, len(configs))
	errs := make([]error, len(configs))
	for i := range configs {
		errs[i] = configs[i].fill()
	}
	if err := errors.Join(errs...); err != nil {
		for i := range configs {
			configs[i].Recorder.Close(0)
		}
		return reports, err
	}
	// A thread keeps its processor during brief waits, so that other goroutines need another one.
	if before := runtime.GOMAXPROCS(0); before < len(configs)+1 {
		runtime.GOMAXPROCS(len(configs) + 1)
		defer runtime.GOMAXPROCS(before)
	}
	together := &gate{all: len(configs), missing: len(configs), open: make(chan struct{})}
	var all sync.WaitGroup
	for i := range configs {
		all.Go(func() {
			// The thread ends with the goroutine, and its settings with it.
			runtime.LockOSThread()
			reports[i], errs[i] = run(ctx, configs[i], together)
			configs[i].Recorder.Close(reports[i].Elapsed)
		})
	}
	all.Wait()
	return reports, joined(errs)
}

// joined joins the errors of all loops, each text once. It leaves out loops that only waited for others.
func joined(errs []error) error {
	var own []error
	for _, err := range errs {
		if err == nil || errors.Is(err, errOthers) {
			continue
		}
		isSame := func(other error) bool { return other.Error() == err.Error() }
		if !slices.ContainsFunc(own, isSame) {
			own = append(own, err)
		}
	}
	return errors.Join(own...)
}

// run plays one loop on the calling thread.
func run(ctx context.Context, config Config, together *gate) (report Report, err error) {
	l, err := prepare(ctx, config)
	if l != nil {
		defer func() { err = errors.Join(err, l.close()) }()
	}
	start, err := together.pass(err)
	if err != nil {
		return report, err
	}
	defer context.AfterFunc(ctx, func() { l.interrupted.Store(true) })()
	cpu, err := ProcessorTime(unix.RUSAGE_THREAD)
	if err != nil {
		return report, err
	}
	if err := l.startAt(start); err != nil {
		return report, err
	}
	err = l.play()
	for l.oldest != nil { // in flight when the engine stops waiting
		l.lose(l.oldest, record.Unfinished)
	}
	after, cpuErr := ProcessorTime(unix.RUSAGE_THREAD)
	l.report.ThreadCPU = after - cpu
	l.conclude(err == nil && ctx.Err() == nil)
	return l.report, errors.Join(err, cpuErr, ctx.Err())
}

// prepare returns a loop with open connections.
func prepare(ctx context.Context, config Config) (*loop, error) {
	// By default the kernel delays wake-ups by up to 50 us, to wake less often.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set the precision of waits: %w", err)
	}
	// This thread gets priority over the system under load if they share processors, since a late send would
	// count against the system. Without the privilege it keeps its priority, and late sends are reported. A
	// spinning thread must not get it: it would leave no time to others.
	if !config.Pacing.Spins() {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, highest)
	}
	l, err := newLoop(config)
	if err != nil {
		return nil, err
	}
	if err := l.open(ctx); err != nil {
		return l, err
	}
	if config.Connected == nil {
		return l, nil
	}
	return l, config.Connected()
}

// highest is the niceness of the highest priority.
const highest = -20

// startAt waits for the beginning of the load. All connections are free from then on.
func (l *loop) startAt(start time.Time) error {
	if err := l.reset(start); err != nil {
		return err
	}
	if until := l.config.Until; !until.IsZero() {
		l.until = until.Sub(start)
	}
	if users := l.config.Users; users != nil {
		l.source = newUsers(*users, min(l.config.Duration, l.until), l.conns)
	} else {
		o := &open{arrivals: l.config.Open}
		o.next, o.more = o.arrivals.Next()
		l.source = o
	}
	for i := range l.conns {
		l.conns[i].free = 0
	}
	for l.now = l.clock(); l.now < 0; l.now = l.clock() {
		l.poller.sleep(0, true)
	}
	return nil
}

// conclude completes the report at the end. whole: the load was not ended early.
func (l *loop) conclude(whole bool) {
	l.report.Start = l.start
	l.report.Elapsed = l.now
	l.report.Skipped = l.config.Player.Skipped()
	l.report.Statuses = make(map[int]int64)
	for status, n := range l.statuses {
		if n > 0 {
			l.report.Statuses[status] = n
		}
	}
	if u, closed := l.source.(*users); closed {
		l.report.PauseTime = u.paused
		l.report.UserTime = u.active
	} else if whole {
		due, more := l.source.peek()
		l.config.CountUnsent(&l.report, due, more, l.limit.From() > l.report.Window)
	}
}

// lead is the time from when all loops are ready until they begin together.
const lead = 2 * time.Millisecond

// Lead returns the time from the last of several calls of Connected to the beginning of the load.
func Lead(loops int) time.Duration {
	if loops == 1 {
		return 0
	}
	return lead
}

// errOthers is the error of a loop that could begin, but must not because another cannot.
var errOthers = errors.New("another loop could not begin")

// gate makes all loops begin together, or none of them.
type gate struct {
	sync.Mutex
	all     int
	missing int
	failed  bool
	start   time.Time
	open    chan struct{}
}

// pass waits until every loop has called it and returns the common beginning. A loop that passes an error
// gets it back, and the others get errOthers.
func (g *gate) pass(err error) (time.Time, error) {
	g.Lock()
	g.failed = g.failed || err != nil
	if g.missing--; g.missing == 0 {
		g.start = time.Now().Add(Lead(g.all))
		close(g.open)
	}
	g.Unlock()
	<-g.open
	if err == nil && g.failed {
		err = errOthers
	}
	return g.start, err
}

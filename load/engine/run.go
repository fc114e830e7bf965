//go:build linux

package engine

import (
	"context"
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Report is what the engine knows beside the samples in the recorder.
type Report struct {
	Start time.Time
	// Window is how long operations were begun; Elapsed includes the wait for
	// those in flight.
	Window, Elapsed time.Duration
	// ThreadCPU is the processor time of the sending thread.
	ThreadCPU time.Duration
	// Unsent operations of an open loop were due and never begun.
	Unsent int64
	// Statuses counts answers by HTTP status, right or wrong.
	Statuses map[int]int64
	// Connects counts attempts to connect, those before the load included.
	Connects int64
	// Received counts bytes, and Unsolicited answers that nobody asked for.
	Received, Unsolicited int64
	// ServiceTime is the sum of all service times. In a closed loop, PauseTime is
	// the sum of the users' pauses, and UserTime that of their time from the first
	// operation to the end of the last: Little's law holds the three together.
	ServiceTime, PauseTime, UserTime time.Duration
	// Ended are how many operations had ended at multiples of EndedEvery.
	Ended []int64
	// Example is the first complaint about an answer, if there was any.
	Example string
}

// EndedEvery is the distance of the values in Report.Ended.
const EndedEvery = 100 * time.Millisecond

// Run connects, sends the load and records every operation; it closes the
// recorder. It fails with UnreachableError when no connection can be made, and
// with the context's error when that ends early: the report then holds what was
// done.
func Run(ctx context.Context, config Config) (Report, error) {
	if err := config.check(); err != nil {
		return Report{}, err
	}
	// The thread keeps its processor while it waits briefly; others need one.
	if before := runtime.GOMAXPROCS(0); before < 2 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(before)
	}
	var report Report
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with the goroutine, and with it what was set for it.
		runtime.LockOSThread()
		report, err = run(ctx, config)
		config.Recorder.Close(report.Elapsed)
	}()
	<-done
	return report, err
}

// run is Run on its own thread.
func run(ctx context.Context, config Config) (report Report, err error) {
	// The kernel adds up to 50 us to waits by default, to wake less often.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return report, err
	}
	l, err := newLoop(config)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	defer context.AfterFunc(ctx, func() { l.interrupted.Store(true) })()
	if err := l.open(ctx); err != nil {
		return report, err
	}
	cpu, err := threadCPU()
	if err != nil {
		return report, err
	}
	if err := l.reset(); err != nil {
		return report, err
	}
	l.restamp()
	err = l.play()
	l.abandon()
	l.countStatuses()
	if err == nil && ctx.Err() == nil {
		l.countUnsent()
	}
	if u, closed := l.source.(*users); closed {
		l.report.PauseTime, l.report.UserTime = u.paused, u.active
	}
	after, cpuErr := threadCPU()
	l.report.Start, l.report.Elapsed, l.report.ThreadCPU = l.start, l.now, after-cpu
	return l.report, errors.Join(err, cpuErr, ctx.Err())
}

// restamp makes connections free from the beginning of the load.
func (l *loop) restamp() {
	for i := range l.conns {
		l.conns[i].free = 0
	}
}

// threadCPU is the processor time of this thread.
func threadCPU() (time.Duration, error) {
	var usage unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_THREAD, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

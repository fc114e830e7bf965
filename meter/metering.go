package meter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// metering connects the callers of Mark and Stop with the one goroutine that does all reading. That
// goroutine has an operating system thread of its own, so the thread's CPU clock is the cost of the
// meter.
type metering struct {
	asked chan func()     // requests to the goroutine
	ctx   context.Context // metering ends with it: with the context of Watch, or by stop
	stop  context.CancelCauseFunc
	ended chan struct{}
	// work is used only by the goroutine until ended is closed.
	work *worker
}

// Mark reads the counters of all units now. The first mark samples memory before it reads the counters,
// the second one after that, so the cost of sampling is outside of the window. A third mark is an error.
func (m *metering) Mark() error { return m.ask(m.work.mark) }

// Suspend implements lab.Metering.
func (m *metering) Suspend(unit string) error {
	return m.ask(func() error { return m.work.suspend(unit) })
}

// Resume implements lab.Metering.
func (m *metering) Resume(unit lab.Unit) error {
	return m.ask(func() error { return m.work.resume(unit) })
}

// Follow implements lab.FollowedMetering.
func (m *metering) Follow(tell func(lab.UsedSecond)) error {
	return m.ask(func() error {
		m.work.follows = tell
		return nil
	})
}

// ask runs a function on the reading goroutine and waits for its end.
func (m *metering) ask(do func() error) error {
	answer := make(chan error, 1)
	select {
	case m.asked <- func() { answer <- do() }:
	case <-m.ended:
		return m.over()
	}
	select {
	case err := <-answer:
		return err
	case <-m.ended:
		return m.over()
	}
}

// over returns the error of a request after the end.
func (m *metering) over() error {
	return fmt.Errorf("metering has ended: %w", context.Cause(m.ctx))
}

// Stop ends sampling and returns the usage between the two marks.
func (m *metering) Stop() (lab.Metered, error) {
	m.stop(errors.New("it was stopped"))
	<-m.ended
	return m.work.result()
}

// loop samples and serves requests until ctx ends or Stop is called. It sends to begun whether it could
// begin: nil or the error.
func (m *metering) loop(begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(m.ended)
	defer m.work.close()
	defer m.stop(nil) // frees what ctx holds
	err := m.work.begin()
	begun <- err
	if err != nil {
		return
	}
	defer m.work.finish()
	timer := time.NewTimer(m.work.meter.shortest)
	defer timer.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case do := <-m.asked:
			do()
		case <-timer.C:
			m.work.round()
		}
		timer.Reset(m.work.wait)
		if m.work.complete() {
			timer.Stop() // units may end from here on, and nothing is left to measure
		}
	}
}

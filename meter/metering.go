package meter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// metering connects the callers of Mark and Stop with the one goroutine that does all reading. That
// goroutine has an operating system thread of its own, so the thread's CPU clock is the cost of the
// meter.
type metering struct {
	ctx   context.Context // of Watch: metering ends with it
	asked chan request    // requests to the goroutine
	stop  chan struct{}
	once  sync.Once
	ended chan struct{}
	// work is used only by the goroutine until ended is closed.
	work *worker
}

// request is a function for the reading goroutine.
type request struct {
	do     func() error
	answer chan error
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
	wanted := request{do, make(chan error, 1)}
	select {
	case m.asked <- wanted:
	case <-m.ended:
		return m.over()
	}
	select {
	case err := <-wanted.answer:
		return err
	case <-m.ended:
		return m.over()
	}
}

// over returns the error of a request after the end.
func (m *metering) over() error {
	if err := context.Cause(m.ctx); err != nil {
		return fmt.Errorf("metering has ended: %w", err)
	}
	return errors.New("metering has ended")
}

// Stop ends sampling and returns the usage between the two marks.
func (m *metering) Stop() (lab.Metered, error) {
	m.once.Do(func() { close(m.stop) })
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
		case <-m.stop:
			return
		case wanted := <-m.asked:
			wanted.answer <- wanted.do()
		case <-timer.C:
			m.work.round()
		}
		timer.Reset(m.work.wait)
		if m.work.complete() {
			timer.Stop() // units may end from here on, and nothing is left to measure
		}
	}
}

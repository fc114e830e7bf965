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

// metering joins the callers of Mark and Stop with the one goroutine that does
// all reading. That goroutine owns its operating system thread, so that the
// thread's CPU clock is the meter's own cost.
type metering struct {
	ctx   context.Context // of Watch: metering ends with it
	marks chan chan error // a mark is wanted; the answer goes into the inner channel
	stop  chan struct{}
	once  sync.Once
	ended chan struct{}
	// work belongs to the goroutine until ended is closed.
	work *worker
}

// Mark notes the counters of all units now. The first mark samples memory
// before it reads the counters, the second one after: sampling at the marks
// lies outside the measured window. A third mark is refused.
func (m *metering) Mark() error {
	answer := make(chan error, 1)
	select {
	case m.marks <- answer:
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

// over is the error of a mark that comes after the end.
func (m *metering) over() error {
	if err := context.Cause(m.ctx); err != nil {
		return fmt.Errorf("no mark is taken any more: %w", err)
	}
	return errors.New("mark after the end of metering")
}

// Stop ends sampling and returns the use between the two marks.
func (m *metering) Stop() (lab.Metered, error) {
	m.once.Do(func() { close(m.stop) })
	<-m.ended
	return m.work.result()
}

// loop samples, takes marks when asked, and ends with ctx or Stop.
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
	timer := time.NewTimer(m.work.meter.shortest)
	defer timer.Stop()
	for {
		select {
		case <-m.ctx.Done():
			m.work.finish()
			return
		case <-m.stop:
			m.work.finish()
			return
		case answer := <-m.marks:
			answer <- m.work.mark()
		case <-timer.C:
			m.work.round()
		}
		timer.Reset(m.work.wait)
		if m.work.complete() {
			timer.Stop() // units may end from here on; there is nothing left to learn
		}
	}
}

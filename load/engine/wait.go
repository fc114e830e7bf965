//go:build linux

package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// wait sleeps until an event comes or something is due, but not longer than until end.
func (l *loop) wait(end time.Duration) ([]unix.EpollEvent, error) {
	due, known := l.nextSend()
	if known && due <= l.now {
		return l.poller.wait(0, true)
	}
	if known && l.config.Pacing.spin {
		if due-l.now <= Guard {
			return l.poller.wait(0, true)
		}
		due -= Guard
	}
	if known && l.stamped && due-l.now <= time.Duration(maxWait)*time.Millisecond {
		// The kernel notes when answers come, so they can wait for the next send.
		if l.inFlight > 0 { // an answer may be followed by the next step of its flow
			due = min(due, l.config.Pacing.Slot(l.now+1))
		}
		l.poller.sleep(due, due-l.now <= briefWait)
		return l.poller.wait(0, true)
	}
	limit := l.deadline(end) - l.now
	// The Go scheduler need not know of a wait that an answer or the next send will end soon.
	brief := l.inFlight > 0 && !l.quiet
	if known {
		l.poller.arm(due)
		brief = brief || due-l.now <= briefWait
	} else if brief {
		l.poller.armWithin(l.now, briefWait)
	}
	roundedUp := (limit + time.Millisecond - 1) / time.Millisecond
	milliseconds := int(min(max(roundedUp, 0), maxWait))
	switch {
	case brief && known && due-l.now > briefWait: // the timer would end the wait too late
		milliseconds = min(milliseconds, int(briefWait/time.Millisecond))
	case brief:
		milliseconds = forever // the timer ends the wait, within briefWait
	}
	events, err := l.poller.wait(milliseconds, brief)
	isTimerOnly := len(events) == 1 && events[0].Fd == timerSlot
	l.quiet = len(events) == 0 || isTimerOnly && !known
	return events, err
}

// nextSend returns the time at which the next operation can begin. ok is false if that depends on an answer
// and not on the clock, or if no operation begins any more.
func (l *loop) nextSend() (at time.Duration, ok bool) {
	if l.sending {
		at, _, ok = l.upcoming()
	}
	return at, ok
}

// deadline returns the time at which something other than a send is due.
func (l *loop) deadline(end time.Duration) time.Duration {
	at := min(end, l.now.Truncate(time.Second)+time.Second) // usually results are passed on every second
	if l.oldest != nil {
		at = min(at, l.oldest.sent+l.config.Timeout)
	}
	return at
}

// sample notes the number of flows that have ended or think, as long as operations are begun.
func (l *loop) sample() {
	for l.sending && l.now >= time.Duration(len(l.report.Ended)+1)*EndedEvery {
		l.report.Ended = append(l.report.Ended, l.flowsEnded+int64(len(l.thinking)))
	}
}

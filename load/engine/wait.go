//go:build linux

package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// wait sleeps until something comes or is due. end is when play decides anew.
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
		if l.inFlight > 0 { // an answer may be followed by the next step of its flow
			due = min(due, l.config.Pacing.Slot(l.now+1))
		}
		l.poller.sleep(due, due-l.now <= briefWait)
		return l.poller.wait(0, true)
	}
	limit := l.deadline(end) - l.now
	brief := l.inFlight > 0 && !l.quiet
	if known {
		l.poller.arm(due)
		brief = brief || due-l.now <= briefWait
	} else if brief {
		l.poller.armWithin(l.now, briefWait)
	}
	milliseconds := int(min(max((limit+time.Millisecond-1)/time.Millisecond, 0), maxWait))
	switch {
	case brief && known && due-l.now > briefWait:
		milliseconds = min(milliseconds, int(briefWait/time.Millisecond))
	case brief:
		milliseconds = forever // the timer ends it
	}
	events, err := l.poller.wait(milliseconds, brief)
	l.quiet = len(events) == 0 || !known && len(events) == 1 && events[0].Fd == timerSlot
	return events, err
}

// nextSend returns when the next operation can be begun, if that depends on the
// clock and not on an answer.
func (l *loop) nextSend() (time.Duration, bool) {
	if !l.sending {
		return 0, false
	}
	at, _, ok := l.upcoming()
	return at, ok
}

// deadline returns when something happens by the clock, sends apart.
func (l *loop) deadline(end time.Duration) time.Duration {
	at := min(end, l.now.Truncate(time.Second)+time.Second) // seconds are handed on
	if l.oldest != nil {
		at = min(at, l.oldest.sent+l.config.Timeout)
	}
	return at
}

// sample notes how many flows wait for nothing, while operations are begun.
func (l *loop) sample() {
	for l.sending && l.now >= time.Duration(len(l.report.Ended)+1)*EndedEvery {
		l.report.Ended = append(l.report.Ended, l.over+int64(len(l.thinking)))
	}
}

//go:build linux

package engine

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/record"
)

// wait sleeps until something comes or is due. end is when play decides anew.
func (l *loop) wait(end time.Duration) ([]unix.EpollEvent, error) {
	due, known := l.nextSend()
	if known && due <= l.now {
		return l.poller.wait(0, true)
	}
	if known && l.config.Pacing.spin {
		if due-l.now <= guard {
			return l.poller.wait(0, true)
		}
		due -= guard
	}
	if known && l.stamped && due-l.now <= time.Duration(maxWait)*time.Millisecond {
		l.poller.sleep(due, due-l.now <= briefWait)
		return l.poller.wait(0, true)
	}
	limit := l.limit(end) - l.now
	brief := l.inFlight > 0 && !l.quiet
	if known {
		l.poller.arm(due)
		brief = brief || due-l.now <= briefWait
	}
	milliseconds := int(min(max((limit+time.Millisecond-1)/time.Millisecond, 0), maxWait))
	if brief {
		milliseconds = min(milliseconds, int(briefWait/time.Millisecond))
	}
	events, err := l.poller.wait(milliseconds, brief)
	l.quiet = len(events) == 0
	return events, err
}

// nextSend is when the next operation can be begun, if that depends on the
// clock and not on an answer.
func (l *loop) nextSend() (time.Duration, bool) {
	if !l.sending || len(l.idle)+len(l.vacant) == 0 {
		return 0, false
	}
	due, ok := l.source.peek()
	if !ok || due >= l.config.Duration {
		return 0, false
	}
	return l.config.Pacing.slot(due), true
}

// limit is when something happens by the clock, sends apart.
func (l *loop) limit(end time.Duration) time.Duration {
	at := min(end, l.now.Truncate(time.Second)+time.Second) // seconds are handed on
	if l.oldest != nil {
		at = min(at, l.oldest.sent+l.config.Timeout)
	}
	return at
}

// expire ends operations that have waited too long.
func (l *loop) expire() {
	for l.oldest != nil && l.now-l.oldest.sent >= l.config.Timeout {
		l.lose(l.oldest, record.Timeout)
	}
}

// abandon counts what is still in flight when the engine stops waiting.
func (l *loop) abandon() {
	for l.oldest != nil {
		l.lose(l.oldest, record.Unfinished)
	}
}

// sample notes how many operations have ended, while operations are begun.
func (l *loop) sample() {
	for l.sending && l.now >= time.Duration(len(l.report.Ended)+1)*EndedEvery {
		l.report.Ended = append(l.report.Ended, l.ends)
	}
}

// countStatuses hands the counts of statuses on.
func (l *loop) countStatuses() {
	l.report.Statuses = make(map[int]int64)
	for status, n := range l.statuses {
		if n > 0 {
			l.report.Statuses[status] = n
		}
	}
}

// countUnsent counts what the schedule still held.
func (l *loop) countUnsent() {
	if l.config.Open == nil {
		return
	}
	for due, ok := l.source.peek(); ok && due < l.config.Duration; due, ok = l.source.peek() {
		l.report.Unsent++
		l.source.take()
	}
	l.config.Recorder.Unsent(l.config.Operation, l.report.Unsent)
}

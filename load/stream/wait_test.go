package stream

import (
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/schedule"
)

// patient returns a loop whose pacer wakes up only after a minute.
func patient(t *testing.T) *loop {
	t.Helper()
	w, err := newWaiter()
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	plan, err := schedule.Replay([]time.Duration{30 * time.Second})
	testset.Must(t, err)
	recorder := record.NewRecorder(record.Options{Operations: []string{"op"}})
	l := &loop{
		config: &Config{Streams: 1, Load: engine.Load{Open: plan.Arrivals(), Duration: time.Hour, Connections: 2,
			Recorder: recorder}},
		waiter: w, start: time.Now(), end: time.Hour, until: time.Hour, nextTurn: time.Minute,
	}
	l.advance()
	return l
}

// TestThePacerIsNudged: operations that become due before the pacer wakes up must not wait for that.
func TestThePacerIsNudged(t *testing.T) {
	for _, c := range []struct {
		name string
		wait func(l *loop, w *worker) bool
	}{
		{"a worker is free for what is next", func(l *loop, w *worker) bool { return l.await(w) }},
		{"a worker sleeps", func(l *loop, w *worker) bool { return l.sleep(w, 45*time.Second) }},
		{"all is done", func(l *loop, w *worker) bool {
			l.hasNext = false
			l.config.Connections = 1
			return l.await(w)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := patient(t)
			w := newWorker(l, nil, 0)
			ended := make(chan bool)
			go func() { ended <- c.wait(l, w) }()
			const limit = 10 * time.Second
			begun := time.Now()
			testset.Must(t, l.waiter.wait(limit))
			if time.Since(begun) >= limit {
				t.Error("the pacer was not nudged")
			}
			l.mu.Lock()
			l.stop()
			l.mu.Unlock()
			if <-ended {
				t.Error("it goes on when all is over")
			}
		})
	}
}

// TestSleepersWakeInOrder: those whose time has come wake, and the others sleep on.
func TestSleepersWakeInOrder(t *testing.T) {
	l := patient(t)
	var workers []*worker
	for i := range 5 {
		w := newWorker(l, nil, i)
		workers = append(workers, w)
		go l.sleep(w, time.Minute-time.Duration(i)*time.Second)
	}
	for end := time.Now().Add(time.Minute); len(l.sleepers()) < len(workers); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d workers sleep after a minute", len(l.sleepers()), len(workers))
		}
	}
	l.start = l.start.Add(-58 * time.Second) // three of them are over
	if _, over := l.turn(); over || len(l.sleepers()) != 2 {
		t.Errorf("%d workers sleep on, want 2", len(l.sleepers()))
	}
}

// sleepers returns the workers that sleep.
func (l *loop) sleepers() engine.Agenda[*worker] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asleep
}

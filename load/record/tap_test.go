package record

import (
	"errors"
	"testing"
	"time"
)

// TestTapHandsOnEverySample: the writer begins when the loop has filled the whole memory and waits.
func TestTapHandsOnEverySample(t *testing.T) {
	const n = 3 * batch * batches
	recorder := NewRecorder(Options{Operations: []string{"GET /"}})
	tap := recorder.Tap()
	go func() {
		for i := range n {
			recorder.Record(Sample{Finished: time.Duration(i)})
		}
		recorder.Close(time.Second)
	}()
	for end := time.Now().Add(time.Minute); len(tap.full) < batches; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d batches are full after a minute", len(tap.full), batches)
		}
	}
	next := time.Duration(0)
	if err := tap.Each(func(s *Sample) error {
		if s.Finished != next {
			t.Fatalf("sample %v, want %v", s.Finished, next)
		}
		next++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if next != n {
		t.Errorf("%d samples, want %d", next, n)
	}
	if times, _ := tap.Waits(); times == 0 {
		t.Error("the loop did not wait for the writer, or did not count it")
	}
	if _, err := Collect(nil, recorder); err != nil {
		t.Error(err)
	}
}

// TestTapGoesOnAfterAnError: a full disk must not stop the load.
func TestTapGoesOnAfterAnError(t *testing.T) {
	recorder := NewRecorder(Options{Operations: []string{"GET /"}})
	tap := recorder.Tap()
	ended := make(chan error)
	calls := 0
	full := errors.New("disk full")
	go func() { ended <- tap.Each(func(*Sample) error { calls++; return full }) }()
	for range 2 * batch * batches {
		recorder.Record(Sample{})
	}
	recorder.Close(time.Second)
	if err := <-ended; !errors.Is(err, full) || calls != 1 {
		t.Errorf("error %v after %d calls, want the first and no more", err, calls)
	}
}

// TestTapHandsOnEverySecond: what a slow load has done is handed on every second.
func TestTapHandsOnEverySecond(t *testing.T) {
	recorder := NewRecorder(Options{Operations: []string{"GET /"}})
	tap := recorder.Tap()
	recorder.Record(Sample{})
	recorder.Tick(time.Second)
	if got := <-tap.full; len(got) != 1 {
		t.Errorf("%d samples, want 1", len(got))
	}
}

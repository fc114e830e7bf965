package record

import "time"

// Tap hands every sample of a recorder to a writer, in batches, so that the loop
// itself writes nothing. Its memory is bounded and nothing is dropped: a loop that is
// too far ahead of the writer waits. The waits are counted, and they show as lateness
// of later sends.
type Tap struct {
	now     []Sample
	full    chan []Sample
	spare   chan []Sample
	waits   int64
	waiting time.Duration
}

// Size of a tap: some 2 MB in all.
const (
	batch   = 1024 // samples
	batches = 16
)

// Tap begins to hand on samples. Call it before the first of them. The caller
// has to run Each.
func (r *Recorder) Tap() *Tap {
	t := &Tap{full: make(chan []Sample, batches), spare: make(chan []Sample, batches)}
	for range batches {
		t.spare <- make([]Sample, 0, batch)
	}
	t.now = <-t.spare
	r.tap = t
	return t
}

// Each calls write with every sample until the recorder is closed. After an error it
// goes on reading, so that the loop does not stand still, and returns the first.
func (t *Tap) Each(write func(*Sample) error) error {
	var first error
	for samples := range t.full {
		for i := range samples {
			if first == nil {
				first = write(&samples[i])
			}
		}
		t.spare <- samples[:0] // never blocks: there is room for all
	}
	return first
}

// Waits returns how often, and how long in all, the loop waited for the writer. It is
// known when Each has returned.
func (t *Tap) Waits() (int64, time.Duration) { return t.waits, t.waiting }

func (t *Tap) put(s *Sample) {
	t.now = append(t.now, *s)
	if len(t.now) == batch {
		t.hand()
	}
}

// hand hands the samples so far to the writer.
func (t *Tap) hand() {
	if len(t.now) == 0 {
		return
	}
	t.full <- t.now // never blocks: there is room for all
	select {
	case t.now = <-t.spare:
		return
	default:
	}
	begin := time.Now()
	t.now = <-t.spare
	t.waits++
	t.waiting += time.Since(begin)
}

// close hands on the rest and ends Each.
func (t *Tap) close() {
	t.full <- t.now
	close(t.full)
}

package record

import "time"

// Tap passes every sample of a recorder to a writer, in batches, so that the loop itself writes nothing.
// Its memory is bounded and nothing is dropped: a loop that is too far ahead of the writer waits. The
// waits are counted; they also show as lateness of later sends.
type Tap struct {
	current []Sample
	full    chan []Sample
	spare   chan []Sample
	waits   int64
	waiting time.Duration
}

// The size of a tap is some 2 MB in all.
const (
	batch   = 1024 // samples
	batches = 16
)

// Tap begins to pass on samples. It must be called before the first sample, and the caller must run Each.
func (r *Recorder) Tap() *Tap {
	t := &Tap{full: make(chan []Sample, batches), spare: make(chan []Sample, batches)}
	for range batches {
		t.spare <- make([]Sample, 0, batch)
	}
	t.current = <-t.spare
	r.tap = t
	return t
}

// Each calls write with every sample until the recorder is closed. After an error it continues to read,
// so that the loop does not stop, and returns the first error.
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

// Waits returns the number and the total length of the loop's waits for the writer. It is valid after
// Each has returned.
func (t *Tap) Waits() (int64, time.Duration) { return t.waits, t.waiting }

// put adds a sample, and passes on a full batch.
func (t *Tap) put(s *Sample) {
	t.current = append(t.current, *s)
	if len(t.current) == batch {
		t.handOver()
	}
}

// handOver passes the samples so far to the writer.
func (t *Tap) handOver() {
	if len(t.current) == 0 {
		return
	}
	t.full <- t.current // never blocks: there is room for all
	select {
	case t.current = <-t.spare:
		return
	default:
	}
	begin := time.Now()
	t.current = <-t.spare
	t.waits++
	t.waiting += time.Since(begin)
}

// close passes on the remaining samples and ends Each.
func (t *Tap) close() {
	t.full <- t.current
	close(t.full)
}

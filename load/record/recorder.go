package record

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// buffers is the largest number of buffers of a recorder, which bounds its memory. The recorder fills one;
// the others wait for Collect, or are empty again.
const buffers = 4

// Recorder gathers the samples of one loop of the engine, interval by interval. One goroutine may use it;
// Collect may run at the same time in another.
type Recorder struct {
	options Options
	current *Results
	end     time.Duration // of the interval
	made    int           // number of buffers
	full    chan *Results // for Collect
	spare   chan *Results // empty buffers, back from Collect
	tap     *Tap          // nil: Tap was not called
	cohorts *cohorts      // nil: Options.Cohorts is not set
}

// NewRecorder returns a recorder. Collect must read its results.
func NewRecorder(o Options) *Recorder {
	first := NewResults(o)
	r := &Recorder{
		options: first.options,
		current: first,
		end:     first.options.Interval,
		made:    1,
		full:    make(chan *Results, buffers),
		spare:   make(chan *Results, buffers),
	}
	if o.Cohorts {
		r.cohorts = newCohorts(o.Window)
	}
	return r
}

// Record counts one operation in the interval in which it finished.
func (r *Recorder) Record(s Sample) {
	if s.Finished >= r.end {
		r.turn(s.Finished)
	}
	r.current.Add(&s)
	if r.cohorts != nil {
		r.cohorts.add(&s)
	}
	if r.tap != nil {
		r.tap.put(&s)
	}
}

// Cohorts returns the operations by their due time, or nothing without Options.Cohorts. Call it after Close.
func (r *Recorder) Cohorts() lab.Cohorts {
	if r.cohorts == nil {
		return lab.Cohorts{}
	}
	return r.cohorts.counted()
}

// Tapped reports whether the recorder has a Tap.
func (r *Recorder) Tapped() bool { return r.tap != nil }

// Unsent counts operations that were due and never sent.
func (r *Recorder) Unsent(operation int, n int64) { r.current.Unsent(operation, n) }

// Tick passes on the current interval if it is over, even if no operation finishes. now is the time since
// the beginning of the load.
func (r *Recorder) Tick(now time.Duration) {
	if now < r.end {
		return
	}
	r.turn(now)
	if r.tap != nil {
		r.tap.handOver()
	}
}

// Close passes on the remaining results, up to the end of the load, and ends Collect. The recorder must
// not be used afterwards.
func (r *Recorder) Close(end time.Duration) {
	if r.tap != nil {
		r.tap.close()
	}
	r.current.To = max(end, r.current.From)
	r.full <- r.current // never blocks: there is room for all buffers
	close(r.full)
}

// turn passes on the current interval and begins a new one. If Collect is slow and no buffer is free, the
// current interval continues instead: turn never waits and loses no sample.
func (r *Recorder) turn(now time.Duration) {
	begin := now.Truncate(r.options.Interval)
	if next := r.empty(); next != nil {
		r.current.To = r.end
		r.full <- r.current // never blocks: there is room for all buffers
		r.current = next
		r.current.From = begin
	}
	r.end = begin + r.options.Interval
}

// empty returns an empty buffer, or nil if all are in use.
func (r *Recorder) empty() *Results {
	select {
	case next := <-r.spare:
		return next
	default:
	}
	if r.made == buffers {
		return nil
	}
	r.made++
	return NewResults(r.options)
}

// Collect adds up the results that a recorder passes on until the recorder is closed, and returns the total.
// It calls each, if not nil, with every interval; each must not keep the results. Collect continues after an
// error, and returns the first error with the total.
func Collect(each func(*Results) error, r *Recorder) (*Results, error) {
	total := NewResults(r.options)
	var first error
	for results := range r.full {
		err := total.Merge(results)
		if err == nil && each != nil {
			err = each(results)
		}
		if first == nil {
			first = err
		}
		results.reset()
		r.spare <- results // never blocks: there is room for all buffers
	}
	return total, first
}

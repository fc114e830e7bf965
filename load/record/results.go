package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Geometry of all histograms: three significant digits, from 64 ns (for send lateness) to five minutes.
const (
	lowest  = 100             // nanoseconds; the library rounds it down to 64
	highest = 300_000_000_000 // nanoseconds
	digits  = 3
)

// newHistogram returns a histogram with the common geometry, so that all of them merge.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowest, highest, digits)
}

// Kind is a kind of times in a histogram.
type Kind uint8

// The kinds of times.
const (
	// Response is the time from the intended start to the end. It includes the wait that a stalled target
	// causes, which avoids coordinated omission (Tene 2013).
	Response Kind = iota
	// Service is the time from the actual send to the end.
	Service
	// Lateness is the generator's own delay: from the intended start to the send, or, if the operation
	// waited for a connection, from when one was free.
	Lateness
)

// All stands for all operations, in place of the index of one.
const All = -1

// Options of recording. Results that are to be merged must have the same operations.
type Options struct {
	// Operations are the names of the operations, at least one, all different; samples carry their index.
	Operations []string
	// Window is the duration of the schedule: flows that begin within it count as achieved. Zero: all do.
	Window time.Duration
	// Timeout is the time limit of an operation. An operation that timed out counts with at least this time.
	Timeout time.Duration
	// LateAfter is the delay of a send beyond which an operation counts as late, whatever the reason. Zero:
	// one millisecond.
	LateAfter time.Duration
	// Interval is the time after which results are passed on. Zero: one second.
	Interval time.Duration
	// Cohorts also counts operations by their due time within Window.
	Cohorts bool
}

// Sample is one operation that ended. Times are since the beginning of the load.
type Sample struct {
	Operation int // index into Options.Operations
	Outcome   Outcome
	Intended  time.Duration // due time by the schedule
	Free      time.Duration // when a connection was free for it; if not after Intended, it did not wait
	Sent      time.Duration // actual send, or the attempt to connect
	Finished  time.Duration // end of the answer, of the wait for it, or of the load
	// Follows: it is not the first step of its flow, so it has no due time in the schedule and does not
	// count as achieved.
	Follows bool
	Lag     time.Duration // time from when its flow was due to Intended
	Resent  bool          // it was sent again, since its first connection had ended

	// The fields below are for lists of operations (Tap) and may be left out.

	Status            int32         // status of the protocol; zero: none
	Connection        int32         // number of the connection in its loop
	Received, Written int64         // bytes
	FirstByte         time.Duration // when the answer began; zero: unknown
	Connected         time.Duration // time of connecting; zero: the connection was open
	// Noted is the step's note for the list: a JSON object, or nil. Its memory belongs to the sample.
	Noted []byte
}

// cell holds the times of one operation with one outcome.
type cell struct {
	response, service *hdrhistogram.Histogram
}

// Counts holds the counts of an operation that do not depend on outcomes.
type Counts struct {
	Late     int64 // sent more than Options.LateAfter after the intended start
	Unsent   int64 // due, but never sent
	Achieved int64 // flows begun within Options.Window
	Clamped  int64 // times outside the range of the histograms, counted at its limit
	Resent   int64 // sent again on a new connection
}

// Results holds the results of an interval of the load. Only one goroutine may use it at a time.
type Results struct {
	From, To time.Duration // since the beginning of the load

	options  Options
	cells    []cell // outcomes in order, for each operation
	lateness []*hdrhistogram.Histogram
	counts   []Counts // by operation
}

// NewResults returns empty results.
func NewResults(o Options) *Results {
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.LateAfter = cmp.Or(o.LateAfter, time.Millisecond)
	n := len(o.Operations)
	return &Results{
		options:  o,
		cells:    make([]cell, n*outcomes),
		lateness: make([]*hdrhistogram.Histogram, n),
		counts:   make([]Counts, n),
	}
}

// Add counts one operation. It allocates only for the first operation of its kind. During a load a
// Recorder calls it.
func (r *Results) Add(s *Sample) {
	c := r.cell(s.Operation, s.Outcome)
	if c.response == nil {
		c.response = newHistogram()
		c.service = newHistogram()
		if r.lateness[s.Operation] == nil {
			r.lateness[s.Operation] = newHistogram()
		}
	}
	response, service := s.Finished-s.Intended, s.Finished-s.Sent
	if s.Outcome == Timeout {
		response = max(response, r.options.Timeout)
		service = max(service, r.options.Timeout)
	}
	counts := &r.counts[s.Operation]
	counts.Clamped += put(c.response, response) + put(c.service, service) +
		put(r.lateness[s.Operation], s.Sent-max(s.Intended, s.Free))
	if s.Sent-s.Intended > r.options.LateAfter {
		counts.Late++
	}
	if s.Resent {
		counts.Resent++
	}
	inWindow := r.options.Window == 0 || s.Sent < r.options.Window
	if inWindow && !s.Follows {
		counts.Achieved++
	}
}

// put records a time. It returns 1 if the time is outside of the histogram's range, so that it counts at the
// limit, otherwise 0.
func put(h *hdrhistogram.Histogram, d time.Duration) (clamped int64) {
	if uint64(d) > highest { // also negative ones
		d = min(max(d, 0), highest)
		clamped = 1
	}
	if err := h.RecordValue(int64(d)); err != nil {
		panic(err) // impossible: the value is in range
	}
	return clamped
}

// Merge adds the results of another interval, loop or engine, and widens the interval to contain both.
func (r *Results) Merge(other *Results) error {
	if !slices.Equal(r.options.Operations, other.options.Operations) {
		return fmt.Errorf("merge: the operations are %q and %q: merge only results of one scenario",
			r.options.Operations, other.options.Operations)
	}
	if r.To == 0 {
		r.From = other.From
	}
	r.From = min(r.From, other.From)
	r.To = max(r.To, other.To)
	for i := range other.cells {
		r.cells[i].response = merged(r.cells[i].response, other.cells[i].response)
		r.cells[i].service = merged(r.cells[i].service, other.cells[i].service)
	}
	for i, c := range other.counts {
		r.lateness[i] = merged(r.lateness[i], other.lateness[i])
		r.counts[i].add(c)
	}
	return nil
}

func (c *Counts) add(other Counts) {
	c.Late += other.Late
	c.Unsent += other.Unsent
	c.Achieved += other.Achieved
	c.Clamped += other.Clamped
	c.Resent += other.Resent
}

// merged adds one histogram to another, which may be nil, and returns the sum.
func merged(into, from *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if from == nil || from.TotalCount() == 0 {
		return into
	}
	if into == nil {
		into = newHistogram()
	}
	into.Merge(from)
	return into
}

// reset clears the results and keeps their memory.
func (r *Results) reset() {
	for _, c := range r.cells {
		if c.response != nil && c.response.TotalCount() > 0 {
			c.response.Reset()
			c.service.Reset()
		}
	}
	for i, h := range r.lateness {
		if h != nil {
			h.Reset()
		}
		r.counts[i] = Counts{}
	}
	r.From = 0
	r.To = 0
}

// Operations returns the names of the operations, in the order of their index.
func (r *Results) Operations() []string { return r.options.Operations }

// Count returns the number of operations of an index, or All, with an outcome.
func (r *Results) Count(operation int, outcome Outcome) int64 {
	var n int64
	for _, i := range r.chosen(operation) {
		if h := r.cell(i, outcome).response; h != nil {
			n += h.TotalCount()
		}
	}
	return n
}

// Errors returns the number of operations that ended with an error.
func (r *Results) Errors() int64 { return r.Sent(All) - r.Count(All, OK) - r.Count(All, Unfinished) }

// Sent returns the number of operations of an index, or All, that were begun.
func (r *Results) Sent(operation int) int64 {
	var n int64
	for _, o := range Outcomes() {
		n += r.Count(operation, o)
	}
	return n
}

// Counts returns the other counts of an operation, or of All.
func (r *Results) Counts(operation int) Counts {
	var sum Counts
	for _, i := range r.chosen(operation) {
		sum.add(r.counts[i])
	}
	return sum
}

// Unsent counts operations that were due and never sent.
func (r *Results) Unsent(operation int, n int64) { r.counts[operation].Unsent += n }

// Times returns the histogram of an operation, or All, in nanoseconds, with the given outcomes, or with
// all if none is given. Lateness has no outcomes.
func (r *Results) Times(kind Kind, operation int, of ...Outcome) *hdrhistogram.Histogram {
	sum := newHistogram()
	if len(of) == 0 {
		of = Outcomes()
	}
	for _, i := range r.chosen(operation) {
		if kind == Lateness {
			merged(sum, r.lateness[i])
			continue
		}
		for _, o := range of {
			merged(sum, r.cell(i, o).of(kind))
		}
	}
	return sum
}

// cell returns the cell of an operation and an outcome.
func (r *Results) cell(operation int, outcome Outcome) *cell {
	return &r.cells[operation*outcomes+int(outcome)]
}

// of returns the histogram of a kind, or nil if the cell is empty.
func (c cell) of(kind Kind) *hdrhistogram.Histogram {
	if kind == Service {
		return c.service
	}
	return c.response
}

// chosen returns the indices of one operation, or of All.
func (r *Results) chosen(operation int) []int {
	if operation != All {
		return []int{operation}
	}
	all := make([]int, len(r.counts))
	for i := range all {
		all[i] = i
	}
	return all
}

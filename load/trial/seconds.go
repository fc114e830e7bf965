package trial

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// Second holds the results of one second of a load, or of one Hooks.Interval. The last one of a load may
// be shorter. A loop that fell behind hands in one that covers several.
type Second struct {
	Results *record.Results `json:"results"`
	CPU     time.Duration   `json:"cpu_ns"` // processor time of the generator in that time
}

// Seconds adds up the seconds of several sources (loops or agents) and passes each sum on when all
// sources have handed in that second. What a source hands in later is passed on as soon as it comes. Its
// methods may be called by several goroutines.
type Seconds struct {
	mu      sync.Mutex
	each    func(Second) error
	length  time.Duration     // of a second
	waiting map[int64]*Second // by the number of the second, from 1
	reached []int64           // the last second that each source has handed in, by source
	err     error             // the first error
}

// NewSeconds returns the Seconds of a number of sources. It calls each with one second at a time; each
// must not keep the results.
func NewSeconds(sources int, each func(Second) error) *Seconds {
	if each == nil {
		each = func(Second) error { return nil }
	}
	return &Seconds{each: each, length: time.Second, waiting: make(map[int64]*Second),
		reached: make([]int64, sources)}
}

// Take adds a second of a source. The results stay the caller's.
func (s *Seconds) Take(source int, one Second) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A single source needs no sum.
	if len(s.reached) == 1 {
		s.note(s.each(one))
		return
	}
	number := int64((one.Results.To + s.length - 1) / s.length) // rounded up
	s.add(number, one)
	s.reached[source] = max(s.reached[source], number)
	s.release()
}

// End reports that a source has nothing more to hand in.
func (s *Seconds) End(source int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached[source] = math.MaxInt64
	s.release()
}

// Err returns the first error so far.
func (s *Seconds) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// add adds the results of one source to those of a second.
func (s *Seconds) add(number int64, one Second) {
	sum := s.waiting[number]
	if sum == nil {
		sum = &Second{Results: record.NewResults(record.Options{Operations: one.Results.Operations()})}
		s.waiting[number] = sum
	}
	s.note(sum.Results.Merge(one.Results))
	sum.CPU += one.CPU
}

// release passes on, in order, the seconds that all sources have handed in.
func (s *Seconds) release() {
	until := slices.Min(s.reached)
	var numbers []int64
	for n := range s.waiting {
		if n <= until {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		s.note(s.each(*s.waiting[n]))
		delete(s.waiting, n)
	}
}

// note keeps the first error.
func (s *Seconds) note(err error) {
	if s.err == nil {
		s.err = err
	}
}

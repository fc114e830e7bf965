package trial

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// Second holds what happened in one second of a load (or in Hooks.Interval), or in what was
// left of it at the end. A loop that was behind hands on several at once.
type Second struct {
	Results *record.Results `json:"results"`
	CPU     time.Duration   `json:"cpu_ns"` // processor time that the generator used in it
}

// Seconds merges what several sources (loops, agents) did, second by second, and passes
// a second on when all sources have handed it in. A second that a source hands in late is
// passed on later, and nothing is lost. Several goroutines may call its methods.
type Seconds struct {
	mu      sync.Mutex
	each    func(Second) error
	length  time.Duration     // of a second
	waiting map[int64]*Second // by the number of the second
	reached []int64           // number of the last second that a source has handed in
	err     error             // the first one
}

// NewSeconds returns Seconds of a number of sources that calls each with one second at a
// time. Each must not keep the results.
func NewSeconds(sources int, each func(Second) error) *Seconds {
	if each == nil {
		each = func(Second) error { return nil }
	}
	return &Seconds{each: each, length: time.Second, waiting: make(map[int64]*Second),
		reached: make([]int64, sources)}
}

// Take hands in what a source did. The results stay the caller's.
func (s *Seconds) Take(source int, one Second) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.reached) == 1 {
		s.note(s.each(one))
		return
	}
	number := int64(math.Ceil(one.Results.To.Seconds() / s.length.Seconds()))
	s.add(number, one)
	s.reached[source] = max(s.reached[source], number)
	s.release()
}

// End says that a source has nothing more to hand in.
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

func (s *Seconds) add(number int64, one Second) {
	sum := s.waiting[number]
	if sum == nil {
		empty, err := record.NewResults(record.Options{Operations: one.Results.Operations()})
		if err != nil {
			s.note(err)
			return
		}
		sum = &Second{Results: empty}
		s.waiting[number] = sum
	}
	s.note(sum.Results.Merge(one.Results))
	sum.CPU += one.CPU
}

// release passes on, in order, what all sources have handed in.
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

func (s *Seconds) note(err error) {
	if s.err == nil {
		s.err = err
	}
}

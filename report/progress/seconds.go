package progress

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// SecondLine is one line of the file that tells how a trial goes: what was seen of its load in a second, or
// what its units used.
type SecondLine struct {
	At      time.Time       `json:"at"`
	Trial   int             `json:"trial"`
	Attempt int             `json:"attempt"`
	Loaded  *lab.LoadSecond `json:"loaded,omitempty"`
	Used    *lab.UsedSecond `json:"used,omitempty"`
}

// Limits of the file of seconds: what it holds, and how many lines may wait to be written.
const (
	mostSeconds = 1 << 20 // bytes
	mostWaiting = 16
)

// Seconds writes how the trial that is played goes, for those who watch. It waits for no disk: lines that are
// not written in time are left out, and the file begins anew with every trial and when it is full.
type Seconds struct {
	file    *os.File
	mu      sync.Mutex
	trial   int
	attempt int
	closed  bool
	waiting chan SecondLine
	written chan struct{} // closed at the end
}

var _ lab.SecondsWatcher = (*Seconds)(nil)

// NewSeconds writes to a file that is open for appending.
func NewSeconds(file *os.File) *Seconds {
	s := &Seconds{file: file, waiting: make(chan SecondLine, mostWaiting), written: make(chan struct{})}
	go s.write()
	return s
}

// write writes lines until Close. A line that cannot be written is missing for those who watch, and that is
// all.
func (s *Seconds) write() {
	defer close(s.written)
	_ = s.file.Truncate(0) // a run that was killed has left its last ones
	size, trial, attempt := 0, 0, 0
	for line := range s.waiting {
		if line.Trial != trial || line.Attempt != attempt || size > mostSeconds {
			_ = s.file.Truncate(0)
			size, trial, attempt = 0, line.Trial, line.Attempt
		}
		text, err := json.Marshal(line)
		if err != nil {
			continue // a figure that is no number
		}
		n, _ := s.file.Write(append(text, '\n'))
		size += n
	}
}

// Trial implements lab.SecondsWatcher.
func (s *Seconds) Trial(number, attempt int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial, s.attempt = number, attempt
}

// Loaded implements lab.SecondsWatcher.
func (s *Seconds) Loaded(second lab.LoadSecond) { s.add(SecondLine{Loaded: &second}) }

// Used implements lab.SecondsWatcher.
func (s *Seconds) Used(second lab.UsedSecond) { s.add(SecondLine{Used: &second}) }

func (s *Seconds) add(line SecondLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	line.At, line.Trial, line.Attempt = time.Now().UTC(), s.trial, s.attempt
	select {
	case s.waiting <- line:
	default:
	}
}

// Close writes no more, and closes the file.
func (s *Seconds) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.waiting)
	}
	s.mu.Unlock()
	<-s.written
	return s.file.Close()
}

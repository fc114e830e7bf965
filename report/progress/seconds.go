package progress

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// SecondLine is one line of the file of seconds: the load of a trial in one second, or the usage of its
// units.
type SecondLine struct {
	At      time.Time       `json:"at"`
	Trial   int             `json:"trial"`
	Attempt int             `json:"attempt"`
	Loaded  *lab.LoadSecond `json:"loaded,omitempty"`
	Used    *lab.UsedSecond `json:"used,omitempty"`
}

// Limits of the file of seconds.
const (
	mostBytes   = 1 << 20 // in the file
	mostWaiting = 16      // lines that may wait to be written
)

// Seconds writes the seconds of the current trial to a file, from which the live page reads them. It never
// makes the trial wait for the disk: it drops lines that are not written in time. The file is emptied at the
// start of every trial and when it is full.
type Seconds struct {
	file    *os.File
	mu      sync.Mutex
	trial   int
	attempt int
	closed  bool
	waiting chan SecondLine
	written chan struct{} // closed after the last line is written
}

var _ lab.SecondsWatcher = (*Seconds)(nil)

// NewSeconds returns a watcher that writes to a file, which must be open for appending.
func NewSeconds(file *os.File) *Seconds {
	s := &Seconds{file: file, waiting: make(chan SecondLine, mostWaiting), written: make(chan struct{})}
	go s.write()
	return s
}

// write writes lines until Close. It ignores errors: a line that cannot be written is only missing on the
// live page.
func (s *Seconds) write() {
	defer close(s.written)
	_ = s.file.Truncate(0) // it may hold lines of a run that was killed
	size := 0
	trial := 0
	attempt := 0
	for line := range s.waiting {
		isNewTrial := line.Trial != trial || line.Attempt != attempt
		if isNewTrial || size > mostBytes {
			_ = s.file.Truncate(0)
			size = 0
			trial = line.Trial
			attempt = line.Attempt
		}
		text, err := json.Marshal(line)
		if err != nil {
			continue // it holds a value that is not a number
		}
		n, _ := s.file.Write(append(text, '\n'))
		size += n
	}
}

// Trial implements lab.SecondsWatcher.
func (s *Seconds) Trial(number, attempt int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial = number
	s.attempt = attempt
}

// Loaded implements lab.SecondsWatcher.
func (s *Seconds) Loaded(second lab.LoadSecond) { s.add(SecondLine{Loaded: &second}) }

// Used implements lab.SecondsWatcher.
func (s *Seconds) Used(second lab.UsedSecond) { s.add(SecondLine{Used: &second}) }

// add queues a line, or drops it if too many wait.
func (s *Seconds) add(line SecondLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	line.At = time.Now().UTC()
	line.Trial = s.trial
	line.Attempt = s.attempt
	select {
	case s.waiting <- line:
	default:
	}
}

// Close writes the lines that wait, and closes the file.
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

package loaded

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// The ends of attempts, as in the history.
const (
	EndedOK   = "ok"   // the operation happened
	EndedFail = "fail" // it did not happen
	EndedInfo = "info" // it may have happened
)

// Attempt is a line of the generator's history: an operation that a client tried. Times are nanoseconds since
// Begun, the beginning of the load. N is the type of the values that the scenario notes.
type Attempt[N any] struct {
	Operation string `json:"operation"`
	End       string `json:"end"`
	Outcome   string `json:"outcome"` // how the request ended, such as "timeout"; see package load/record
	Status    string `json:"status"`  // of the protocol, where there was an answer
	Intended  int64  `json:"intended_ns"`
	Sent      int64  `json:"sent_ns"`
	Finished  int64  `json:"finished_ns"`
	Begun     int64  `json:"begun_unix_ns"` // since 1970
	WarmUp    bool   `json:"warm_up"`
	Noted     N      `json:"noted"`

	Line int64 `json:"-"` // number in the file, from 1 on
}

// FirstAnswer returns the seconds from a time to the first right answer in the history of a trial, in the
// folder dir, and whether there is one. Answers during the warm-up count.
func FirstAnswer(dir string, since time.Time) (seconds float64, found bool, err error) {
	first := int64(math.MaxInt64)
	err = EachAttempt(dir, func(a Attempt[struct{}]) {
		if a.End == EndedOK { // in any order: the threads of the generator add their attempts in batches
			first = min(first, a.Begun+a.Finished)
			found = true
		}
	})
	return time.Unix(0, first).Sub(since).Seconds(), found, err
}

// addOutage adds the metric outage of a trial with faults: the longest time without a right
// answer, between the intended start of the first operation of the measured load and the end
// of the last one. In a trial without faults that would only be a time between two operations.
func addOutage(found lab.Measured, left lab.Leftover) error {
	if len(left.Faults) == 0 {
		return nil
	}
	var right []int64 // times of right answers
	begin, end := int64(math.MaxInt64), int64(0)
	err := EachAttempt(left.Dir, func(a Attempt[struct{}]) {
		if a.WarmUp {
			return
		}
		begin = min(begin, a.Begun+a.Intended)
		end = max(end, a.Begun+a.Finished)
		if a.End == EndedOK {
			right = append(right, a.Begun+a.Finished)
		}
	})
	if err != nil || end == 0 {
		return err
	}
	longest := time.Duration(0)
	last := begin
	slices.Sort(right) // the threads of the generator add their attempts in batches
	for _, at := range append(right, end) {
		longest = max(longest, time.Duration(at-last))
		last = at
	}
	found.Values[lab.Outage] = longest.Seconds()
	return nil
}

// EachAttempt calls do with every line of the history of a trial, in the order of the file. That is the order
// in which the attempts of each thread of the generator ended. dir is the trial's folder.
func EachAttempt[N any](dir string, do func(Attempt[N])) (err error) {
	file, err := os.Open(filepath.Join(dir, History))
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	decoder := json.NewDecoder(bufio.NewReader(file))
	for n := int64(1); ; n++ { // not while decoder.More(), which is false at a failed read, too
		a := Attempt[N]{Line: n}
		if err := decoder.Decode(&a); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the history, line %d: %w", n, err)
		}
		do(a)
	}
}

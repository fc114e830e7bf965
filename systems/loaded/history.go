package loaded

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Ends of attempts.
const (
	EndedOK   = "ok"   // it happened
	EndedFail = "fail" // it did not
	EndedInfo = "info" // nobody knows
)

// Attempt is a line of the generator's history: an operation that a client tried. Times
// are nanoseconds since the beginning of its load, which is Begun nanoseconds after
// 1970. N has what the scenario notes of it.
type Attempt[N any] struct {
	Operation string `json:"operation"`
	End       string `json:"end"`
	Outcome   string `json:"outcome"`
	Status    string `json:"status"` // of the protocol, where there was an answer
	Intended  int64  `json:"intended_ns"`
	Sent      int64  `json:"sent_ns"`
	Finished  int64  `json:"finished_ns"`
	Begun     int64  `json:"begun_unix_ns"`
	WarmUp    bool   `json:"warm_up"`
	Noted     N      `json:"noted"`

	Line int64 `json:"-"`
}

// EachAttempt reads the history line by line.
func EachAttempt[N any](path string, each func(Attempt[N])) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	decoder := json.NewDecoder(bufio.NewReader(file))
	for n := int64(1); decoder.More(); n++ {
		a := Attempt[N]{Line: n}
		if err := decoder.Decode(&a); err != nil {
			return fmt.Errorf("read the history, line %d: %w", n, err)
		}
		each(a)
	}
	return nil
}

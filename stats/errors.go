package stats

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
)

// TooFewError says that a statistic needs more values than it was given.
type TooFewError struct {
	Statistic string
	Have      int
	Need      int
}

// Error implements error.
func (e *TooFewError) Error() string {
	return fmt.Sprintf("%s of %s: at least %d are needed", e.Statistic, lab.Count(e.Have, "value"), e.Need)
}

// ValueError says that a statistic cannot take one of its values.
type ValueError struct {
	Statistic string
	Index     int
	Value     float64
	Want      string // what the value must be: "positive and finite"
}

// Error implements error.
func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: value %d is %g, it must be %s", e.Statistic, e.Index, e.Value, e.Want)
}

// LengthError says that two samples that belong together differ in length.
type LengthError struct {
	Statistic string
	First     int
	Second    int
}

// Error implements error.
func (e *LengthError) Error() string {
	return fmt.Sprintf("%s: %d values beside %d, want as many of each", e.Statistic, e.First, e.Second)
}

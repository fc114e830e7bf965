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

// valueError returns the error of a statistic that cannot take one of its values. want is what the value must
// be: "positive and finite".
func valueError(statistic string, index int, value float64, want string) error {
	return fmt.Errorf("%s: value %d is %g, it must be %s", statistic, index, value, want)
}

// lengthError returns the error of a statistic whose two samples belong together and differ in length.
func lengthError(statistic string, first, second int) error {
	return fmt.Errorf("%s: %d values beside %d, want as many of each", statistic, first, second)
}

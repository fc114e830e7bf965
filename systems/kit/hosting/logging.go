package hosting

import (
	"os"

	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/systems/kit"
)

// RequestLog returns the log of a unit for a value of kit.KnobLogging; nil if requests have no lines. Its
// lines go to standard error, which deployers keep.
func RequestLog(logging, unit string) *requestlog.Log {
	if logging != kit.LogRequests {
		return nil
	}
	return requestlog.New(os.Stderr, unit)
}

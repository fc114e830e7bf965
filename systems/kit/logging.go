package kit

import "github.com/cleave-lab/cleave/lab"

// KnobLogging is the knob for the request logs of units.
const KnobLogging = "logging"

// The values of KnobLogging.
const (
	LogNothing  = "off" // no requests; units log failures all the same
	LogRequests = "requests"
)

// Logging returns the knob.
func Logging() lab.Knob {
	return lab.Knob{Name: KnobLogging, Values: []string{LogNothing, LogRequests},
		Summary: "log of units: failures only, or a line of JSON (log/slog) for every request of a client and " +
			"every call of another unit, too",
		Means: map[string]string{LogNothing: "no log of requests", LogRequests: "a log line per request"}}
}

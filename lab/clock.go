package lab

import "math"

// ClockReading compares the clock of a unit's host with the conductor's, by one question and its answer. The
// offset is the answer's time minus the middle of the conductor's two times, and it can be wrong by half of
// the time between these (D. L. Mills, RFC 5905, section 8).
type ClockReading struct {
	Unit string `json:"unit"`
	// Shared: the unit's kernel is the conductor's; there is one clock.
	Shared        bool    `json:"shared,omitempty"`
	OffsetSeconds float64 `json:"offset_seconds"`
	BoundSeconds  float64 `json:"bound_seconds"`
}

// Clocks are the readings of a trial, before its load and after.
type Clocks struct {
	// ApartSeconds is the most by which two clocks can differ, the conductor's among them.
	ApartSeconds float64        `json:"apart_seconds"`
	Before       []ClockReading `json:"before"`
	After        []ClockReading `json:"after"`
}

// NewClocks returns the readings of a trial with the largest difference that two of its clocks can have.
func NewClocks(before, after []ClockReading) *Clocks {
	c := &Clocks{Before: before, After: after}
	var behind, ahead float64 // the conductor's own clock is at 0
	for _, readings := range [][]ClockReading{before, after} {
		for _, r := range readings {
			if r.Shared {
				continue
			}
			behind = math.Min(behind, r.OffsetSeconds-r.BoundSeconds)
			ahead = math.Max(ahead, r.OffsetSeconds+r.BoundSeconds)
		}
	}
	c.ApartSeconds = ahead - behind
	return c
}

// clockShare is the largest share of a time that may be a difference of clocks.
const clockShare = 0.1

// CanMeasure reports whether a time in seconds, taken from one clock to another, is long enough to be
// measured by them.
func (c *Clocks) CanMeasure(seconds float64) bool {
	return c == nil || c.ApartSeconds <= clockShare*seconds
}

// KernelRun is the file that identifies the running kernel: processes that read the same have the same clock.
const KernelRun = "/proc/sys/kernel/random/boot_id"

// ClockAnswer is the data of EventClock.
type ClockAnswer struct {
	KernelRun   string `json:"kernel_run"`  // empty: not known
	Nanoseconds int64  `json:"nanoseconds"` // since 1970
}

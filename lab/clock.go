package lab

import "math"

// ClockReading compares the clock of a unit's host with the conductor's, by one request. The offset is the
// time in the answer minus the middle between the conductor's times of request and answer; its largest error,
// the bound, is half of the time between these (D. L. Mills, RFC 5905, section 8).
type ClockReading struct {
	Unit string `json:"unit"`
	// Shared: the unit runs on the conductor's kernel and has the same clock.
	Shared        bool    `json:"shared,omitempty"`
	OffsetSeconds float64 `json:"offset_seconds"` // above 0: the unit's clock is ahead
	BoundSeconds  float64 `json:"bound_seconds"`  // largest error of the offset
}

// Clocks holds the clock readings of a trial, before and after its load.
type Clocks struct {
	// ApartSeconds is the largest possible difference between two clocks, including the conductor's.
	ApartSeconds float64        `json:"apart_seconds"`
	Before       []ClockReading `json:"before"`
	After        []ClockReading `json:"after"`
}

// NewClocks returns the Clocks of these readings.
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

// clockShare is the largest difference of clocks, as a share of a time that is measured between them.
const clockShare = 0.1

// CanMeasure reports whether a time in seconds that begins on one clock and ends on another is long enough
// for the precision of the clocks. It returns true for nil Clocks: all units then have the conductor's clock.
func (c *Clocks) CanMeasure(seconds float64) bool {
	return c == nil || c.ApartSeconds <= clockShare*seconds
}

// KernelRun is the file with the id of the running kernel: processes that read the same id have the same
// clock.
const KernelRun = "/proc/sys/kernel/random/boot_id"

// ClockAnswer is the data of EventClock.
type ClockAnswer struct {
	KernelRun   string `json:"kernel_run"`  // empty: unknown
	Nanoseconds int64  `json:"nanoseconds"` // since 1970
}

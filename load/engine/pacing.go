package engine

import (
	"fmt"
	"strings"
	"time"
)

// Guard is the time before a due time at which spinning begins: virtual machines wake a sleeper 24 to 31
// us late.
const Guard = 60 * time.Microsecond

// Pacing is the way in which an open loop waits for the next due time. The zero value is exact.
type Pacing struct {
	grid time.Duration
	spin bool
}

// ParsePacing reads "exact", "grid:1ms" (any duration; "grid" means grid:1ms) or
// "spin".
func ParsePacing(text string) (Pacing, error) {
	kind, length, given := strings.Cut(text, ":")
	switch {
	case kind == "exact" && !given:
		return Pacing{}, nil
	case kind == "spin" && !given:
		return Pacing{spin: true}, nil
	case kind == "grid" && !given:
		return Pacing{grid: time.Millisecond}, nil
	case kind == "grid":
		grid, err := time.ParseDuration(length)
		if err != nil || grid <= 0 || grid > time.Second {
			return Pacing{}, fmt.Errorf("pacing %q: %q is no length of a grid: use for example grid:250us, at most 1s",
				text, length)
		}
		return Pacing{grid: grid}, nil
	}
	return Pacing{}, fmt.Errorf("pacing %q is unknown: use exact, grid:1ms or spin", text)
}

// String returns what ParsePacing reads.
func (p Pacing) String() string {
	switch {
	case p.spin:
		return "spin"
	case p.grid > 0:
		return "grid:" + p.grid.String()
	}
	return "exact"
}

// Lateness returns the longest delay of a send by this pacing alone.
func (p Pacing) Lateness() time.Duration { return p.grid }

// Slot returns the time at which an operation that is due at a time is sent.
func (p Pacing) Slot(due time.Duration) time.Duration {
	if p.grid == 0 {
		return due
	}
	return (due + p.grid - 1) / p.grid * p.grid
}

// Spins reports whether waiting keeps a processor busy.
func (p Pacing) Spins() bool { return p.spin }

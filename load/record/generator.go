package record

import (
	"fmt"
	"math"
	"time"
)

// Generator holds the cost of the load for the engine, and whether the engine, not the target, was the
// limit.
type Generator struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	// CPUPerOperation is the processor time of an operation, for pacing and protocol, in seconds; null
	// without operations.
	CPUPerOperation *float64 `json:"cpu_per_operation"`
	PeakMemory      int64    `json:"peak_memory"`      // bytes resident
	Pacing          string   `json:"pacing,omitempty"` // exact, grid:1ms or spin
	Engine          string   `json:"engine,omitempty"` // http1 or stream
	Loops           int      `json:"loops,omitempty"`  // number of sending loops, in all processes together
	Agents          int      `json:"agents,omitempty"` // number of processes; zero: the command itself
	// Limited: the client was the limit, not the system, so the numbers do not describe the target.
	Limited   bool     `json:"limited"`
	LimitedBy []string `json:"limited_by,omitempty"`
	// Moved holds the figures that the client's own lateness may have changed.
	Moved []Moved `json:"moved,omitempty"`
}

// OnlyLate reports whether the client was limited by nothing but its own lateness.
func (g *Generator) OnlyLate() bool { return len(g.Moved) > 0 && len(g.LimitedBy) == 1 }

// ClosedLoop compares the measurements of a closed loop with Little's law: N = X (R + Z).
type ClosedLoop struct {
	Users     int     `json:"users"`         // N
	ThinkTime float64 `json:"think_time"`    // Z, seconds
	Implied   float64 `json:"implied_users"` // X (R + Z) as measured
	// Error is |N - X (R + Z)| / N. Above 0.05, users were missing or not counted.
	Error float64 `json:"error"`
}

// Limits beyond which the generator was the limit of the load.
const (
	maxCPUShare    = 0.95 // of the cores that it may use
	maxLag         = time.Millisecond
	maxLagShare    = 0.05 // of the median response time
	maxLittleError = 0.05
)

// CheckGenerator fills in Generator.Limited, LimitedBy and Moved. Generator.CPUSeconds must be known.
//
//	cores    processors that the engine may use
//	elapsed  wall-clock time of CPUSeconds
//	pacing   lateness that the user's pacing permits; zero for exact
//	moved    figures that lateness may have changed, by Results.MovedByLateness
func (s *Summary) CheckGenerator(cores float64, elapsed, pacing time.Duration, moved []Moved) {
	var by []string
	s.Generator.Moved = nil
	if busy := CPULimit(s.Generator.CPUSeconds, cores, elapsed); busy != "" {
		by = append(by, busy)
	}
	if s.SendLateness.P99 != nil {
		lag := *s.SendLateness.P99
		limit := (maxLag + pacing).Seconds()
		if median := s.ResponseTime.P50; median != nil {
			limit = max(limit, maxLagShare*(*median))
		}
		sent := fmt.Sprintf("it sent 1 %% of the operations %.3g ms late or more, of its own fault", 1e3*lag)
		switch {
		case lag < limit:
		case len(moved) == 0:
			s.Notes = append(s.Notes, "the client: "+sent+", which could not move the figures far")
		default:
			s.Generator.Moved = moved
			by = append(by, fmt.Sprintf("%s; the limit is %.3g ms: %s", sent, 1e3*limit, moved[0]))
		}
	}
	if n := s.Errors[Exhausted.String()]; n > 0 {
		by = append(by, fmt.Sprintf("it ran out of ports, files or memory for %d operations: use fewer "+
			"connections, keep them open, or raise ulimit -n", n))
	}
	if c := s.Closed; c != nil && c.Error > maxLittleError {
		by = append(by, fmt.Sprintf("%d users are not what Little's law finds in its numbers: %.1f", c.Users,
			c.Implied))
	}
	s.Generator.Limited = len(by) > 0
	s.Generator.LimitedBy = by
}

// CPULimit returns a sentence if a generator used up the processors that it may use, otherwise "".
//
//	cpu      processor time, seconds
//	cores    processors that it may use
//	elapsed  wall-clock time of cpu
func CPULimit(cpu, cores float64, elapsed time.Duration) string {
	share := cpu / (elapsed.Seconds() * cores)
	if !(share > maxCPUShare) {
		return ""
	}
	return fmt.Sprintf("it used %.0f %% of its %g processors: give it more, or offer less", 100*share, cores)
}

// Limits beyond which one operation of a closed loop may have made all users wait.
const (
	stallOfP99      = 10   // times the 99th percentile
	stallOfDuration = 0.01 // share of the load's duration
)

// Stall returns a sentence if a closed loop may hide the length of a stall of its target: waiting users
// send nothing, and operations that were not sent have no times. It returns "" for open loops, and if no
// operation took very long.
func (s *Summary) Stall() string {
	longest, p99 := s.ServiceTime.Max, s.ServiceTime.P99
	if s.Closed == nil || longest == nil {
		return ""
	}
	if *longest <= max(stallOfP99*(*p99), stallOfDuration*s.Duration) {
		return ""
	}
	return fmt.Sprintf("one operation took %.3g s, %.3g times the 99th percentile: in a closed loop all users "+
		"may have waited meanwhile, and what they "+
		"did not send then is in none of these times (coordinated omission); an open load (a rate) counts it",
		*longest, *longest / *p99)
}

// LittlesLaw compares the users of a closed loop with the number that the measurements imply (Little
// 1961).
//
//	users       N
//	throughput  X, operations per second
//	response    R, mean response time, seconds
//	think       Z, think time
func LittlesLaw(users int, throughput, response float64, think time.Duration) ClosedLoop {
	n := float64(users)
	implied := throughput * (response + think.Seconds())
	return ClosedLoop{Users: users, ThinkTime: think.Seconds(), Implied: implied, Error: math.Abs(n-implied) / n}
}

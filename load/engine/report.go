package engine

import (
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// Report holds what the engine knows in addition to the samples in the recorder.
type Report struct {
	Start time.Time
	// Window is the time in which flows were begun. Elapsed also includes the wait for operations in flight.
	Window, Elapsed time.Duration
	// ThreadCPU is the processor time of the sending thread.
	ThreadCPU time.Duration
	// Unsent is the number of flows of an open loop that were due and never begun; UnsentBecause is the
	// reason.
	Unsent        int64
	UnsentBecause string `json:",omitempty"`
	// Stopped is the reason why flows stopped before the duration was over; empty: they did not.
	Stopped string `json:",omitempty"`
	// HeldBack is the number of flows that began later than they were due because of Config.MaxRate.
	HeldBack int64
	// Cut is the number of flows that had steps left when the load ended.
	Cut int64
	// Skipped counts, by operation, the steps that were not begun because an earlier step
	// of their flow failed.
	Skipped []int64
	// Statuses counts answers by HTTP status, right or wrong.
	Statuses map[int]int64
	// ErrorSamples holds samples of bodies that came with unexpected statuses.
	ErrorSamples record.ErrorSamples `json:"Said,omitempty"`
	// Connects is the number of attempts to connect, including those before the load.
	Connects int64
	// Received is the number of bytes, Unsolicited the number of answers without a request.
	Received, Unsolicited int64
	// BusyTime is the sum of the times of all operations from their begin to their end, which includes
	// making connections. In a closed loop, PauseTime is the sum of the users' pauses, within flows and
	// between them. UserTime is the sum of the users' times from their first operation to the end of their
	// last. Little's law relates the three.
	BusyTime, PauseTime, UserTime time.Duration
	// Ended holds the number of flows that had ended or were thinking, at multiples of EndedEvery. All other
	// flows that were due by then waited for the target.
	Ended []int64
	// Example is the first complaint about an answer, if there was any.
	Example string `json:",omitempty"`
}

// EndedEvery is the interval of the values in Report.Ended.
const EndedEvery = 100 * time.Millisecond

package engine

import (
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// Report holds what the engine knows beside the samples in the recorder.
type Report struct {
	Start time.Time
	// Window is how long flows were begun; Elapsed includes the wait for what was
	// in flight.
	Window, Elapsed time.Duration
	// ThreadCPU is the processor time of the sending thread.
	ThreadCPU time.Duration
	// Unsent flows of an open loop were due and never begun; UnsentBecause says why.
	Unsent        int64
	UnsentBecause string `json:",omitempty"`
	// Stopped says why no more flows were begun before the duration was over; empty: they
	// were.
	Stopped string `json:",omitempty"`
	// HeldBack flows were begun later than they were due because of Config.MaxRate.
	HeldBack int64
	// Cut flows had steps left when the load ended.
	Cut int64
	// Skipped counts, by operation, the steps that were not begun because an earlier step
	// of their flow failed.
	Skipped []int64
	// Statuses counts answers by HTTP status, right or wrong.
	Statuses map[int]int64
	// Said holds samples of the bodies that came with unexpected statuses.
	Said record.ErrorSamples `json:",omitempty"`
	// Connects counts attempts to connect, those before the load included.
	Connects int64
	// Received counts bytes, and Unsolicited answers without a request.
	Received, Unsolicited int64
	// BusyTime is the sum of the times of all operations from their begin to their end:
	// service times, and making connections. In a closed loop, PauseTime is the sum of the
	// users' pauses, within flows and between them, and UserTime the sum of the users'
	// times from their first operation to the end of their last. Little's law relates the
	// three.
	BusyTime, PauseTime, UserTime time.Duration
	// Ended holds, at multiples of EndedEvery, the number of flows that had ended or were
	// thinking. All other flows that were due by then waited for the target.
	Ended []int64
	// Example is the first complaint about an answer, if there was any.
	Example string `json:",omitempty"`
}

// EndedEvery is the distance of the values in Report.Ended.
const EndedEvery = 100 * time.Millisecond

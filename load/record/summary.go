package record

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// summarySchema versions the document of `cleave load`. docs/schema holds its
// JSON Schema.
const summarySchema = "cleave-load/1"

// minTail is the smallest number of operations for p99.9. Below 2,995 operations no
// 95 % interval of order statistics around it is finite (Hahn and Meeker 1991, 5.2).
const minTail = 3000

// Summary is the JSON document of `cleave load`. Times are in seconds, rates in operations per second,
// sizes in bytes. Sent = ok + errors + in flight.
type Summary struct {
	Schema string `json:"schema"`
	Target string `json:"target"`
	Model  string `json:"model"` // description of the load: "open, poisson, 5000/s"
	// OfferedRate is the rate of constant arrivals. For other schedules, and for a load that was ended
	// early, it is the number of flows in the schedule per second. It is null in a closed loop, which has no
	// schedule. AchievedRate counts the flows that were begun within the duration. A flow of one step is one
	// operation.
	OfferedRate  *float64 `json:"offered_rate"`
	AchievedRate float64  `json:"achieved_rate"`
	Duration     float64  `json:"duration"` // of the schedule
	// TransferRate counts all bytes of answers from the beginning of the schedule to the end of the last
	// answer; null if no time passed.
	TransferRate *float64 `json:"transfer_rate"`
	Sent         int64    `json:"sent"`
	OK           int64    `json:"ok"`
	Unsent       int64    `json:"unsent"` // due, but never sent
	Late         int64    `json:"late"`   // sent long after the intended start
	InFlight     int64    `json:"in_flight"`
	// Resent is the number of operations that were sent again on a new connection: the old one ended before an
	// answer began, and repeating them is safe.
	Resent int64 `json:"resent,omitempty"`
	// Skipped is the number of steps that never began, because an earlier step of their flow failed.
	Skipped int64 `json:"skipped"`
	// Errors counts failed operations by the name of their Outcome.
	Errors map[string]int64 `json:"errors"`
	// ErrorSamples holds samples of bodies that came with unexpected statuses.
	ErrorSamples ErrorSamples `json:"said,omitempty"`
	// ResponseTime describes all operations: one that timed out counts with its time limit, one in flight
	// with its age. ResponseTimeOK describes the successful ones.
	ResponseTime   Percentiles `json:"response_time"`
	ResponseTimeOK Percentiles `json:"response_time_ok"`
	ServiceTime    Percentiles `json:"service_time"`
	// SendLateness is the generator's own delay, not the wait for a connection.
	SendLateness Lag       `json:"send_lateness"`
	Generator    Generator `json:"generator"`
	// Clamped is the number of times outside the range of the histograms, which count at its limit.
	Clamped    int64       `json:"clamped"`
	Operations []Operation `json:"operations"`
	// Unchecked names the operations without an oracle, whose answers may be wrong.
	Unchecked []string    `json:"unchecked,omitempty"`
	Closed    *ClosedLoop `json:"closed,omitempty"`
	Capacity  *Capacity   `json:"capacity,omitempty"`
	// Aborted is the reason why the load ended early; empty if it did not.
	Aborted string `json:"aborted,omitempty"`
	// Notes holds further notes for readers.
	Notes []string `json:"notes,omitempty"`
}

// Operation is the part of a summary about one operation.
type Operation struct {
	Name         string           `json:"name"`
	Sent         int64            `json:"sent"`
	OK           int64            `json:"ok"`
	Unsent       int64            `json:"unsent"`
	Late         int64            `json:"late"`
	InFlight     int64            `json:"in_flight"`
	Skipped      int64            `json:"skipped"`
	Errors       map[string]int64 `json:"errors"`
	ResponseTime Percentiles      `json:"response_time"`
	ServiceTime  Percentiles      `json:"service_time"`
}

// Percentiles describe times, in seconds. All are null without operations; p99.9 is null below 3,000
// operations.
type Percentiles struct {
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p999"`
	Max  *float64 `json:"max"`
	Mean *float64 `json:"mean"`
}

// Lag describes delays of the generator, in seconds; null without operations.
type Lag struct {
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
	Max *float64 `json:"max"`
}

// Capacity is the result of a search: the highest open rate that met the objective, in operations per
// second.
type Capacity struct {
	Rate *float64 `json:"rate"` // null: no rate met the objective
	Low  *float64 `json:"low"`  // lower end of the bracket: the highest rate that passed
	High *float64 `json:"high"` // upper end: the lowest rate that failed; null: none did
	// Objective is the objective as the user wrote it.
	Objective string `json:"objective"`
	// Monotone: 0.95 of the rate passed in three of three trials and 1.10 of it failed in two of three, as
	// far as the limits of the search permit.
	Monotone bool `json:"monotone"`
	// Reason says what the numbers leave open; empty: nothing.
	Reason string  `json:"reason,omitempty"`
	Probes []Probe `json:"probes"` // in the order of playing
}

// Probe is one trial of a capacity search.
type Probe struct {
	Rate     float64 `json:"rate"`     // offered, operations per second
	Achieved float64 `json:"achieved"` // sent, operations per second
	Pass     bool    `json:"pass"`
	// Confirms: this is a longer trial at the capacity.
	Confirms bool `json:"confirms,omitempty"`
	// Short: this is a shorter trial, at a rate about which one trial decides.
	Short bool `json:"short,omitempty"`
	// Reasons lists the missed conditions of the objective, with the measured values.
	Reasons []string `json:"reasons,omitempty"`
	// Disturbed says how the host disturbed a failed trial in all of its repetitions; empty: at least one
	// was not disturbed.
	Disturbed    string      `json:"disturbed,omitempty"`
	ResponseTime Percentiles `json:"response_time"`
}

// Summarize returns a summary of the results. offered is the number of operations in the schedule, or nil
// for a closed loop. The caller fills in the rest: target, model, generator, unchecked.
func (r *Results) Summarize(duration time.Duration, offered *int64) Summary {
	all := r.summarizeOne(All)
	s := Summary{
		Schema: summarySchema, Duration: duration.Seconds(),
		Sent: all.Sent, OK: all.OK, Unsent: all.Unsent, Late: all.Late, InFlight: all.InFlight, Errors: all.Errors,
		ResponseTime:   all.ResponseTime,
		ResponseTimeOK: PercentilesOf(r.Times(Response, All, OK)),
		ServiceTime:    all.ServiceTime,
		SendLateness:   lagOf(r.Times(Lateness, All)),
		Clamped:        r.Counts(All).Clamped, Resent: r.Counts(All).Resent,
	}
	if duration > 0 {
		s.AchievedRate = float64(r.Counts(All).Achieved) / duration.Seconds()
		if offered != nil {
			s.OfferedRate = new(float64(*offered) / duration.Seconds())
		}
	}
	for i := range r.options.Operations {
		s.Operations = append(s.Operations, r.summarizeOne(i))
	}
	return s
}

// summarizeOne returns the part about one operation, or about all.
func (r *Results) summarizeOne(operation int) Operation {
	o := Operation{
		Sent: r.Sent(operation), OK: r.Count(operation, OK), InFlight: r.Count(operation, Unfinished),
		Unsent: r.Counts(operation).Unsent, Late: r.Counts(operation).Late,
		Errors:       make(map[string]int64),
		ResponseTime: PercentilesOf(r.Times(Response, operation)),
		ServiceTime:  PercentilesOf(r.Times(Service, operation)),
	}
	if operation != All {
		o.Name = r.options.Operations[operation]
	}
	for _, outcome := range Outcomes() {
		if n := r.Count(operation, outcome); n > 0 && outcome.IsError() {
			o.Errors[outcome.String()] = n
		}
	}
	return o
}

// PercentilesOf describes a histogram of nanoseconds. A percentile is the value that its share of the
// operations does not exceed, in three digits.
func PercentilesOf(h *hdrhistogram.Histogram) Percentiles {
	if h.TotalCount() == 0 {
		return Percentiles{}
	}
	at := h.ValueAtPercentilesSlice([]float64{50, 90, 95, 99, 99.9})
	p := Percentiles{P50: seconds(at[0]), P90: seconds(at[1]), P95: seconds(at[2]), P99: seconds(at[3]),
		Max: seconds(h.Max()), Mean: new(h.Mean() / 1e9)}
	if h.TotalCount() >= minTail {
		p.P999 = seconds(at[4])
	}
	return p
}

// lagOf describes a histogram of lateness.
func lagOf(h *hdrhistogram.Histogram) Lag {
	p := PercentilesOf(h)
	return Lag{P50: p.P50, P99: p.P99, Max: p.Max}
}

// seconds converts nanoseconds to seconds.
func seconds(nanoseconds int64) *float64 { return new(float64(nanoseconds) / 1e9) }

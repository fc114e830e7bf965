package lab

import (
	"net"
	"time"
)

// TraceSet holds the traced operations of a set of files, of a trial, or of all trials of a variant, as the
// spans describe them.
type TraceSet struct {
	Name   string `json:"name,omitempty"`  // of the file or folder, or of the variant; absent in a trial
	Files  int    `json:"files,omitempty"` // their number; absent if the units sent the spans
	Spans  int    `json:"spans"`           // that were read or received, with Duplicates
	Traces int    `json:"traces"`          // complete ones: every span has its caller; only they count
	// Broken counts traces that do not count, because spans are missing or have no end, or because a trace has
	// over 100,000 spans.
	Broken int `json:"broken_traces"`
	// Duplicates counts repetitions of spans in the files; one of each counts.
	Duplicates int `json:"duplicate_spans"`
	// Clipped counts spans that began before their caller or ended after it, by the clocks of their hosts. The
	// time outside of the caller is ignored.
	Clipped int `json:"clipped_spans"`
	// Dropped counts spans of a trial that exceeded the limit.
	Dropped int `json:"dropped_spans,omitempty"`
	// Operations groups the traces by their root span.
	Operations []TracedOperation `json:"operations,omitempty"`
}

// TracedOperation groups the traces whose root span has this service and operation.
type TracedOperation struct {
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Traces    int    `json:"traces"`
	// Batches holds the traces in the order of their start, divided into parts of equal size; none if there are
	// too few.
	Batches []TraceBatch `json:"batches"`
}

// TraceBatch holds the means over some traces of one operation.
type TraceBatch struct {
	Seconds float64    `json:"seconds"` // duration of the root span
	Parts   []PartCost `json:"parts"`
}

// TracePart is a part of an operation: the spans of one service with one name.
type TracePart struct {
	Service   string      `json:"service"`
	Operation string      `json:"operation,omitempty"`
	Kind      SegmentKind `json:"kind,omitempty"` // of the self time
}

// PartCost is the mean cost of a part per operation.
type PartCost struct {
	TracePart
	Calls   float64 `json:"calls"`           // spans
	Entered float64 `json:"entered"`         // spans without a caller in the same service
	Self    float64 `json:"self_seconds"`    // time in which its spans wait for no other span
	Waiting float64 `json:"waiting_seconds"` // time in which they wait for one
	Path    float64 `json:"path_seconds"`    // on the critical path: all parts sum up to the operation
	Errors  float64 `json:"errors"`
}

// Plus returns the cost with a multiple of another added.
func (c PartCost) Plus(more PartCost, times float64) PartCost {
	c.Calls += times * more.Calls
	c.Entered += times * more.Entered
	c.Self += times * more.Self
	c.Waiting += times * more.Waiting
	c.Path += times * more.Path
	c.Errors += times * more.Errors
	return c
}

// SpanNode is a span with its children.
type SpanNode struct {
	Service   string
	Component string // a part of the service, if an attribute of the span names it
	Name      string
	Peer      string      // the service that the span of a client calls; "": unknown, or no such span
	Kind      SegmentKind // of the self time
	// Serves: the span serves a call, or handles a message, from a span of another service.
	Serves bool
	// Async: its caller does not wait for the span.
	Async bool
	// Start and End are nanoseconds since 1970. Self is the self time: the nanoseconds in which the span does
	// not wait for a child.
	Start, End, Self int64
	Children         []*SpanNode // in the order of their start
}

// Tracer creates receivers of spans.
type Tracer interface {
	// Receive returns the receiver of one trial, which does not listen yet.
	Receive() SpanReceiver
}

// SpanReceiver receives the spans of one trial.
type SpanReceiver interface {
	// Listen starts to receive at an address of this host. It returns the environment variables that make units
	// send their spans there.
	Listen(host string) ([]string, error)
	// Serve starts to receive from a listener that units reach at an address, and returns the same variables.
	Serve(listener net.Listener, address string) []string
	// Close stops receiving. It summarizes the traces that began between two moments; nil if it did not listen.
	// A failure to receive spans is not an error but ReceivedTraces.Wrong.
	Close(from, to time.Time) (*ReceivedTraces, error)
}

// ReceivedTraces summarizes the traces of a trial.
type ReceivedTraces struct {
	TraceSet // one batch of each operation
	// Paths holds the paths of a median and of a slow trace, and the mean of all.
	Paths []Path
	// Traffic counts the calls between services, per trace. A service that records no spans has the name under
	// which it was called.
	Traffic []Traffic
	// Wrong is the reason why spans may be missing; nil: nothing went wrong.
	Wrong error
}

// TraceComparison compares two sets of traces: the document of `cleave traces BEFORE AFTER --json`.
type TraceComparison struct {
	Schema     string   `json:"schema"`
	Before     TraceSet `json:"before"`
	After      TraceSet `json:"after"`
	Confidence float64  `json:"confidence"` // of the intervals
	// Batches is the number of parts into which the traces of each operation are divided: the sample size of
	// the intervals.
	Batches int `json:"batches"`
	TraceContrast
}

// TraceContrast compares the operations of one set of traces with those of another.
type TraceContrast struct {
	// Compared lists the operations that both sets have, with their common weights.
	Compared []ComparedOperation `json:"compared"`
	// Left lists what is not compared, and why.
	Left []string `json:"left"`
	// Seconds is the time of an operation, and Ratio after / before of it.
	Seconds TraceChange `json:"seconds"`
	Ratio   Ratio       `json:"ratio"`
	// Services and Parts are in the order of their change on the critical path, the largest first. A service
	// holds all of its parts, without their operation and kind.
	Services []PartChange `json:"services"`
	Parts    []PartChange `json:"parts"`
}

// TracedVariant compares a variant with the baseline at one point, by the spans of its units. The trials are
// the sample, each paired with the baseline's trial of its block.
type TracedVariant struct {
	Variant  string   `json:"variant"`
	Baseline string   `json:"baseline"`
	Point    string   `json:"point"`
	Before   TraceSet `json:"before"` // counts over all trials of the baseline
	After    TraceSet `json:"after"`  // counts over all trials of the variant
	TraceContrast
}

// ComparedOperation is an operation that both sets have.
type ComparedOperation struct {
	Service   string  `json:"service"`
	Operation string  `json:"operation"`
	Before    int     `json:"traces_before"`
	After     int     `json:"traces_after"`
	Weight    float64 `json:"weight"` // its share of the traces of the first set
}

// PartChange is the change of the cost of a part in an operation. Times are in seconds.
type PartChange struct {
	TracePart
	Calls   TraceChange `json:"calls"`
	Entered TraceChange `json:"entered"`
	Self    TraceChange `json:"self_seconds"`
	Waiting TraceChange `json:"waiting_seconds"`
	Path    TraceChange `json:"path_seconds"`
	Share   TraceChange `json:"path_share"` // of the operation's time
	Errors  TraceChange `json:"errors"`
}

// TraceChange is a mean of both sets with its difference, after - before, and the interval of that.
type TraceChange struct {
	Before     float64 `json:"before"`
	After      float64 `json:"after"`
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

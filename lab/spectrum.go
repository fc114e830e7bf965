package lab

// Quantities whose distributions trials can have.
const (
	// ResponseTime is the time from the intended start of an operation to its answer.
	ResponseTime = "response_time"
	// ServiceTime is the time from the actual sending to the answer, without correction.
	ServiceTime = "service_time"
	// CompletionTime is the time from the intended start to the final business state.
	CompletionTime = "completion_time"
	// Staleness is the time from a change on the write side until a read model shows it.
	Staleness = "staleness"
	// ReferenceStaleness is the time from a change of reference data at their owner until a replica has it.
	ReferenceStaleness = "reference_staleness"
)

// Quantile says that a share of all values is at most Value, in seconds.
type Quantile struct {
	Share float64 `json:"share"` // 0 to 1
	Value float64 `json:"value"`
}

// SpectrumShares returns the shares at which distributions are stored. They suffice to draw distributions
// over 1/(1-share) on a log axis, and to see how steep they are at the median.
func SpectrumShares() []float64 {
	return []float64{0, 0.1, 0.25, 0.45, 0.5, 0.55, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995,
		0.9999, 1}
}

// Path is the critical path of one operation: what it waited for, from its intended start to its final state
// or, in the traces of a user's system, from the start of its first span to the end of that. Between segments
// there are neither gaps nor overlaps.
type Path struct {
	// Share is the quantile that the operation represents: 0.5 or 0.99. PathMean represents
	// no single operation.
	Share     float64 `json:"share"`
	Operation string  `json:"operation"` // its id, for the logs
	Seconds   float64 `json:"seconds"`   // from start to end
	// Sampled counts the traced operations from which it was chosen.
	Sampled int `json:"sampled"`
	// Segments add up to Seconds. Except in the mean, segments shorter than a two-thousandth
	// of the path are added to the previous one.
	Segments []Segment `json:"segments"`
}

// PathMean is the share of the path that is the mean of all traced operations. It
// has one segment for each unit and kind, in the order of SegmentKinds: the mean time
// for which operations wait for that, anywhere on their paths. Their sum is the mean
// time to completion.
const PathMean = 0

// Segment is a part of a path.
type Segment struct {
	Start   float64     `json:"start"` // seconds since the start of the path
	Seconds float64     `json:"seconds"`
	Unit    string      `json:"unit"` // such as "orders", "generator"
	Kind    SegmentKind `json:"kind"`
	Name    string      `json:"name"` // such as "Reserve", "INSERT orders"
}

// SegmentKind says what the time of a segment was used for.
type SegmentKind string

// The kinds of segments.
const (
	SegmentBusiness  SegmentKind = "business code"
	SegmentEncoding  SegmentKind = "encoding"
	SegmentTransport SegmentKind = "transport"
	SegmentQueueing  SegmentKind = "queueing"
	SegmentDatabase  SegmentKind = "database"
	SegmentBroker    SegmentKind = "broker"
)

// SegmentKinds lists all kinds, in the order in which they are shown.
func SegmentKinds() []SegmentKind {
	return []SegmentKind{SegmentBusiness, SegmentEncoding, SegmentTransport, SegmentQueueing, SegmentDatabase,
		SegmentBroker}
}

// DroppedAttribute is the attribute of a resource, in files with spans, with the number of its spans that
// were dropped for lack of room.
const DroppedAttribute = "cleave.dropped_spans"

// SegmentAttribute is the attribute of a span with the SegmentKind of its own time: the
// time in which none of its children runs.
const SegmentAttribute = "cleave.segment"

// ComponentAttribute is the attribute of a span with the name of its component, if its process has several.
const ComponentAttribute = "cleave.component"

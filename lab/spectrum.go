package lab

// Quantities whose distributions a trial may hold.
const (
	// ResponseTime runs from the intended start of an operation to its answer.
	ResponseTime = "response_time"
	// ServiceTime runs from the actual sending to the answer: uncorrected.
	ServiceTime = "service_time"
	// Relief is the moment from which on the tail of a load was within its objective for good.
	Relief = "relief"
	// CompletionTime runs from the intended start to the final business state.
	CompletionTime = "completion_time"
	// Staleness runs from a change in the write side until a read model shows it.
	Staleness = "staleness"
	// ReferenceStaleness runs from a change of reference data at their owner until a replica of them has it.
	ReferenceStaleness = "reference_staleness"
)

// Quantile says that a share of all values is at most Value, in seconds.
type Quantile struct {
	Share float64 `json:"share"` // 0 to 1
	Value float64 `json:"value"`
}

// SpectrumShares returns the shares at which distributions are kept: enough to draw them over 1/(1-share) on
// a log axis, and to see how steep they are at the median.
func SpectrumShares() []float64 {
	return []float64{0, 0.1, 0.25, 0.45, 0.5, 0.55, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995,
		0.9999, 1}
}

// Path is the critical path of one operation: what it waited for, from its
// intended start to its final state. Segments touch each other and do not overlap.
type Path struct {
	// Share is the quantile that the operation stands for: 0.5 or 0.99. PathMean
	// stands for no operation.
	Share     float64 `json:"share"`
	Operation string  `json:"operation"` // its id, for the logs
	Seconds   float64 `json:"seconds"`   // from intended start to final state
	// Sampled counts the traced operations from which it was chosen.
	Sampled int `json:"sampled"`
	// Segments add up to Seconds. One that is shorter than a two-thousandth of the
	// path is a part of the one before it, but not in the mean.
	Segments []Segment `json:"segments"`
}

// PathMean is the share of the path that is the mean of all traced operations. It
// has one segment for each unit and kind, stacked in the order of SegmentKinds:
// how long an operation waits for that in the mean, wherever on its way. Their sum
// is the mean time to completion.
const PathMean = 0

// Segment is a stretch of a path.
type Segment struct {
	Start   float64     `json:"start"` // seconds since the intended start
	Seconds float64     `json:"seconds"`
	Unit    string      `json:"unit"` // where: "orders", "generator"
	Kind    SegmentKind `json:"kind"`
	Name    string      `json:"name"` // what: "Reserve", "INSERT orders"
}

// SegmentKind says what the time of a segment went into.
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

// DroppedAttribute is the attribute of a resource in files with spans that holds how many of its spans are
// not in the file, since there was no room.
const DroppedAttribute = "cleave.dropped_spans"

// SegmentAttribute is the attribute of a span that holds the SegmentKind of its own
// time: that in which none of its parts is under way.
const SegmentAttribute = "cleave.segment"

// ComponentAttribute is the attribute of a span that names the component it belongs to, where its process
// hosts several.
const ComponentAttribute = "cleave.component"

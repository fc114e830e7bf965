package lab

// Bottleneck holds the throughput of a variant at a point with each of its units doubled in turn, and the
// units to which common signals point.
type Bottleneck struct {
	Metric  string    `json:"metric"`
	Point   Point     `json:"point"`
	Variant string    `json:"variant"` // the base variant, in which units are doubled
	Doubled []Doubled `json:"doubled"` // the unit with the largest gain first
	Signals []Signal  `json:"signals"`
	// Answer has sentences about the unit to scale, units whose scaling makes it worse, and the signals that
	// pointed to the right unit.
	Answer []string `json:"answer"`
}

// Doubled is a unit that was scaled: it had more replicas, or more processors per replica, than in the base
// variant.
type Doubled struct {
	Unit     string            `json:"unit"`
	Replicas int               `json:"replicas"`
	CPU      float64           `json:"cpu_limit,omitempty"` // processors per replica, if that was scaled
	Variant  string            `json:"variant"`
	Ratio    Ratio             `json:"throughput"` // this / the base variant
	Verdict  ComparisonVerdict `json:"verdict"`
	// CPUShare is the CPU time of the unit as a share of its limit, or else of one processor. Like the next two
	// figures, it is from trials of the base variant, and absent if unknown.
	CPUShare  *float64 `json:"cpu_share,omitempty"`
	Queueing  *float64 `json:"queueing_seconds,omitempty"` // mean time of an operation in the unit's queues
	PathShare *float64 `json:"path_share,omitempty"`       // the unit's share of the critical path
}

// Signal is a figure that is commonly used to find the bottleneck.
type Signal struct {
	Name SignalName `json:"name"`
	// Unit is the unit to which it points; empty: it was not measured.
	Unit string `json:"unit,omitempty"`
	// Right reports whether scaling that unit gave the largest gain; absent if that is unknown.
	Right *bool `json:"right,omitempty"`
}

// SignalName is the name of a signal.
type SignalName string

// The signals.
const (
	SignalCPU      SignalName = "CPU share"
	SignalQueueing SignalName = "queueing"
	SignalPath     SignalName = "critical path"
)

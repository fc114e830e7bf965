package lab

// Bottleneck compares the throughput of a variant at a point, each of its units doubled in turn, with what
// trials of the variant itself predict.
type Bottleneck struct {
	Metric  string    `json:"metric"`
	Point   Point     `json:"point"`
	Variant string    `json:"variant"` // that was scaled
	Doubled []Doubled `json:"doubled"` // the unit that gave most first
	Signals []Signal  `json:"signals"`
	// Answer says which unit to scale, which one makes it worse, and which signal would
	// have told, in sentences.
	Answer []string `json:"answer"`
}

// Doubled is a unit that had more than in the variant that was scaled: it ran more often, or each replica
// could use more processors.
type Doubled struct {
	Unit     string            `json:"unit"`
	Replicas int               `json:"replicas"`
	CPU      float64           `json:"cpu_limit,omitempty"` // processors of each replica, where they were raised
	Variant  string            `json:"variant"`
	Ratio    Ratio             `json:"throughput"` // this / the variant that was scaled
	Verdict  ComparisonVerdict `json:"verdict"`
	// What trials of the variant that was scaled say of the unit; absent where they tell
	// nothing: the CPU it used, of its limit, else of one processor; the seconds that an
	// operation waits in queues there, in the mean; its share of the critical path.
	CPUShare  *float64 `json:"cpu_share,omitempty"`
	Queueing  *float64 `json:"queueing_seconds,omitempty"`
	PathShare *float64 `json:"path_share,omitempty"`
}

// Signal is a figure by which people commonly look for the bottleneck.
type Signal struct {
	Name SignalName `json:"name"`
	// Unit is the one that it points to; empty: nothing of it was measured.
	Unit string `json:"unit,omitempty"`
	// Right says whether scaling that unit gave most; absent where that is not known.
	Right *bool `json:"right,omitempty"`
}

// SignalName names a signal.
type SignalName string

// The signals.
const (
	SignalCPU      SignalName = "CPU share"
	SignalQueueing SignalName = "queueing"
	SignalPath     SignalName = "critical path"
)

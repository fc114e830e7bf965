package lab

// Direction says which way a metric is better.
type Direction string

// Directions of metrics.
const (
	LowerIsBetter  Direction = "lower"
	HigherIsBetter Direction = "higher"
)

// Metric is a named quantity with its unit. Its fields describe what it measures: reports read these, and
// never the name.
type Metric struct {
	Name   string     `json:"name"`
	Title  string     `json:"title"`
	Unit   string     `json:"unit"`
	Better Direction  `json:"better"`
	Kind   MetricKind `json:"kind,omitempty"`
	// Quantity is the measured quantity without its quantile: CompletionTime, CPU, or one of the system's
	// own, such as "statements".
	Quantity string `json:"quantity,omitempty"`
	// Quantile is the share of all values that are at most the metric's: 0.5 of a
	// median. 0: it is a mean, a sum or a rate.
	Quantile float64 `json:"quantile,omitempty"`
	// Per is the divisor of the quantity: PerOperation; empty: none.
	Per    string       `json:"per,omitempty"`
	Source MetricSource `json:"source,omitempty"`
	// Clocks: the metric is a time from one unit's clock to another's. It is not available where the clocks may
	// differ too much (see Clocks.CanMeasure).
	Clocks bool `json:"clocks,omitempty"`
	// Phrase is the name of the quantity in a sentence about the cost of an operation: "one order costs 11.0
	// statements". Empty: the sentence leaves it out.
	Phrase string `json:"phrase,omitempty"`
}

// MetricKind is the kind of number of a metric.
type MetricKind string

// The kinds of metrics.
const (
	KindTime   MetricKind = "time"   // how long something takes, in seconds
	KindRate   MetricKind = "rate"   // a number per second
	KindShare  MetricKind = "share"  // 0 to 1
	KindCost   MetricKind = "cost"   // processor time, in seconds
	KindCount  MetricKind = "count"  // a number of things, or of bytes
	KindMemory MetricKind = "memory" // held at once, in bytes
)

// MetricSource names who measured a metric.
type MetricSource string

// The sources of metrics.
const (
	FromGenerator MetricSource = "generator" // the client's side
	FromSystem    MetricSource = "system"    // the units and backing services of the system
	FromMeter     MetricSource = "meter"     // the host's account of processes
	FromProfiler  MetricSource = "profiler"  // samples of profiled trials, and the meter
)

// Quantities that mean the same in every system. Those with distributions are in spectrum.go.
const (
	Elapsed  = "elapsed"  // start signal to last finish
	CPU      = "cpu"      // time of processors
	Memory   = "memory"   // at its peak
	Capacity = "capacity" // highest rate that meets the objective
	// FirstAnswer is the time from the start of the first unit to the first right answer.
	FirstAnswer = "first_answer"
	// CompletedRate is of operations that reached their final business state.
	CompletedRate = "completed_rate"
	// Achieved is the share of the offered operations that were begun in time.
	Achieved = "achieved"
	// Outage is the longest time without a right answer, in trials with faults.
	Outage = "outage"
	// Unfinished is the share of accepted operations that were not final when the load
	// ended.
	Unfinished = "unfinished"
	// Goodput is the rate of operations that were answered rightly.
	Goodput = "goodput"
	// SendLateness is the delay of an operation's sending after it was due.
	SendLateness = "send_lateness"
	Requests     = "requests"   // operations sent
	Transfer     = "transfer"   // bytes of answers per second
	BadStatus    = "bad_status" // share of answers with a status that was not expected
)

// Measure is a measured number: a quantity at a quantile, as a Metric names both.
type Measure struct {
	Quantity string
	Quantile float64 // 0: a mean, a sum or a rate
	Value    float64
}

// Measured returns the number that a metric asks for; false where it was not measured.
func (m Metric) Measured(measures []Measure) (float64, bool) {
	found, measured := first(measures, func(one Measure) bool {
		return one.Quantity == m.Quantity && one.Quantile == m.Quantile
	})
	return found.Value, measured
}

// FromDue reports whether the metric is a time from the due times of operations, which grows if the generator
// sends late.
func (m Metric) FromDue() bool { return m.Quantity == ResponseTime || m.Quantity == CompletionTime }

// PerOperation is the Per of a metric of single operations.
const PerOperation = "operation"

// JobMetrics returns the metrics of a system that names none of its own: a job of known size that is played
// once. They are in the order in which they are shown.
func JobMetrics() []Metric {
	return []Metric{
		{Name: "elapsed", Title: "elapsed time, start signal to last finish", Unit: "s", Better: LowerIsBetter,
			Kind: KindTime, Quantity: Elapsed, Source: FromSystem},
		{Name: "elapsed_per_operation", Title: "elapsed time per operation", Unit: "s", Better: LowerIsBetter,
			Kind: KindTime, Quantity: Elapsed, Per: PerOperation, Source: FromSystem},
		{Name: "cpu", Title: "CPU time of all units", Unit: "s", Better: LowerIsBetter,
			Kind: KindCost, Quantity: CPU, Source: FromMeter},
		{Name: "cpu_per_operation", Title: "CPU time per operation", Unit: "s", Better: LowerIsBetter,
			Kind: KindCost, Quantity: CPU, Per: PerOperation, Source: FromMeter},
		{Name: "lifetime", Title: "time from spawn to exit", Unit: "s", Better: LowerIsBetter,
			Kind: KindTime, Quantity: "lifetime", Source: FromMeter},
		{Name: "peak_memory", Title: "peak memory of all units", Unit: "B", Better: LowerIsBetter,
			Kind: KindMemory, Quantity: Memory, Source: FromMeter},
		{Name: "context_switches_per_operation", Title: "context switches per operation", Unit: "1",
			Better: LowerIsBetter, Kind: KindCount, Quantity: "context_switches", Per: PerOperation,
			Source: FromMeter},
	}
}

// AllMetrics returns what the trials of the study are compared in, in the order in
// which they are shown. The first is the headline.
func (s Study) AllMetrics() []Metric {
	if len(s.Metrics) > 0 {
		return s.Metrics
	}
	return JobMetrics()
}

// MetricNamed returns the metric of that name among several.
func MetricNamed(metrics []Metric, name string) (Metric, bool) {
	return first(metrics, func(m Metric) bool { return m.Name == name })
}

// FindMetric returns the metric of a quantity among several: at a quantile (0: none),
// and divided by per ("": by nothing).
func FindMetric(metrics []Metric, quantity string, quantile float64, per string) (Metric, bool) {
	return first(metrics, func(m Metric) bool {
		return m.Quantity == quantity && m.Quantile == quantile && m.Per == per
	})
}

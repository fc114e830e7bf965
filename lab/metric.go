package lab

// Direction says which way a metric is better.
type Direction string

// Directions of metrics.
const (
	LowerIsBetter  Direction = "lower"
	HigherIsBetter Direction = "higher"
)

// Metric is a named quantity with its unit. Its fields describe what it measures: reports use these, never
// the name.
type Metric struct {
	Name   string     `json:"name"`
	Title  string     `json:"title"`
	Unit   string     `json:"unit"`
	Better Direction  `json:"better"`
	Kind   MetricKind `json:"kind,omitempty"`
	// Quantity is the measured quantity without its quantile: CompletionTime, CPU, or a quantity of the system,
	// such as "statements".
	Quantity string `json:"quantity,omitempty"`
	// Quantile is the share of all values that are at most the metric's value: 0.5 for a
	// median. 0: the metric is a mean, a sum or a rate.
	Quantile float64 `json:"quantile,omitempty"`
	// Per is the divisor of the quantity: PerOperation; empty: none.
	Per    string       `json:"per,omitempty"`
	Source MetricSource `json:"source,omitempty"`
	// Clocks is set if the metric is a time that begins on the clock of one unit and ends on that of another. A
	// trial does not have it if the clocks may differ by more than a tenth of it (see Clocks.CanMeasure).
	Clocks bool `json:"clocks,omitempty"`
	// Phrase is the name of the quantity in a sentence about the cost of an operation: "one order costs 11.0
	// statements". Empty: the sentence leaves it out.
	Phrase string `json:"phrase,omitempty"`
}

// MetricKind is the kind of a metric's number.
type MetricKind string

// The kinds of metrics.
const (
	KindTime   MetricKind = "time"   // a duration, in seconds
	KindRate   MetricKind = "rate"   // a number per second
	KindShare  MetricKind = "share"  // 0 to 1
	KindCost   MetricKind = "cost"   // processor time, in seconds
	KindCount  MetricKind = "count"  // a number of things, or of bytes
	KindMemory MetricKind = "memory" // used memory, in bytes
)

// MetricSource names who measured a metric.
type MetricSource string

// The sources of metrics.
const (
	FromGenerator MetricSource = "generator" // the clients
	FromSystem    MetricSource = "system"    // the units and backing services of the system
	FromMeter     MetricSource = "meter"     // the kernel's accounting of processes
	FromProfiler  MetricSource = "profiler"  // samples of profiled trials, and the meter
)

// Quantities that have the same meaning in all systems. Those with distributions are in spectrum.go.
const (
	Elapsed  = "elapsed"  // time from the start command until the last unit has finished
	CPU      = "cpu"      // processor time
	Memory   = "memory"   // its peak
	Capacity = "capacity" // highest rate that meets the objective
	// FirstAnswer is the time from the start of the first unit to the first right answer.
	FirstAnswer = "first_answer"
	// CompletedRate is the rate of operations that reached their final business state.
	CompletedRate = "completed_rate"
	// Achieved is the share of the offered operations that were begun in time.
	Achieved = "achieved"
	// Outage is the longest time without a right answer, in trials with faults.
	Outage = "outage"
	// Unfinished is the share of accepted operations that were not final when the load
	// ended.
	Unfinished = "unfinished"
	// Goodput is the rate of operations with a right answer.
	Goodput = "goodput"
	// Relief is the time from the beginning of a load until the 99th percentile of a second was within the
	// objective for good.
	Relief = "relief"
	// SendLateness is the time from the due time of an operation until it was sent.
	SendLateness = "send_lateness"
	Requests     = "requests"   // operations sent
	Transfer     = "transfer"   // bytes of answers per second
	BadStatus    = "bad_status" // share of answers with a status that was not expected
)

// Measure is a measured number of a quantity at a quantile; see Metric.
type Measure struct {
	Quantity string
	Quantile float64 // 0: a mean, a sum or a rate
	Value    float64
}

// Measured returns the measured number of a metric, and false if there is none.
func (m Metric) Measured(measures []Measure) (float64, bool) {
	found, measured := first(measures, func(one Measure) bool {
		return one.Quantity == m.Quantity && one.Quantile == m.Quantile
	})
	return found.Value, measured
}

// FromDue reports whether the metric is a time that begins when operations are due. Such times grow if the
// generator sends late.
func (m Metric) FromDue() bool { return m.Quantity == ResponseTime || m.Quantity == CompletionTime }

// PerOperation is the Per of metrics per operation.
const PerOperation = "operation"

// JobMetrics returns the metrics of systems that have none themselves: these play a job of known size once.
// They are in the order in which they are shown.
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

// AllMetrics returns the metrics that compare the trials of the study, in the order in
// which they are shown. The first is the headline.
func (s Study) AllMetrics() []Metric {
	if len(s.Metrics) > 0 {
		return s.Metrics
	}
	return JobMetrics()
}

// MetricNamed returns the metric with this name among several.
func MetricNamed(metrics []Metric, name string) (Metric, bool) {
	return first(metrics, func(m Metric) bool { return m.Name == name })
}

// FindMetric returns the metric among several that has this quantity, quantile (0: none)
// and divisor ("": none).
func FindMetric(metrics []Metric, quantity string, quantile float64, per string) (Metric, bool) {
	return first(metrics, func(m Metric) bool {
		return m.Quantity == quantity && m.Quantile == quantile && m.Per == per
	})
}

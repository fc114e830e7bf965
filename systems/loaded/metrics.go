package loaded

import "github.com/cleave-lab/cleave/lab"

// Words holds a system's words for the titles of metrics.
type Words struct {
	Operations string // operations, in the plural: "requests"
	Flows      string // flows, which the load starts at its rate, in the plural: "visits"
	Cost       string // the parts whose usage is the system's cost: "units and servers"
	Per        string // the unit of work of CPU time: "request answered rightly"
	Response   string // the response time: "response time"
}

// quantile is a quantile of times for which there are metrics.
type quantile struct {
	name, title string  // the end of a metric's name and the beginning of its title
	share       float64 // 0: the mean
}

// quantiles returns all quantiles for which there are metrics.
func quantiles() []quantile {
	return []quantile{{"mean", "mean ", 0}, {"p50", "median ", 0.5}, {"p90", "90th percentile of the ", 0.9},
		{"p95", "95th percentile of the ", 0.95}, {"p99", "99th percentile of the ", 0.99},
		{"p999", "99.9th percentile of the ", 0.999}, {"max", "longest ", 1}}
}

// Times returns the metrics of a time, at these quantiles; 0 is the mean, 1 the maximum.
func Times(quantity, title string, source lab.MetricSource, at ...float64) []lab.Metric {
	var all []lab.Metric
	for _, share := range at {
		for _, q := range quantiles() {
			if q.share == share {
				all = append(all, lab.Metric{Name: quantity + "_" + q.name, Title: q.title + title, Unit: "s",
					Better: lab.LowerIsBetter, Kind: lab.KindTime, Quantity: quantity, Quantile: share,
					Source: source})
			}
		}
	}
	return all
}

// ResponseTimes returns the metrics of the response time, at these quantiles; 0 is the mean.
func (w Words) ResponseTimes(at ...float64) []lab.Metric {
	return Times(lab.ResponseTime, w.Response, lab.FromGenerator, at...)
}

// Goodput returns the metric for the rate of right answers.
func (w Words) Goodput() lab.Metric {
	return lab.Metric{Name: lab.Goodput, Title: w.Operations + " per second that were answered rightly",
		Unit: "1/s", Better: lab.HigherIsBetter, Kind: lab.KindRate, Quantity: lab.Goodput,
		Source: lab.FromGenerator}
}

// Capacity returns the metric for the highest rate that meets the objective.
func (w Words) Capacity() lab.Metric {
	return lab.Metric{Name: lab.Capacity, Title: "highest rate of " + w.Flows + " that meets the objective",
		Unit: "1/s", Better: lab.HigherIsBetter, Kind: lab.KindRate, Quantity: lab.Capacity,
		Source: lab.FromGenerator}
}

// Errors returns the metric for the share of operations without a right answer.
func (w Words) Errors() lab.Metric {
	return lab.Metric{Name: lab.FigureErrors,
		Title: "share of " + w.Operations + " that were not answered rightly", Unit: "1",
		Better: lab.LowerIsBetter, Kind: lab.KindShare, Quantity: "error", Source: lab.FromGenerator}
}

// AchievedShare returns the metric for the share of the offered load that was started in time.
func (w Words) AchievedShare() lab.Metric {
	return lab.Metric{Name: achievedShare, Title: "share of the offered " + w.Flows + " that were begun in time",
		Unit: "1", Better: lab.HigherIsBetter, Kind: lab.KindShare, Quantity: lab.Achieved,
		Source: lab.FromGenerator}
}

// CPU returns the metric for the CPU time per operation.
func (w Words) CPU() lab.Metric {
	return lab.Metric{Name: CPUPerOperation, Title: "CPU time of " + w.Cost + " per " + w.Per, Unit: "s",
		Better: lab.LowerIsBetter, Kind: lab.KindCost, Quantity: lab.CPU, Per: lab.PerOperation, Phrase: "CPU",
		Source: lab.FromMeter}
}

// PeakMemory returns the metric for the sum of the peak memory of all processes.
func (w Words) PeakMemory() lab.Metric {
	return lab.Metric{Name: peakMemory, Title: "peak memory of " + w.Cost + ", the sum over all", Unit: "B",
		Better: lab.LowerIsBetter, Kind: lab.KindMemory, Quantity: lab.Memory, Source: lab.FromMeter}
}

// Names of metrics that Measure and AddCost set.
const (
	CPUPerOperation = "cpu_per_operation"
	achievedShare   = "achieved_share"
	peakMemory      = "peak_memory"
)

// ClientMetrics returns the metrics from the client's side other than response times and goodput: service
// times, the number of requests, the lateness of the generator, bytes and statuses of answers, the relief
// (see lab.Relief), outages.
func ClientMetrics() []lab.Metric {
	client := func(quantity, title, unit string, kind lab.MetricKind) lab.Metric {
		return lab.Metric{Name: quantity, Title: title, Unit: unit, Better: lab.LowerIsBetter, Kind: kind,
			Quantity: quantity, Source: lab.FromGenerator}
	}
	requests := client(lab.Requests, "operations sent in the measured load, with which the longest time grows",
		"1", lab.KindCount)
	requests.Better = lab.HigherIsBetter
	transfer := client(lab.Transfer, "bytes of answers per second", "B/s", lab.KindRate)
	transfer.Name = "transfer_rate"
	transfer.Better = lab.HigherIsBetter
	bad := client(lab.BadStatus, "share of operations answered with a status that was not expected", "1",
		lab.KindShare)
	bad.Name = "bad_status_share"
	all := Times(lab.ServiceTime, "time from the actual sending to the answer (uncorrected)",
		lab.FromGenerator, 0.5, 0.99)
	all = append(all, requests)
	all = append(all, Times(lab.SendLateness, "lateness of the generator itself", lab.FromGenerator, 0.99)...)
	return append(all, transfer,
		client(lab.Relief, "time until the 99th percentile of a second was within the objective for good", "s",
			lab.KindTime),
		bad,
		client(lab.Outage, "longest time in which no operation was answered rightly, in trials with faults", "s",
			lab.KindTime))
}

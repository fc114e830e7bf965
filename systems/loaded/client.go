package loaded

import "github.com/cleave-lab/cleave/lab"

// ClientParameters are the factors that say how the generator connects.
func ClientParameters() []lab.Parameter {
	return []lab.Parameter{
		{Name: lab.FactorConnections, Summary: "connections of the generator, in an open loop", Min: 1, Max: 20_000,
			Optional: true},
		{Name: lab.FactorThreads, Summary: "threads of the generator that send, over plain HTTP/1.1", Min: 1,
			Max: 64, Optional: true},
	}
}

// SetClient takes from the point how the generator connects, where it says so.
func SetClient(job *lab.LoadJob, p lab.Point) {
	if connections, set := p.Level(lab.FactorConnections); set {
		job.Client.Connections = int(connections)
	}
	if threads, set := p.Level(lab.FactorThreads); set {
		job.Client.Threads = int(threads)
	}
}

// OutageColumn shows what clients of a check saw of its faults.
func OutageColumn() lab.CheckColumn {
	return lab.CheckColumn{Title: "longest without an answer, s", Metric: lab.Outage, Digits: 2}
}

// ClientMetrics are what a client sees beside response times and goodput: what tools
// report that measure from the actual sending, how many bytes came, and how many answers
// had a status that says no.
func ClientMetrics() []lab.Metric {
	service := func(name, title string, quantile float64) lab.Metric {
		return lab.Metric{Name: lab.ServiceTime + "_" + name, Unit: "s", Better: lab.LowerIsBetter,
			Title: title + " from the actual sending to the answer (uncorrected)",
			Kind:  lab.KindTime, Quantity: lab.ServiceTime, Quantile: quantile, Source: lab.FromGenerator}
	}
	return []lab.Metric{
		service("p50", "median time", 0.5), service("p99", "99th percentile of the time", 0.99),
		{Name: "requests", Title: "operations sent in the measured load, with which the longest time grows",
			Unit: "1", Better: lab.HigherIsBetter,
			Kind: lab.KindCount, Quantity: "requests", Source: lab.FromGenerator},
		{Name: "send_lateness_p99", Title: "99th percentile of how late the generator itself was", Unit: "s",
			Better: lab.LowerIsBetter,
			Kind:   lab.KindTime, Quantity: "send_lateness", Quantile: 0.99, Source: lab.FromGenerator},
		{Name: "transfer_rate", Title: "bytes of answers per second", Unit: "B/s", Better: lab.HigherIsBetter,
			Kind: lab.KindRate, Quantity: "transfer", Source: lab.FromGenerator},
		{Name: lab.Relief, Title: "time until the 99th percentile of a second was within the objective for good",
			Unit: "s", Better: lab.LowerIsBetter,
			Kind: lab.KindTime, Quantity: lab.Relief, Source: lab.FromGenerator},
		{Name: "bad_status_share", Title: "share of operations answered with a status that was not expected",
			Unit: "1", Better: lab.LowerIsBetter,
			Kind: lab.KindShare, Quantity: "bad_status", Source: lab.FromGenerator},
		{Name: lab.Outage, Title: "longest time in which no operation was answered rightly, in trials with faults",
			Unit: "s", Better: lab.LowerIsBetter,
			Kind: lab.KindTime, Quantity: lab.Outage, Source: lab.FromGenerator},
	}
}

package lab

import "strings"

// DescribeMetrics fills in what the metrics of a plan are where it was written before
// metrics had fields for that: then their names said it, in endings such as _p99,
// _share and _per_order. It is the only place that reads names.
func (p *Plan) DescribeMetrics() {
	for i := range p.Study.Metrics {
		if m := &p.Study.Metrics[i]; m.Kind == "" {
			m.describeByName()
		}
	}
}

// describeByName sets the fields of a metric after its name.
func (m *Metric) describeByName() {
	quantity, per, divided := strings.Cut(strings.TrimPrefix(m.Name, "system_"), "_per_")
	before, ending := quantity, ""
	if i := strings.LastIndexByte(quantity, '_'); i >= 0 {
		before, ending = quantity[:i], quantity[i+1:]
	}
	quantile, isQuantile := map[string]float64{"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999,
		"max": 1, "mean": 0}[ending]
	switch {
	case quantity == CPU:
		m.Kind, m.Quantity, m.Source, m.Phrase = KindCost, CPU, FromMeter, "CPU"
	case divided:
		m.Kind, m.Quantity, m.Source = KindCount, quantity, FromSystem
		m.Phrase = map[string]string{"statements": "statements", "messages": "messages",
			"syncs": "fsyncs"}[quantity]
	case isQuantile:
		m.Kind, m.Quantity, m.Quantile, m.Source = KindTime, before, quantile, FromGenerator
		if before == CompletionTime || before == Staleness {
			m.Source, m.Clocks = FromSystem, true
		}
	case ending == "share":
		m.Kind, m.Quantity, m.Source = KindShare, before, FromGenerator
		if before == Unfinished {
			m.Source = FromSystem
		}
	case quantity == CompletedRate:
		m.Kind, m.Quantity, m.Source = KindRate, quantity, FromSystem
	case m.Unit == "1/s":
		m.Kind, m.Quantity, m.Source = KindRate, quantity, FromGenerator
	case quantity == "peak_memory":
		m.Kind, m.Quantity, m.Source = KindMemory, Memory, FromMeter
	}
	if per != "" {
		m.Per = PerOperation
	}
}

package agent

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
)

// Spectra returns the distributions of the response and service times of all
// operations, in seconds.
func (r Report) Spectra() map[string][]lab.Quantile {
	if r.Outcome.Results == nil || r.Outcome.Results.Sent(record.All) == 0 {
		return nil
	}
	return map[string][]lab.Quantile{
		lab.ResponseTime: spectrum(r.Outcome.Results.Times(record.Response, record.All)),
		lab.ServiceTime:  spectrum(r.Outcome.Results.Times(record.Service, record.All)),
	}
}

// slice returns the figures of one second, as an entry of Report.Course.
func slice(second trial.Second) lab.Slice {
	times := record.PercentilesOf(second.Results.Times(record.Response, record.All))
	return lab.Slice{
		End: second.Results.To.Seconds(), OK: second.Results.Count(record.All, record.OK),
		Median: times.P50, P99: times.P99,
	}
}

// spectrum returns the values of a histogram of nanoseconds at the shares of
// lab.SpectrumShares. It leaves out shares above which there is less than one operation,
// except 1.
func spectrum(h *hdrhistogram.Histogram) []lab.Quantile {
	var all []lab.Quantile
	for _, share := range lab.SpectrumShares() {
		if share < 1 && (1-share)*float64(h.TotalCount()) < 1 {
			continue
		}
		value := h.ValueAtPercentile(100 * share)
		if share == 0 {
			value = h.Min()
		}
		all = append(all, lab.Quantile{Share: share, Value: float64(value) / 1e9})
	}
	return all
}

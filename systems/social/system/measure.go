package system

import (
	"context"
	"errors"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/thirdparty"
)

// metrics returns the metrics of social, the headline first. docs/social.md defines them.
func metrics() []lab.Metric {
	words := loaded.Words{Operations: "requests", Flows: "requests", Cost: "units and servers",
		Per: "request answered rightly", Response: "response time"}
	// Of the quantiles, 1 is the maximum, and 0 stands for the mean.
	all := append(words.ResponseTimes(0.5, 0.99, 0.999, 1, 0), words.Goodput(), words.Capacity(), words.Errors(),
		words.AchievedShare(), words.CPU())
	all = append(all, loaded.ClientMetrics()...)
	all = append(all, kit.Amplification(), lab.Metric{Name: "stale_share",
		Title: "share of home timelines read that lacked an acknowledged post, where events fill them", Unit: "1",
		Better: lab.LowerIsBetter, Kind: lab.KindShare, Quantity: "stale", Source: lab.FromSystem})
	all = append(all, loaded.Times(lab.Staleness, "time by which reads of home timelines were behind, at least",
		lab.FromSystem, 0.99, 1)...)
	return append(all, words.PeakMemory())
}

// Measure implements lab.Measurer. The cost of the system excludes the generator and the third party.
func (s System) Measure(
	_ context.Context, v lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	found, load, err := s.base().Measure(metrics(), p, metered, left)
	if err != nil || loaded.Searches(p) {
		return found, err
	}
	loaded.AddCost(found.Values, metered, load.OK, thirdparty.Name)
	return found, errors.Join(hosting.AddAmplification(found.Values, left.Reports),
		measureStaleness(found.Values, v, p, left),
		hosting.KeepSpans(s.Spans, v, p, left.Dir))
}

// measureStaleness adds the metrics of stale reads of home timelines, if events fill them. The times are
// those of all reads: one that lacks no post counts as 0 s behind.
func measureStaleness(values map[string]float64, v lab.Variant, p lab.Point, left lab.Leftover) error {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil || design.Broker == "" {
		return err
	}
	j, err := readHistory(v, p, left.Dir)
	if err != nil {
		return err
	}
	// It needs no stores: only acknowledged posts count for staleness.
	j.judgeReads()
	if n := len(j.behind); n > 0 { // otherwise nobody has read a home timeline
		slices.Sort(j.behind)
		values["stale_share"] = float64(j.Counts[countStale]) / float64(n)
		values["staleness_p99"] = loaded.Percentile(j.behind, 0.99)
		values["staleness_max"] = j.behind[n-1]
	}
	return nil
}

package trial

import (
	"context"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/search"
)

// Probed is told of every trial of a search.
type Probed func(rate float64, probe record.Probe)

// attempts is how often a trial is played in which the client was the limit: on
// a busy host that passes.
const attempts = 5

// ClientLimitError ends a search: the trials at a rate said nothing of the target,
// because the client was the limit in all of them.
type ClientLimitError struct {
	Rate float64 // operations per second
	By   []string
}

// Error names the rate and what limited the client.
func (c *ClientLimitError) Error() string {
	return fmt.Sprintf("at %.6g/s the client, not the system, was the limit, %d times: %s", c.Rate, attempts, strings.Join(c.By, "; "))
}

// Search finds the highest open rate that meets the objective, beginning at the
// trial's own. The outcome is that of the last trial at the capacity, or of the
// lowest rate where none passed; its summary holds the capacity. written is the
// objective as the user wrote it.
func Search(ctx context.Context, t *Trial, limit objective.Objective, written string, probed Probed) (Outcome, error) {
	var best Outcome
	bestRate, seed := 0.0, t.spec.Seed
	options := search.Options{Start: t.spec.Rate, Objective: written}
	if !t.ticket.Own {
		options.Max = t.ticket.MaxRate
	}
	limit = limit.WithDefaults()
	capacity, err := search.Run(ctx, options, func(ctx context.Context, rate float64) (record.Probe, error) {
		seed++ // a fresh trial has its own arrivals
		outcome, probe, err := t.probe(ctx, rate, seed, limit)
		if err != nil {
			return probe, err
		}
		if probe.Pass && rate >= bestRate || bestRate == 0 {
			best = outcome
		}
		if probe.Pass {
			bestRate = max(bestRate, rate)
		}
		if probed != nil {
			probed(rate, probe)
		}
		return probe, nil
	})
	best.Summary.Capacity = &capacity
	return best, err
}

// probe plays a trial at a rate and judges it. A target that piles up work fails,
// whatever the percentiles of what did end.
func (t *Trial) probe(ctx context.Context, rate float64, seed uint64, limit objective.Objective) (Outcome, record.Probe, error) {
	o, err := t.unlimited(ctx, rate, seed)
	if err != nil {
		return o, record.Probe{}, err
	}
	_, reasons := limit.Judge(&o.Summary)
	if g := o.Backlog; g.Grows {
		reasons = append(reasons, fmt.Sprintf("the backlog grows by %.3g operations per second [%.3g, %.3g]", g.Slope, g.Low, g.High))
	}
	return o, record.Probe{
		Rate: rate, Achieved: o.Summary.AchievedRate, Pass: len(reasons) == 0, Reasons: reasons, ResponseTime: o.Summary.ResponseTime,
	}, nil
}

// unlimited plays a trial until the client is not the limit.
func (t *Trial) unlimited(ctx context.Context, rate float64, seed uint64) (Outcome, error) {
	var o Outcome
	for range attempts {
		at, err := t.at(rate, seed)
		if err != nil {
			return o, err
		}
		if o, err = at.Play(ctx, nil); err != nil || !o.Summary.Generator.Limited {
			return o, err
		}
	}
	return o, &ClientLimitError{rate, o.Summary.Generator.LimitedBy}
}

package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/search"
)

// attempts is the highest number of times that a trial is played if the client was its limit, because a
// busy host may become free.
const attempts = 5

// ClientLimitError ends a search: the client was the limit in all trials at a rate, so they say nothing
// about the target.
type ClientLimitError struct {
	Rate float64 // flows per second
	By   []string
}

// Error returns the rate and the limit of the client.
func (c *ClientLimitError) Error() string {
	return fmt.Sprintf("at %.6g/s the client, not the system, was the limit, %d times: %s", c.Rate, attempts,
		strings.Join(c.By, "; "))
}

// CapacitySearch holds the settings of a search for the capacity; see Trial.Search.
type CapacitySearch struct {
	Objective objective.Objective
	// Resolution is the ratio of the lowest rate that failed to the highest that passed at which the search
	// ends; zero: 1.03.
	Resolution float64
	// Votes is the number of trials that decide near the capacity; zero: 3, see package search.
	Votes int
	// Hooks are those of every trial, unless Play is set.
	Hooks Hooks
	// Confirm asks for a longer trial at the capacity. If that trial fails, the search goes down. Single
	// trials that decide about a rate are shorter then.
	Confirm bool
	// Play plays one trial of a load, with arrivals of its own seed. nil: the trial is played in this
	// process, and ends when the objective can no longer be met.
	Play func(ctx context.Context, load scenario.Load, seed uint64) (Outcome, error)
	// Host is observed during every trial; nil: it is not. A trial that fails while more than MaxSteal of
	// the processors are withheld is played again. A trial that passes counts, because withheld processors
	// only make times longer.
	Host     lab.Host
	MaxSteal float64
	// Settle is called after every trial; nil: it is not. It waits until the target has finished its work
	// and returns the time from the last answer until then. A trial fails if that time is longer than the
	// objective permits any operation.
	Settle func(ctx context.Context) (time.Duration, error)
	// Probed is called after every trial; nil: it is not.
	Probed func(probe record.Probe)
}

// Search finds the highest open rate that meets the objective, beginning at the trial's own rate. It
// returns the outcome of the last trial at the capacity, or of the lowest rate if none passed. The
// summary contains the capacity.
func (t *Trial) Search(ctx context.Context, c CapacitySearch) (Outcome, error) {
	if t.spec.Load.Rate == "" {
		return Outcome{}, fmt.Errorf("a search needs a constant or poisson rate to begin with, not %s",
			t.model.text)
	}
	written := c.Objective.String()
	c.Objective = c.Objective.WithDefaults()
	if c.Play == nil {
		c.Play = t.playHere(c)
	}
	best := Outcome{}
	bestRate := 0.0
	seed := t.spec.Scenario.Seed
	// prober returns a prober whose trials last a share of the load's duration. keep gets every outcome.
	prober := func(share float64, keep func(Outcome, *record.Probe)) search.Prober {
		return func(ctx context.Context, rate float64) (record.Probe, error) {
			seed++ // each trial has other arrivals
			load := AtRate(t.spec.Load, rate)
			load.Duration = scenario.Duration(share * float64(t.model.duration))
			outcome, probe, err := c.probe(ctx, load, rate, seed)
			if err != nil {
				return probe, err
			}
			keep(outcome, &probe)
			if c.Probed != nil {
				c.Probed(probe)
			}
			return probe, nil
		}
	}
	options := search.Options{Start: t.model.peak, Objective: written, Max: t.maxRate(),
		Resolution: c.Resolution, Votes: c.Votes}
	if c.Confirm && search.ShortShare*t.model.duration.Seconds() >= shortest.Seconds() {
		options.Short = prober(search.ShortShare, func(outcome Outcome, probe *record.Probe) {
			probe.Short = true
			if best.Results == nil { // keep it in case no better one comes
				best = outcome
			}
		})
	}
	if c.Confirm {
		options.Confirm = prober(search.Longer, func(outcome Outcome, probe *record.Probe) {
			best = outcome
			probe.Confirms = true // the last longer trial is shown
		})
	}
	capacity, err := search.Run(ctx, options, prober(1, func(outcome Outcome, probe *record.Probe) {
		isBest := probe.Pass && probe.Rate >= bestRate
		if isBest || bestRate == 0 { // as long as none passes, the last that failed
			best = outcome
		}
		if probe.Pass {
			bestRate = max(bestRate, probe.Rate)
		}
	}))
	best.Summary.Capacity = &capacity
	return best, err
}

// playHere returns a Play that plays the trial of a search in this process.
func (t *Trial) playHere(c CapacitySearch) func(context.Context, scenario.Load, uint64) (Outcome, error) {
	return func(ctx context.Context, load scenario.Load, seed uint64) (Outcome, error) {
		at, err := t.withLoad(load, seed)
		if err != nil {
			return Outcome{}, err
		}
		return at.playUntilLost(ctx, c.Hooks, c.Objective)
	}
}

// shortest is the length of the shortest trial.
const shortest = time.Second

// playUntilLost plays the load until its end, or until the objective can no longer be met.
func (t *Trial) playUntilLost(ctx context.Context, hooks Hooks, limit objective.Objective) (Outcome, error) {
	watch := t.newLossWatch(limit)
	second := hooks.Second
	enough := new(atomic.Bool)
	hooks.Enough = enough
	hooks.Second = func(s Second) error {
		reasons, err := watch.add(s)
		if err == nil && len(reasons) > 0 {
			enough.Store(true)
		}
		if err != nil || second == nil {
			return err
		}
		return second(s)
	}
	return t.Play(ctx, hooks)
}

// probe plays a trial at a rate and judges it. A target whose backlog grows fails, regardless of the
// percentiles of the operations that did end.
func (c *CapacitySearch) probe(
	ctx context.Context, load scenario.Load, rate float64, seed uint64,
) (Outcome, record.Probe, error) {
	var o Outcome
	var reasons []string
	var disturbed string
	for range maxDisturbed {
		steal, err := c.measureSteal()
		if err != nil {
			return o, record.Probe{}, err
		}
		var settled time.Duration
		if o, settled, err = c.playConclusive(ctx, load, rate, seed); err != nil {
			return o, record.Probe{}, err
		}
		reasons = c.missed(&o, settled)
		disturbed = ""
		share := steal()
		if share <= c.MaxSteal || len(reasons) == 0 {
			break
		}
		disturbed = fmt.Sprintf("the hypervisor withheld %.1f %% of the processors, the gate is %.1f %%",
			100*share, 100*c.MaxSteal)
	}
	return o, record.Probe{
		Rate: rate, Achieved: o.Summary.AchievedRate, Pass: len(reasons) == 0, Reasons: reasons,
		Disturbed: disturbed, ResponseTime: o.Summary.ResponseTime,
	}, nil
}

// maxDisturbed is the highest number of times that a trial is played if the host disturbs it every time.
const maxDisturbed = 3

// measureSteal begins to observe the host. The returned function ends that and returns the share of the
// processors that was withheld.
func (c *CapacitySearch) measureSteal() (steal func() float64, err error) {
	if c.Host == nil {
		return func() float64 { return 0 }, nil
	}
	observation, err := c.Host.Observe()
	if err != nil {
		return nil, fmt.Errorf("observe the host: %w", err)
	}
	observation.Open()
	return func() float64 {
		observation.Close()
		return observation.End(0).StealShare
	}, nil
}

// threeDigits formats a number with three digits, or as a whole number from 1000 on.
func threeDigits(x float64) string {
	if math.Abs(x) >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// missed returns the reasons why a trial fails: the conditions of the objective that it missed, a growing
// backlog, and work that went on for too long after the last answer.
func (c *CapacitySearch) missed(o *Outcome, settled time.Duration) []string {
	_, reasons := c.Objective.Judge(&o.Summary)
	if g := o.Backlog; g.Grows {
		reasons = append(reasons, fmt.Sprintf("the backlog grows by %s flows per second [%s, %s]",
			threeDigits(g.Slope), threeDigits(g.Low), threeDigits(g.High)))
	}
	if limit := c.Objective.LongestTime(longestSettle); settled > limit {
		reasons = append(reasons, fmt.Sprintf("the work was done %v after the last answer, and no operation may "+
			"take longer than %v", settled.Round(time.Millisecond), limit))
	}
	return reasons
}

// longestSettle is the longest time that a target may work after its last answer if the objective limits
// no time.
const longestSettle = time.Second

// playConclusive plays a trial until it decides whether the rate passes: the client was not the limit, or
// could not have changed the verdict. settled is the time that the target worked after its last answer.
func (c *CapacitySearch) playConclusive(
	ctx context.Context, load scenario.Load, rate float64, seed uint64,
) (o Outcome, settled time.Duration, err error) {
	for range attempts {
		if o, err = c.Play(ctx, load, seed); err != nil {
			return o, 0, err
		}
		if c.Settle != nil {
			if settled, err = c.Settle(ctx); err != nil {
				return o, 0, err
			}
		}
		g := &o.Summary.Generator
		if !g.Limited {
			return o, settled, nil
		}
		if !c.mayHaveChanged(&o, settled) {
			o.Summary.Notes = append(o.Summary.Notes,
				"the client, though this could not change the verdict on the rate: "+strings.Join(g.LimitedBy, "; "))
			g.Limited = false
			g.LimitedBy = nil
			return o, settled, nil
		}
	}
	return o, 0, &ClientLimitError{rate, o.Summary.Generator.LimitedBy}
}

// harmless is the lateness of a client that cannot make a trial fail, as a share of the tightest time of
// the objective.
const harmless = 0.05

// mayHaveChanged reports whether a client at its limit may have changed the verdict of a trial. A client
// that sends late makes response times longer, since they run from the time at which an operation was
// due. So the verdict of a trial that passed stands. That of a trial that failed stands if its times would
// be too long even without the longest delay of the client, or if the client sent 99 % of the operations
// with a harmless delay. This is not true for conditions on service times or late operations, nor for a
// client that lacked processors or files.
func (c *CapacitySearch) mayHaveChanged(o *Outcome, settled time.Duration) bool {
	s := o.Summary
	dependsOnSends := slices.ContainsFunc(c.Objective.Terms,
		func(t objective.Term) bool { return strings.HasPrefix(t.Metric, "service.") || t.Metric == "late" })
	if !s.Generator.OnlyLate() || dependsOnSends || s.SendLateness.Max == nil {
		return true
	}
	if len(c.missed(o, settled)) == 0 {
		return false
	}
	if late := s.SendLateness.P99; late != nil &&
		*late <= harmless*c.Objective.TightestTime(longestSettle).Seconds() {
		return false
	}
	return !c.Objective.SlowWithout(&s, *s.SendLateness.Max)
}

package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cleave-lab/cleave/load/record"
)

// Prober plays a new trial at a rate, in operations per second, and returns whether it met the objective.
// An error ends the search; it is for trials that say nothing about the target.
type Prober func(ctx context.Context, rate float64) (record.Probe, error)

// Options of a search. Rates are in operations per second.
type Options struct {
	Start float64 // expected to pass; the search goes down if it does not
	Max   float64 // highest rate of the search; zero: maxRate
	// Resolution is the ratio of the bracket's ends at which the search stops; zero: 1.03.
	Resolution float64
	// Votes is the number of trials whose majority decides about a rate once the bracket is narrow; zero: 3.
	// With 1 the capacity is not confirmed by trials a little below and above it.
	Votes int
	// Short plays a trial of ShortShare of the length where one trial decides: in a wide bracket, and a
	// little below and above the capacity. nil: all trials have the full length.
	Short Prober
	// Confirm plays a longer trial at the capacity; nil: there is none. If that trial fails, the search goes
	// down until one passes.
	Confirm Prober
	// Objective is the text of the objective, for the result.
	Objective string
}

// FinestResolution and CoarsestResolution bound the resolution of a search.
const FinestResolution, CoarsestResolution = 1.002, 2.0

// maxRate is the highest rate of a search without another limit.
const maxRate = 10_000_000

const (
	maxProbes       = 100  // a search that needs more does not converge
	votes           = 3    // the default of Options.Votes
	usualResolution = 1.03 // the default of Options.Resolution

	// nearBy is the ratio of the bracket's ends below which a single trial no longer decides about a rate.
	nearBy = 1.2

	// Factors of the rates a little below and above the capacity that confirm it.
	below, above = 0.95, 1.10

	// roundedOff bounds the relative error of the rounding by tidy.
	roundedOff = 0.001
)

// Lengths of a short trial and of one that confirms the capacity, relative to a full one.
const (
	ShortShare = 0.25
	Longer     = 3
)

// Loads returns the approximate length of a search that begins within a factor of two of the capacity, in
// full trials: 10 at the resolution of 1.03, 12 at 1.01. With one vote all trials have the full length,
// and nothing is confirmed.
func (o Options) Loads() float64 {
	resolution := cmp.Or(o.Resolution, usualResolution)
	deciding := cmp.Or(o.Votes, votes)
	halvings := func(from, to float64) float64 { return max(0, math.Log2(math.Log(from)/math.Log(to))) }
	wide := 2 + halvings(2, max(nearBy, resolution))
	near := halvings(nearBy, resolution)
	if deciding == 1 {
		return wide + near
	}
	majority := float64(deciding/2 + 1) // trials at a rate that fails; a rate that passes at once needs no more
	return ShortShare*(wide+float64(deciding)+majority) + near*(1+majority)/2 + Longer
}

// check fills in the defaults and returns an error for options that are not valid.
func (o Options) check() (Options, error) {
	o.Max = cmp.Or(o.Max, maxRate)
	o.Resolution = cmp.Or(o.Resolution, usualResolution)
	o.Votes = cmp.Or(o.Votes, votes)
	isRange := 0 < o.Start && o.Start <= o.Max // NaN is in none
	switch {
	case !isRange || math.IsInf(o.Max, 0):
		return o, fmt.Errorf("search from %g up to %g operations per second: use rates above zero, in order",
			o.Start, o.Max)
	case !(o.Resolution >= FinestResolution && o.Resolution <= CoarsestResolution):
		return o, fmt.Errorf("search to a ratio of %g: use between %g and %g", o.Resolution, FinestResolution,
			CoarsestResolution)
	case o.Votes < 1 || o.Votes%2 == 0:
		return o, fmt.Errorf("search with %d votes: use an odd number of them", o.Votes)
	}
	return o, nil
}

// errTooMany is the error of a search that does not converge.
var errTooMany = errors.New("too many probes")

// search is a search in progress.
type search struct {
	Options
	ctx   context.Context
	probe Prober
	grid  grid
	all   []record.Probe
	low   float64 // the highest rate that passed, below high; zero: none yet
	high  float64 // the lowest rate above low that failed; infinite: none yet
}

// Run searches the capacity: it doubles the rate until it fails, bisects the logarithm of the rate until
// the bracket is narrow, and decides there by the majority of three trials. Then it confirms that 0.95 of
// the capacity passes in three of three trials and that 1.10 of it fails in two of three. If not, the
// capacity is marked as not monotone, and its reason contains the results by rate.
//
// The capacity is the lower end of the bracket: a rate that has passed. All probes are kept as the
// load-latency curve. After an error of the prober, or of the context, the capacity holds the probes so
// far.
func Run(ctx context.Context, o Options, probe Prober) (record.Capacity, error) {
	o, err := o.check()
	if err != nil {
		return record.Capacity{Objective: o.Objective}, err
	}
	if o.Short == nil {
		o.Short = probe
	}
	s := &search{Options: o, ctx: ctx, probe: probe, grid: make(grid), high: math.Inf(1)}
	err = s.bracket()
	for err == nil && !s.isDone() {
		err = s.narrow()
	}
	c := record.Capacity{Objective: o.Objective}
	if err == nil && o.Votes > 1 {
		c.Reason, err = s.confirm()
		c.Monotone = c.Reason == ""
	}
	if err == nil && o.Confirm != nil && s.low > 0 {
		var short string
		if short, err = s.confirmLonger(); short != "" {
			c.Reason = strings.TrimPrefix(c.Reason+"; "+short, "; ")
			c.Monotone = false
		}
	}
	if errors.Is(err, errTooMany) {
		c.Reason = fmt.Sprintf("gave up after %d probes: %s", len(s.all), s.grid)
		err = nil
	}
	c.Probes = s.all
	if s.low > 0 {
		c.Rate = &s.low
		c.Low = &s.low
	}
	if !s.noneFailed() {
		c.High = &s.high
	}
	if err == nil && c.Reason == "" {
		c.Reason = s.openEnd()
	}
	return c, err
}

// bracket finds a rate that passes below one that fails, by doubling and halving. At the limits of the
// search one of the two may be missing.
func (s *search) bracket() error {
	for rate := s.Start; ; {
		pass, err := s.tryOnce(rate)
		if err != nil {
			return err
		}
		s.moveEnd(rate, pass)
		switch {
		case s.low > 0 && !s.noneFailed():
			return nil
		case pass && rate >= s.Max, !pass && rate <= s.lowest():
			return nil
		case pass:
			rate = min(2*rate, s.Max)
		default:
			rate = max(rate/2, s.lowest())
		}
	}
}

// lowest returns the lowest rate of the search.
func (s *search) lowest() float64 { return s.Start / 1000 }

// noneFailed reports whether the bracket has no upper end yet.
func (s *search) noneFailed() bool { return math.IsInf(s.high, 1) }

// isNarrow reports whether the bracket has both ends, with at most the resolution between them.
func (s *search) isNarrow() bool { return s.high <= s.low*s.Resolution }

// moveEnd makes a rate an end of the bracket if that narrows the bracket.
func (s *search) moveEnd(rate float64, pass bool) {
	if pass {
		s.low = max(s.low, rate)
	} else {
		s.high = min(s.high, rate)
	}
}

// isDone reports whether the bracket is narrow, or open at a limit, and both ends are decided by
// majority.
func (s *search) isDone() bool {
	atMin := s.low == 0 && s.high <= s.lowest()
	atMax := s.noneFailed() && s.low >= s.Max
	if atMin || atMax || s.isNarrow() {
		return s.isDecided(s.low) && s.isDecided(s.high)
	}
	return false
}

// isDecided reports whether the majority at a rate is decided, or need not be because a longer trial follows.
// Nothing is to be decided about an end that is missing.
func (s *search) isDecided(rate float64) bool {
	if rate == 0 || math.IsInf(rate, 1) {
		return true
	}
	t := s.grid[rate]
	if s.Confirm != nil && t.failed == 0 {
		return t.passed > 0
	}
	return max(t.passed, t.failed) > s.Votes/2
}

// narrow makes one step: it tries the geometric mean of a wide bracket, or decides about the ends of a
// narrow one.
func (s *search) narrow() error {
	if s.low == 0 || s.noneFailed() || s.isNarrow() {
		return s.decideEnds()
	}
	rate := tidy(math.Sqrt(s.low * s.high))
	decide := s.tryOnce
	if s.high <= s.low*nearBy {
		decide = func(rate float64) (bool, error) { return s.decide(s.probe, rate) }
	}
	pass, err := decide(rate)
	if err == nil {
		s.moveEnd(rate, pass)
	}
	return err
}

// decideEnds decides about both ends of the bracket by majority. If that contradicts the single trial
// that made a rate an end, the bracket is determined anew from the grid.
func (s *search) decideEnds() error {
	for _, rate := range []float64{s.low, s.high} {
		if s.isDecided(rate) {
			continue
		}
		before := s.grid.passes(rate)
		pass, err := s.decide(s.probe, rate)
		if err != nil {
			return err
		}
		if pass != before {
			s.low, s.high = s.grid.around(rate, pass)
			return s.reopen()
		}
	}
	return nil
}

// reopen searches for the end that a contradicted decision has removed.
func (s *search) reopen() error {
	for {
		goesDown := s.low == 0 && s.high > s.lowest()
		goesUp := s.noneFailed() && s.low < s.Max
		if !goesDown && !goesUp {
			return nil
		}
		rate := max(s.high/2, s.lowest())
		if s.low > 0 {
			rate = min(2*s.low, s.Max)
		}
		pass, err := s.tryOnce(rate)
		if err != nil {
			return err
		}
		s.moveEnd(rate, pass)
	}
}

// tryOnce decides about a rate by earlier trials at it, or by one short trial if there are none.
func (s *search) tryOnce(rate float64) (bool, error) {
	if s.grid[rate] == (tally{}) {
		if err := s.play(s.Short, rate); err != nil {
			return false, err
		}
	}
	return s.grid.passes(rate), nil
}

// decide plays trials at a rate until the majority of the votes is known, including earlier trials, and
// returns it. If a longer trial will confirm the capacity, one trial that passes at once is enough.
func (s *search) decide(probe Prober, rate float64) (bool, error) {
	for !s.isDecided(rate) {
		if err := s.play(probe, rate); err != nil {
			return false, err
		}
	}
	return s.grid.passes(rate), nil
}

// play plays one trial and counts it in the grid.
func (s *search) play(probe Prober, rate float64) error {
	if len(s.all) >= maxProbes {
		return errTooMany
	}
	p, err := s.playTrial(probe, rate)
	if err == nil {
		s.grid.add(rate, p.Pass)
	}
	return err
}

// playTrial plays one trial and keeps its probe, without counting it in the grid.
func (s *search) playTrial(probe Prober, rate float64) (record.Probe, error) {
	if err := s.ctx.Err(); err != nil {
		return record.Probe{}, fmt.Errorf("search stopped after %d probes: %w", len(s.all), err)
	}
	p, err := probe(s.ctx, rate)
	if err != nil {
		return p, fmt.Errorf("probe %d of the search, at %g operations per second: %w", len(s.all)+1, rate, err)
	}
	p.Rate = rate
	s.all = append(s.all, p)
	return p, nil
}

// confirmLonger plays a longer trial at the capacity, because slow accumulation does not show in a
// shorter one. If it fails, the search goes down until one passes, and then searches between that rate
// and the last that failed. It returns the reason, or "".
func (s *search) confirmLonger() (string, error) {
	found := s.low
	step := math.Sqrt(s.Resolution)
	s.low = 0
	// The first two steps down are small; from then on each is twice as large on the logarithmic scale.
	for rate := found; rate >= s.lowest(); {
		p, err := s.playTrial(s.Confirm, rate)
		if err != nil {
			return "", err
		}
		if p.Pass {
			s.low = rate
			break
		}
		if s.high = rate; step > CoarsestResolution {
			break
		}
		first := rate == found
		if rate = tidy(rate / step); !first {
			step *= step
		}
	}
	if s.low == found {
		return "", nil
	}
	if s.low == 0 {
		return fmt.Sprintf("%g/s passed, but no longer load held, down to %g/s", found, s.high), nil
	}
	for resolution := math.Sqrt(s.Resolution) + roundedOff; s.high > s.low*resolution; {
		rate := tidy(math.Sqrt(s.low * s.high))
		p, err := s.playTrial(s.Confirm, rate)
		if err != nil {
			return "", err
		}
		s.moveEnd(rate, p.Pass)
	}
	return fmt.Sprintf("%g/s passed, but did not hold in a longer load; %g/s did", found, s.low), nil
}

// confirm tries rates a little below and above the capacity. It returns what is wrong with the capacity,
// or "".
func (s *search) confirm() (string, error) {
	if s.low == 0 {
		return "", nil
	}
	if rate := max(tidy(below*s.low), s.lowest()); rate < s.low {
		for s.grid[rate].failed == 0 && s.grid[rate].passed < s.Votes {
			if err := s.play(s.Short, rate); err != nil {
				return "", err
			}
		}
		if s.grid[rate].failed > 0 {
			return s.notMonotone(rate), nil
		}
	}
	if !s.noneFailed() {
		rate := min(max(tidy(above*s.low), s.high), s.Max)
		pass, err := s.decide(s.Short, rate)
		if err != nil {
			return "", err
		}
		if pass {
			return s.notMonotone(rate), nil
		}
	}
	return "", nil
}

// notMonotone returns the reason for a capacity that the result at a rate contradicts.
func (s *search) notMonotone(rate float64) string {
	t := s.grid[rate]
	return fmt.Sprintf("not monotone: %g/s passed %d of %d times, the capacity would be %g/s; all rates: %s",
		rate, t.passed, t.passed+t.failed, s.low, s.grid)
}

// openEnd says which end of the bracket was not found, or returns "".
func (s *search) openEnd() string {
	switch {
	case s.low == 0:
		return fmt.Sprintf("no rate down to %g/s met the objective", s.lowest())
	case s.noneFailed():
		return fmt.Sprintf("the highest permitted rate, %g/s, met the objective: the capacity is at least that",
			s.low)
	}
	return ""
}

// tidy rounds a rate to four significant digits, for readability.
func tidy(rate float64) float64 {
	magnitude := math.Floor(math.Log10(rate))
	unit := math.Pow10(3 - int(magnitude))
	return math.Round(rate*unit) / unit
}

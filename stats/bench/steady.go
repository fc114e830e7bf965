package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// server is a simulated server. times returns, for one load, the function that gives the response time of an
// operation in seconds, from its number and the second at which it is due.
type server struct {
	name  string
	times func(r *rand.Rand, l load) func(number int, at float64) float64
}

// load is the load of a simulated server.
type load struct {
	rate    float64 // operations per second
	seconds float64 // duration
	base    float64 // usual response time, in seconds
	poisson bool    // Poisson arrivals, else a constant rate
	users   bool    // a closed loop of as many users as give about the rate, else an open loop
}

// independent returns a server whose operations do not wait for each other: factor returns the response time
// of an operation as a multiple of the usual one; share is the part of the load that has passed.
func independent(name string, factor func(r *rand.Rand, number int, share float64) float64) server {
	return server{name, func(r *rand.Rand, l load) func(int, float64) float64 {
		return func(number int, at float64) float64 { return l.base * factor(r, number, at/l.seconds) }
	}}
}

// noise returns a log-normal factor with a deviation of 10 percent.
func noise(r *rand.Rand) float64 { return math.Exp(0.1 * r.NormFloat64()) }

// steadyServers returns servers that do not change within a load.
func steadyServers() []server {
	return []server{
		independent("constant", func(*rand.Rand, int, float64) float64 { return 1 }),
		independent("log-normal", func(r *rand.Rand, _ int, _ float64) float64 { return noise(r) }),
		independent("every 50th takes 4 times as long", func(r *rand.Rand, number int, _ float64) float64 {
			return noise(r) * []float64{1, 4}[(number%50)/49]
		}),
		independent("2 % take 4 times as long", func(r *rand.Rand, _ int, _ float64) float64 {
			if r.Float64() < 0.02 {
				return 4 * noise(r)
			}
			return noise(r)
		}),
		independent("exponential", func(r *rand.Rand, _ int, _ float64) float64 {
			return max(0.01, r.ExpFloat64())
		}),
	}
}

// halfUsed returns a server with a queue (M/M/1) and a utilisation of one half: its response times depend on
// each other.
func halfUsed() server {
	return server{"queue, half used", func(r *rand.Rand, l load) func(int, float64) float64 {
		free := 0.0
		return func(_ int, at float64) float64 {
			free = max(free, at) + 0.5/l.rate*r.ExpFloat64()
			return free - at
		}
	}}
}

// unsteadyServers returns servers that change within a load.
func unsteadyServers() []server {
	return []server{
		independent("drift of 20 %", func(r *rand.Rand, _ int, share float64) float64 {
			return noise(r) * (1 + 0.2*share)
		}),
		independent("leak, from 6 to 13 ms", func(r *rand.Rand, _ int, share float64) float64 {
			return noise(r) * (6 + 7*share) / 6
		}),
		independent("warm-up, 3 times as slow in the first fifth",
			func(r *rand.Rand, _ int, share float64) float64 {
				if share < 0.2 {
					return 3 * noise(r)
				}
				return noise(r)
			}),
		{"pauses of 200 ms every 3 s", func(r *rand.Rand, l load) func(int, float64) float64 {
			const every, pause = 3, 0.2
			phase := every * r.Float64()
			return func(_ int, at float64) float64 {
				return noise(r)*l.base + max(0, pause-math.Mod(at+phase, every))
			}
		}},
	}
}

// play simulates one load of a server and returns its cohorts, as a recorder counts them.
func (l load) play(r *rand.Rand, s server) lab.Cohorts {
	answer := s.times(r, l)
	var counts [lab.CohortsOfLoad][lab.TimeBuckets]int64
	out := lab.Cohorts{Seconds: l.seconds / lab.CohortsOfLoad, All: make([]lab.Cohort, lab.CohortsOfLoad)}
	number := 0
	ask := func(at float64) float64 {
		took := answer(number, at)
		number++
		i := min(int(at/out.Seconds), lab.CohortsOfLoad-1)
		counts[i][lab.TimeBucket(lab.Seconds(took))]++
		out.All[i].OK++
		return took
	}
	if l.users {
		due := make([]float64, max(1, int(l.rate*l.base)))
		for i := 0; due[i] < l.seconds; i = slices.Index(due, slices.Min(due)) {
			due[i] += ask(due[i])
		}
	} else {
		for at := 0.0; at < l.seconds; {
			ask(at)
			if l.poisson {
				at += r.ExpFloat64() / l.rate
			} else {
				at = float64(number) / l.rate
			}
		}
	}
	for i := range counts {
		for bucket, n := range counts[i] {
			if n > 0 {
				c := &out.All[i]
				c.Buckets = append(c.Buckets, bucket)
				c.Counts = append(c.Counts, n)
			}
		}
	}
	return out
}

// steadyBlocks is the number of trials of a variant at a point in these simulations.
const steadyBlocks = 4

// calledUnsteady plays the trials of a variant and reports whether it is called unsteady in any of three
// quantities, as the analysis of a study with two variants at one point does.
func calledUnsteady(r *rand.Rand, l load, s server, blocks int) bool {
	var loads []lab.Cohorts
	for range blocks {
		loads = append(loads, l.play(r, s))
	}
	quantities := []string{stats.FollowMedian, stats.FollowTail, stats.FollowRate}
	strict := 1 - alpha/float64(2*len(quantities))
	return slices.ContainsFunc(quantities, func(quantity string) bool {
		f := stats.Follow(loads, quantity, margin)
		return f.Changes() || f.HalvesDiffer(margin, strict)
	})
}

// steadiness returns how often servers are called unsteady: steady ones over all rates, durations and
// response times, and unsteady ones at each rate and duration. These have no goal, since some loads have too
// few operations to show the change.
func steadiness(experiments int, seed uint64) ([]figures.Figure, error) {
	var l list
	for _, s := range append(steadyServers(), halfUsed()) {
		var called []float64
		for _, one := range loads([]float64{10, 100, 1000}, []float64{2, 5, 10}, s.name == halfUsed().name) {
			called = append(called, verdicts(one, s, steadyBlocks, experiments, seed)...)
		}
		l.add("steadiness, "+s.name+": wrongly unsteady", lab.LowerIsBetter, called,
			figures.Goal{Must: 0.01, Stretch: 0.005})
	}
	for _, s := range unsteadyServers() {
		for _, lasts := range []float64{2, 5, 10} {
			for _, rate := range []float64{10, 100, 1000} {
				one := load{rate: rate, seconds: lasts, base: 0.006}
				l.add(fmt.Sprintf("steadiness, %s, %g/s for %g s: found", s.name, rate, lasts),
					lab.HigherIsBetter, verdicts(one, s, steadyBlocks, experiments, seed), figures.Goal{})
			}
		}
	}
	return l.all, l.err
}

// loads returns the loads on which steady servers are tested: all combinations of rate, duration, response
// time and kind of load. A queue makes its own response times, and needs Poisson arrivals.
func loads(rates, durations []float64, queue bool) []load {
	var all []load
	for _, rate := range rates {
		for _, lasts := range durations {
			for _, base := range []float64{0.005, 0.06, 0.5} {
				for _, one := range []load{{poisson: true}, {}, {users: true}} {
					fitsQueue := one.poisson && base <= 0.005
					if queue && !fitsQueue {
						continue
					}
					one.rate = rate
					one.seconds = lasts
					one.base = base
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// verdicts plays a number of experiments and returns, for each, 1 if it was called unsteady, else 0.
func verdicts(l load, s server, blocks, experiments int, seed uint64) []float64 {
	called := make([]float64, experiments)
	_ = each(experiments, func(i int) error {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		if calledUnsteady(random, l, s, blocks) {
			called[i] = 1
		}
		return nil
	})
	return called
}

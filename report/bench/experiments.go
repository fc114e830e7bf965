//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// experiment plays servers of known truth and adds the results to a tally.
type experiment struct {
	name  string
	often int // how often it is played per round; 0: once
	play  func(ctx context.Context, p player, seed uint64, found *tally) error
}

// repeats returns how often an experiment is played. A quick run plays each experiment once per round.
func (e experiment) repeats(rounds int, quick bool) int {
	if quick {
		return rounds
	}
	return rounds * max(1, e.often)
}

// measure identifies the metric of a truth; see lab.FindMetric.
type measure struct {
	quantity string
	quantile float64
	per      string
}

func cpu() measure    { return measure{quantity: lab.CPU, per: lab.PerOperation} }
func median() measure { return measure{quantity: lab.ResponseTime, quantile: 0.5} }
func tail() measure   { return measure{quantity: lab.ResponseTime, quantile: 0.99} }

// in returns the name of the metric in an analysis, or "" if the analysis does not have it.
func (m measure) in(a lab.Analysis) string {
	metric, _ := lab.FindMetric(a.Metrics, m.quantity, m.quantile, m.per)
	return metric.Name
}

// truth is the true ratio of a server to the first server of its comparison. The ratio of response times is
// known only as a range from low to high, since the network and timers add to them; see overhead.
type truth struct {
	server    string
	of        measure
	low, high float64
}

// exactly returns a truth that is known exactly.
func exactly(server string, of measure, ratio float64) truth { return truth{server, of, ratio, ratio} }

// overhead is the most that the network and timers add to the time that a server takes for an answer.
const overhead = 1100 * time.Microsecond

// times returns the truth about a ratio of response times, from the times that the two servers take. One end
// of its range is the ratio without any overhead, the other one that with the whole overhead in both times.
func times(server string, of measure, numerator, denominator time.Duration) truth {
	a := float64(numerator) / float64(denominator)
	b := float64(numerator+overhead) / float64(denominator+overhead)
	return truth{server, of, math.Min(a, b), math.Max(a, b)}
}

// slowAnswers begins the flags of a server that answers one request in twenty slowly. The time of a slow
// answer is to be appended.
const slowAnswers = "-sleep 20ms -slow-every 20 -slow "

// experiments returns all experiments in the order in which they are played.
func experiments() []experiment {
	const ms = time.Millisecond
	return []experiment{
		{name: "cpu", play: comparison{
			servers: []namedServer{{"a", "-cpu 500us"}, {"b", "-cpu 550us"}, {"c", "-cpu 650us"},
				{"d", "-cpu 1ms"}},
			truths: []truth{exactly("b", cpu(), 1.1), exactly("c", cpu(), 1.3), exactly("d", cpu(), 2)},
			blocks: 4, lasts: 3 * time.Second,
		}.play},
		{name: "time", play: comparison{
			servers: []namedServer{{"a", "-sleep 20ms"}, {"b", "-sleep 22ms"}, {"c", "-sleep 26ms"},
				{"d", "-sleep 40ms"}},
			truths: []truth{times("b", median(), 22*ms, 20*ms), times("c", median(), 26*ms, 20*ms),
				times("d", median(), 40*ms, 20*ms)},
			blocks: 4, lasts: 3 * time.Second,
		}.play},
		{name: "tail", play: comparison{
			servers: []namedServer{{"a", slowAnswers + "60ms"}, {"b", slowAnswers + "66ms"},
				{"c", slowAnswers + "78ms"}, {"d", slowAnswers + "120ms"}},
			truths: []truth{times("b", tail(), 66*ms, 60*ms), times("c", tail(), 78*ms, 60*ms),
				times("d", tail(), 120*ms, 60*ms), exactly("b", median(), 1), exactly("c", median(), 1),
				exactly("d", median(), 1)},
			blocks: 4, lasts: 3 * time.Second,
		}.play},
		{name: "drift", play: comparison{
			servers: []namedServer{{"a", "-sleep 20ms"}, {"b", "-sleep 20ms -rise 0.5 -rising 6s"}},
			drifts:  "b", blocks: 3, lasts: 6 * time.Second, flags: []string{"--lengthen", "1"},
		}.play},
		{name: "equal", often: 10, play: comparison{
			servers: []namedServer{{"a", "-sleep 20ms"}, {"b", "-sleep 20ms"}, {"c", "-sleep 20ms"},
				{"d", "-sleep 20ms"}, {"e", "-sleep 20ms"}},
			equal: true, blocks: 3, lasts: 2 * time.Second,
		}.play},
		{name: "errors", play: playErrors},
		{name: "capacity", play: playCapacities},
		{name: "services", play: playServices},
		{name: "bottleneck", play: playBottleneck},
		{name: "tracing", play: playTracing},
		{name: "spans", play: playSpans},
	}
}

// namedServer is a server of a comparison, with the flags of `bench serve` that make it.
type namedServer struct{ name, flags string }

// comparison is an experiment in which `cleave compare` compares servers at 100 requests per second.
type comparison struct {
	servers []namedServer
	truths  []truth
	drifts  string // the server that becomes slower within a trial; all others are steady
	equal   bool   // all servers are equal, so that every difference is a false alarm
	blocks  int
	lasts   time.Duration // duration of the load of a trial
	flags   []string      // more flags of `cleave compare`
}

// play implements experiment.play.
func (c comparison) play(ctx context.Context, p player, seed uint64, found *tally) error {
	arguments := []string{"compare"}
	for _, s := range c.servers {
		arguments = append(arguments, fmt.Sprintf("%s=%s serve -port {port} %s", s.name, p.server, s.flags))
	}
	arguments = append(append(arguments, "--rate", "100", "--warm-up", "500ms"), c.flags...)
	a, err := p.analyse(ctx, found, seed, c.lasts, c.blocks, 3, arguments...)
	if err != nil {
		return err
	}
	for _, t := range c.truths {
		found.addComparison(t, a)
	}
	if c.equal {
		found.addEqual(a)
	}
	found.addSteadiness(c.drifts, a)
	return nil
}

// playErrors loads a server every hundredth answer of which fails.
func playErrors(ctx context.Context, p player, seed uint64, found *tally) error {
	return p.serving(ctx, "-sleep 5ms -error-every 100", nil, func(url string) error {
		var got loaded
		err := p.run(ctx, &got, "load", url, "--rate", "200", "--duration", "5s", "--seed", fmt.Sprint(seed))
		if err == nil {
			found.addErrors(got)
		}
		return err
	})
}

// playCapacities searches for the capacities of two servers. Each serves one request after the other, all in
// the same time: above its capacity the queue grows without end, below it no request waits long.
func playCapacities(ctx context.Context, p player, seed uint64, found *tally) error {
	for _, capacity := range []float64{200, 400} {
		err := p.serving(ctx, fmt.Sprintf("-capacity %g", capacity), nil, func(url string) error {
			var got loaded
			err := p.run(ctx, &got, "load", url, "--search", "--objective", "p99<100ms",
				"--seed", fmt.Sprint(seed))
			if err == nil {
				found.addCapacity(capacity, got)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

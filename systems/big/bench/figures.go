package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// costs holds the costs of each contender, one per round, by contender.String().
type costs map[string][]cost

// measure is one of the two costs.
type measure string

const (
	cpu  measure = "CPU"
	wall measure = "wall"
)

// of returns this measure of a cost.
func (m measure) of(c cost) float64 {
	if m == cpu {
		return c.cpu
	}
	return c.elapsed
}

// values returns a measure of a contender per round, in seconds.
func (c costs) values(name string, m measure) []float64 { return figures.Each(c[name], m.of) }

// ratio is the ratio of the costs of two contenders, with its goals.
type ratio struct {
	name         string // of the figure, with measure and size
	above, below string // contender and size
	measure      measure
	goal         figures.Goal
}

// ratios lists the ratios. best is the architecture with a process per worker that takes the least CPU time.
func ratios(best string) []ratio {
	var all []ratio
	add := func(name, above, below string, s size, m measure, must, stretch float64) {
		all = append(all, ratio{
			fmt.Sprintf("%s, %s, %s", name, m, s), named(above, s), named(below, s), m,
			figures.Goal{Must: must, Stretch: stretch},
		})
	}
	for _, s := range []size{small(), large()} {
		for _, m := range []measure{cpu, wall} {
			add("threads-fast / threads", threadsFast, threads, s, m, 1.0/4, 1.0/8)
			add("threads-fast / tokio mpsc", threadsFast, tokio, s, m, 1.0/2, 1.0/4)
		}
	}
	add("http-lean / http keep-alive", httpLean, httpKeep, small(), cpu, 1.0/4, 1.0/8)
	add("uds-persistent binary / uds", udsBinary, uds, small(), cpu, 1.0/8, 1.0/16)
	for _, s := range []size{small(), large()} {
		add("best process per worker / uds", best, uds, s, cpu, 1.0/30, 1.0/60)
		add("best process per worker / threads", best, threads, s, cpu, 8, 3.5)
	}
	return append(all, ratio{
		fmt.Sprintf("best process per worker, %s / %s, %s", large(), small(), cpu),
		named(best, large()), named(best, small()), cpu, figures.Goal{Must: 2, Stretch: 1.2},
	})
}

// named returns the key of a contender among costs.
func named(name string, s size) string { return contender{name: name, size: s}.String() }

// derive returns the absolute figures, followed by the ratios of contenders that ran.
func derive(c costs) ([]figures.Figure, error) {
	var all []figures.Figure
	for _, who := range contenders() {
		for _, m := range []measure{cpu, wall} {
			if values := c.values(who.String(), m); len(values) > 0 {
				all = append(all, figures.Median(fmt.Sprintf("%s, %s per round trip", who, m), "s", lab.LowerIsBetter,
					values))
			}
		}
	}
	for _, r := range ratios(cheapest(c)) {
		above := c.values(r.above, r.measure)
		below := c.values(r.below, r.measure)
		if len(above) == 0 || len(below) == 0 {
			continue
		}
		f, err := r.figure(above, below)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// cheapest returns the architecture with a process per worker that takes the least CPU time per round trip,
// by the sum of its medians over both sizes. One that did not run with both comes last. The candidates are
// the variants of shm: of the others, only the baseline uds runs with both sizes.
func cheapest(c costs) string {
	total := func(name string) float64 {
		sum := 0.0
		for _, s := range []size{small(), large()} {
			values := c.values(named(name, s), cpu)
			if len(values) == 0 {
				return math.Inf(1)
			}
			sum += stats.Median(values)
		}
		return sum
	}
	return slices.MinFunc([]string{shmGang, shm},
		func(a, b string) int { return cmp.Compare(total(a), total(b)) })
}

// figure returns the ratio by rounds. Its note names numerator and denominator with their costs.
func (r ratio) figure(above, below []float64) (figures.Figure, error) {
	found, err := figures.Ratio(r.name, lab.LowerIsBetter, above, below)
	if err != nil {
		return figures.Figure{}, err
	}
	median := func(values []float64) string { return figure.Amount(stats.Median(values), "s") }
	found.Note = fmt.Sprintf("%s %s over %s %s", r.above, median(above), r.below, median(below))
	return found.To(r.goal), nil
}

package main

import (
	"math"
	"math/rand/v2"

	"github.com/cleave-lab/cleave/stats"
)

// scene describes the disturbances of an experiment. walk, drift and step are on the log scale: 0.1 is about
// 10 percent.
type scene struct {
	name string
	// unequal is the largest factor between the deviation of a variant and the median one, either way. The
	// factors are uniform on the log scale. Below 1 counts as 1.
	unequal float64
	// noisy multiplies the deviation of the baseline alone. Below 1 counts as 1.
	noisy float64
	// walk is the standard deviation of the host's random walk over one block, drift its trend
	// over mostBlocks, step a jump at a random trial.
	walk, drift, step float64
	// outliers is the share of trials that are slowed, by 15 percent on average.
	outliers float64
}

// scenes returns the disturbances, one by one and together.
func scenes() []scene {
	return []scene{
		{name: "quiet"},
		{name: "drift", walk: 0.1, drift: 0.2},
		{name: "steps", step: 0.08},
		{name: "outliers", outliers: 0.05},
		{name: "unequal noise", unequal: 2},
		together(),
	}
}

// together returns a scene with all disturbances at once. Its walk is chosen so that with three blocks a
// paired t test finds about 15, 32 and 79 percent of differences of 1.06, 1.10 and 1.30, as in the simulation
// on which the design is based.
func together() scene {
	return scene{name: "all at once", unequal: 2, walk: 0.06, drift: 0.1, step: 0.08, outliers: 0.05}
}

// noisyBaseline returns the worst case for pooling the noise: all variants are compared with the one that
// scatters three times as much as the others.
func noisyBaseline() scene { return scene{name: "baseline 3x as noisy", noisy: 3} }

const (
	// deviation is the median standard deviation of the log of a trial.
	deviation = 0.035
	// outlier is the mean slowdown of a trial that is an outlier, as a share.
	outlier = 0.15
)

// The columns of an experiment: a baseline, its twin, two variants that equal the baseline, and four that are
// slower by known factors.
const (
	baseline = iota
	twin
	same
	alsoSame
	slightly // by 1.06
	somewhat // by 1.10
	clearly  // by 1.30
	doubly   // by 2
	columns
)

// truths returns the ratios of the columns to the baseline.
func truths() [columns]float64 { return [columns]float64{1, 1, 1, 1, 1.06, 1.10, 1.30, 2} }

// play simulates mostBlocks randomised complete blocks in the scene.
func (s scene) play(r *rand.Rand) stats.Table {
	var spread [columns]float64
	for v := range spread {
		spread[v] = deviation * math.Pow(max(1, s.unequal), 2*r.Float64()-1)
	}
	spread[baseline] *= max(1, s.noisy)
	const trials = mostBlocks * columns
	host := 0.0
	jump := r.IntN(trials)
	trial := 0
	logs := make(stats.Table, mostBlocks)
	for b := range logs {
		logs[b] = make([]float64, columns)
		for _, v := range r.Perm(columns) {
			host += s.drift/trials + s.walk/math.Sqrt(columns)*r.NormFloat64()
			if trial++; trial == jump {
				host += s.step
			}
			logs[b][v] = math.Log(truths()[v]) + host + spread[v]*r.NormFloat64()
			if r.Float64() < s.outliers {
				logs[b][v] += math.Log1p(outlier * r.ExpFloat64())
			}
		}
	}
	return logs
}

// pick returns a table of the given columns.
func pick(t stats.Table, wanted ...int) stats.Table {
	picked := make(stats.Table, len(t))
	for b, row := range t {
		for _, v := range wanted {
			picked[b] = append(picked[b], row[v])
		}
	}
	return picked
}

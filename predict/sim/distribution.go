package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// form is the kind of a distribution.
type form uint8

const (
	constant form = iota
	exponential
	hyperexponential
	tabulated
)

// Dist is the distribution of a duration in seconds. The zero value is always 0.
type Dist struct {
	form form
	mean float64 // of the first branch of two
	more *shape
}

// shape holds what a distribution has beyond a mean. It is apart so that steps are small: those of
// thousands of programs have to fit into the caches.
type shape struct {
	probability float64 // of the first branch
	other       float64 // mean of the second branch
	table       *table
}

// Constant returns the distribution of a duration that is always the same.
func Constant(seconds float64) Dist { return Dist{form: constant, mean: seconds} }

// Exponential returns the exponential distribution with this mean.
func Exponential(mean float64) Dist { return Dist{form: exponential, mean: mean} }

// Hyperexponential returns a mixture of two exponential distributions: the first with this probability.
func Hyperexponential(probability, first, second float64) Dist {
	return Dist{form: hyperexponential, mean: first, more: &shape{probability: probability, other: second}}
}

// Quantile is a point of a distribution function: durations up to Seconds have probability P.
type Quantile struct{ P, Seconds float64 }

// Quantiles returns the distribution that runs through the points in straight lines. They must ascend in P,
// and must not fall in Seconds; below the first and above the last P the duration is that of the end.
func Quantiles(points []Quantile) (Dist, error) {
	if len(points) == 0 {
		return Dist{}, fmt.Errorf("a distribution needs at least one quantile")
	}
	for i, q := range points {
		if !isProbability(q.P) || !validSeconds(q.Seconds) {
			return Dist{}, fmt.Errorf("quantile %g = %g s: want a probability and a finite time from 0", q.P,
				q.Seconds)
		}
		if i == 0 {
			continue
		}
		if before := points[i-1]; q.P <= before.P || q.Seconds < before.Seconds {
			return Dist{}, fmt.Errorf("quantile %g = %g s: want it above the one before it (%g = %g s)",
				q.P, q.Seconds, before.P, before.Seconds)
		}
	}
	return Dist{form: tabulated, more: &shape{table: newTable(points)}}, nil
}

// Scaled returns the distribution of a duration that is longer by this factor.
func (d Dist) Scaled(factor float64) Dist {
	d.mean *= factor
	if d.more == nil {
		return d
	}
	more := *d.more
	more.other *= factor
	if more.table != nil {
		points := slices.Clone(more.table.points)
		for i := range points {
			points[i].Seconds *= factor
		}
		more.table = newTable(points)
	}
	d.more = &more
	return d
}

// Mean returns the mean in seconds.
func (d Dist) Mean() float64 {
	switch d.form {
	case hyperexponential:
		return d.more.probability*d.mean + (1-d.more.probability)*d.more.other
	case tabulated:
		return d.more.table.mean()
	}
	return d.mean
}

// check returns an error for parameters that are no duration.
func (d Dist) check() error {
	more := d.more
	if more == nil {
		more = &shape{}
	}
	if !validSeconds(d.mean) || !validSeconds(more.other) || !isProbability(more.probability) {
		return fmt.Errorf("a mean of %g s and %g s with probability %g: want finite times from 0 and a probability",
			d.mean, more.other, more.probability)
	}
	return nil
}

// isProbability reports whether a value, which may be NaN, is a probability.
func isProbability(v float64) bool { return v >= 0 && v <= 1 }

// validSeconds reports whether a value can be a duration, or another finite number from 0, such as a weight.
func validSeconds(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// draw returns a random duration.
func (d *Dist) draw(r *random) float64 {
	switch d.form {
	case exponential:
		return d.mean * r.exponential()
	case hyperexponential:
		mean := d.more.other
		if r.uniform() < d.more.probability {
			mean = d.mean
		}
		return mean * r.exponential()
	case tabulated:
		return d.more.table.at(r.uniform())
	}
	return d.mean
}

// guides counts the equal steps of probability for which a table has an index.
const guides = 256

// table is a distribution by its quantiles, from P 0 to 1, with an index that finds the line that a
// probability is on in a step or two (Devroye 1986, section III.2.4).
type table struct {
	points []Quantile
	guide  [guides]int32
}

// newTable completes the points to both ends and indexes them.
func newTable(points []Quantile) *table {
	t := &table{points: slices.Clone(points)}
	if first := points[0]; first.P > 0 {
		t.points = slices.Insert(t.points, 0, Quantile{0, first.Seconds})
	}
	if last := points[len(points)-1]; last.P < 1 {
		t.points = append(t.points, Quantile{1, last.Seconds})
	}
	line := 0
	for i := range t.guide {
		for t.points[line+1].P < float64(i)/guides {
			line++
		}
		t.guide[i] = int32(line)
	}
	return t
}

// at returns the quantile of a probability below 1.
func (t *table) at(p float64) float64 {
	i := t.guide[int(p*guides)]
	for t.points[i+1].P < p {
		i++
	}
	low, high := t.points[i], t.points[i+1]
	return low.Seconds + (high.Seconds-low.Seconds)*(p-low.P)/(high.P-low.P)
}

// mean returns the mean of the lines between the points.
func (t *table) mean() float64 {
	sum := 0.0
	for i, q := range t.points[1:] {
		sum += (q.P - t.points[i].P) * (q.Seconds + t.points[i].Seconds) / 2
	}
	return sum
}

// random is a stream of random numbers.
type random struct{ source rand.PCG }

// newRandom starts a stream of a seed; streams with other numbers are independent of it.
func newRandom(seed, stream uint64) random { return random{*rand.NewPCG(seed, stream)} }

// uniform draws from [0, 1).
func (r *random) uniform() float64 { return float64(r.source.Uint64()>>11) / (1 << 53) }

// exponential draws from the exponential distribution with mean 1, by inversion.
func (r *random) exponential() float64 { return -math.Log(1 - r.uniform()) }

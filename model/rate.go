package model

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Rated is a measured value at a rate. Measurements at nearly the same rate (see SameRate) are one Rated.
type Rated struct {
	Rate  float64 // operations per second: the lowest of their rates
	Value float64 // the mean of their values
}

// SameRate reports whether two rates are so close that they count as the same: the rates of trials with
// one planned rate differ a little.
func SameRate(a, b float64) bool { return math.Abs(math.Log(a/b)) <= 0.1 }

// SameLoad reports whether two measurements have the same load: nearly the same rate, or equally many
// users who never pause.
func (m Measurement) SameLoad(other Measurement) bool {
	if m.Users > 0 || other.Users > 0 {
		return m.Users == other.Users
	}
	return SameRate(m.Rate, other.Rate)
}

// RatedCPU returns the CPU seconds of an operation at each rate at which the system was measured in its
// present placement, in the order of the rates.
func (m Model) RatedCPU() []Rated {
	return m.rated(func(of Measurement) Distribution { return of.CPU })
}

// rated returns the mean of a CPU time, which cpu selects from a measurement, at each rate at which the
// system was measured in its present placement, in the order of the rates.
func (m Model) rated(cpu func(Measurement) Distribution) (all []Rated) {
	measured := slices.DeleteFunc(slices.Clone(m.Measured),
		func(m Measurement) bool { return m.Placement != "" || cpu(m).Mean == 0 || m.Users > 0 })
	slices.SortStableFunc(measured, func(a, b Measurement) int { return cmp.Compare(a.Rate, b.Rate) })
	same := 0.0 // number of measurements of the last rate
	for _, m := range measured {
		last := len(all) - 1
		if last < 0 || !SameRate(all[last].Rate, m.Rate) {
			all = append(all, Rated{m.Rate, cpu(m).Seconds()})
			same = 1
			continue
		}
		same++
		all[last].Value += (cpu(m).Seconds() - all[last].Value) / same
	}
	return all
}

// GeneratorAt returns the CPU seconds that the load generator takes for an operation at a rate, interpolated
// like those of the system (see Interpolated). It returns 0 if the generator did not share the host, or was
// not metered.
func (m Model) GeneratorAt(rate float64) float64 {
	measured := m.rated(func(of Measurement) Distribution { return of.Generator })
	if len(measured) == 0 {
		return 0
	}
	return Interpolated(rate, measured)
}

// GeneratorAtCapacity returns the CPU seconds that the load generator takes for an operation when users never
// pause, or at the highest measured rate if there is no such measurement; see AtCapacity.
func (m Model) GeneratorAtCapacity() float64 {
	closed := m.closedLoopMean(func(of Measurement) Distribution { return of.Generator })
	return cmp.Or(closed, m.GeneratorAt(math.MaxFloat64))
}

// closedLoopMean returns the mean of the CPU time that cpu selects, over the measurements in the present
// placement with users who never pause, in seconds; 0 if there are none.
func (m Model) closedLoopMean(cpu func(Measurement) Distribution) (mean float64) {
	trials := 0.0
	for _, one := range m.Measured {
		if one.Users > 0 && one.Placement == "" && cpu(one).Mean > 0 {
			trials++
			mean += (cpu(one).Seconds() - mean) / trials
		}
	}
	return mean
}

// AtRate returns the model with the CPU times that its calls take at a rate. measured holds the CPU seconds
// of an operation in the order of their rates, such as RatedCPU, and is interpolated: an idle host takes more
// CPU time for the same work, since it wakes up and finds its caches cold. With fewer than two rates, the CPU
// times stay as they are.
func (m Model) AtRate(rate float64, measured []Rated) Model {
	explained := m.CPU()
	if len(measured) < 2 || explained == 0 {
		return m
	}
	factor := Interpolated(rate, measured) / explained
	scale := func(d *Distribution) { d.Mean = time.Duration(math.Round(factor * float64(d.Mean))) }
	return m.Rewritten(func(c *Call) {
		scale(&c.CPU)
		scale(&c.Background)
		if c.Hop != nil {
			scale(&c.Hop.CPU)
		}
		for i := range c.Visits {
			scale(&c.Visits[i].CPU)
		}
	})
}

// AtCapacity returns the model with the CPU times on a host that is never idle: those that were measured with
// users who never pause, or at the highest measured rate if there is no such measurement. In the second case
// the CPU times stay as they are if fewer than two rates were measured.
func (m Model) AtCapacity() Model {
	busy := Rated{math.MaxFloat64, m.closedLoopMean(func(of Measurement) Distribution { return of.CPU })}
	if busy.Value > 0 {
		return m.AtRate(busy.Rate, []Rated{busy, busy}) // twice, as AtRate ignores a single value
	}
	return m.AtRate(busy.Rate, m.RatedCPU())
}

// Interpolated returns the value at a rate. Between two measured rates, which are in ascending order, it is
// linear in the logarithm of the rate; below the first and above the last it is constant.
func Interpolated(rate float64, measured []Rated) float64 {
	i := slices.IndexFunc(measured, func(of Rated) bool { return of.Rate >= rate })
	switch {
	case i < 0:
		return measured[len(measured)-1].Value
	case i == 0:
		return measured[0].Value
	}
	low, high := measured[i-1], measured[i]
	share := math.Log(rate/low.Rate) / math.Log(high.Rate/low.Rate)
	return low.Value + share*(high.Value-low.Value)
}

// Rewritten returns a copy of the model after change was applied to every call.
func (m Model) Rewritten(change func(*Call)) Model {
	var copied func(c Call) Call
	copied = func(c Call) Call {
		if c.Hop != nil {
			hop := *c.Hop
			c.Hop = &hop
		}
		c.Visits = slices.Clone(c.Visits)
		c.Calls = slices.Clone(c.Calls)
		change(&c)
		for i := range c.Calls {
			c.Calls[i] = copied(c.Calls[i])
		}
		return c
	}
	m.Operations = slices.Clone(m.Operations)
	for i := range m.Operations {
		m.Operations[i].Call = copied(m.Operations[i].Call)
	}
	return m
}

// CPU returns the mean CPU time of an operation of the mix, as the sum of its calls, in seconds.
func (m Model) CPU() (sum float64) {
	weights := m.Weights()
	for i := range m.Operations {
		o := &m.Operations[i]
		o.Call.Executions(func(c *Call, times float64) { sum += o.Weight / weights * times * c.cpu() })
	}
	return sum
}

package predict

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/stats"
)

// Hop is the cost of a call between two units where the model has none. Nil: nobody knows. Times are in
// seconds.
type Hop struct {
	CPU    float64 // of both sides
	Wait   float64 // on the way, beside the CPU time that the caller waits for
	Aside  float64 // the part of CPU that no caller waits for
	Busy   float64 // CPU of both sides at the capacity, where units never fall idle; 0: CPU
	Source string  // where the figures come from, for people

	samples []HopSample
}

// HopSample holds the cost of a call between two units in one trial, in seconds.
type HopSample struct {
	CPU     float64 // of both sides
	Elapsed float64 // until the caller goes on
}

// MeasuredHop returns the hop of the medians of some trials. If both sides use more CPU time than the caller
// waits, some of it is used aside: both work at once, or after the answer.
func MeasuredHop(samples []HopSample, source string) *Hop {
	var cpu, elapsed []float64
	for _, s := range samples {
		cpu, elapsed = append(cpu, s.CPU), append(elapsed, s.Elapsed)
	}
	c, e := max(0, stats.Median(cpu)), max(0, stats.Median(elapsed))
	return &Hop{CPU: c, Wait: max(0, e-c), Aside: max(0, c-e), Source: source, samples: samples}
}

// RehearsedHop returns what a call between units took in a rehearsal, by the differences between a variant
// and the baseline in each block, at the first point. If users who never pause were rehearsed, too, it is
// known for a busy host. in names the rehearsal.
func RehearsedHop(s lab.Study, variant string, trials []lab.Trial, in string) (*Hop, error) {
	more, err := moreCrossings(s, variant)
	if err != nil {
		return nil, err
	}
	samples := hopSamples(s, variant, s.Points[0], more, trials)
	hop := MeasuredHop(samples, fmt.Sprintf("rehearsed%s at %g/s, %d blocks", in,
		s.Points[0].Levels[lab.FactorRate], len(samples)))
	if hop.CPU == 0 {
		return nil, errors.New("it does not tell what a call between units takes: play a split with more calls, " +
			"on an idle host, in more blocks")
	}
	for _, p := range s.Points[1:] {
		if _, closed := p.Level(lab.FactorUsers); closed {
			hop.Busy = MeasuredHop(hopSamples(s, variant, p, more, trials), "").CPU
		}
	}
	return hop, nil
}

// hopSamples returns what a call between units took in each block of a rehearsal: the differences between a
// variant and the baseline in CPU time and in the median response time, by the number of calls that cross
// units in the variant alone. A block counts if both are known of both: of a load that was sent late, no
// response time is.
func hopSamples(s lab.Study, variant string, p lab.Point, more float64, trials []lab.Trial,
) (all []HopSample) {
	median, _ := lab.FindMetric(s.Metrics, lab.ResponseTime, 0.5, "")
	cpu, _ := lab.FindMetric(s.Metrics, lab.CPU, 0, lab.PerOperation)
	baselines := map[int]HopSample{} // by block
	at := func(t lab.Trial, variant string) (is HopSample, measured bool) {
		is.CPU, is.Elapsed = t.Measures[cpu.Name], t.Measures[median.Name]
		counts := t.Valid && t.Variant == variant && t.Point.Name == p.Name
		return is, counts && is.CPU > 0 && is.Elapsed > 0
	}
	for _, t := range trials {
		if base, measured := at(t, s.Baseline); measured {
			baselines[t.Block] = base
		}
	}
	for _, t := range trials {
		base, known := baselines[t.Block]
		if is, measured := at(t, variant); known && measured {
			all = append(all, HopSample{(is.CPU - base.CPU) / more, (is.Elapsed - base.Elapsed) / more})
		}
	}
	return all
}

// moreCrossings returns how many calls of an operation cross units in a variant of a rehearsal beyond those
// that do so as it is.
func moreCrossings(s lab.Study, variant string) (float64, error) {
	m, err := model.Parse("", []byte(s.Model))
	if err != nil {
		return 0, err
	}
	v, _ := s.Variant(variant)
	more, err := Change{Split: ParseGroups(v.Knobs["placement"])}.Crossings(m)
	if err == nil && more == 0 {
		return 0, errors.New("as many calls cross units in both of its placements")
	}
	return more, err
}

// Crossings returns how many calls of an operation cross units with the change beyond those that do so in the
// model; negative, if it is fewer.
func (c Change) Crossings(m model.Model) (float64, error) {
	units, err := c.Apply(m)
	if err != nil {
		return 0, err
	}
	before, err := place(m, m.Units, site{cores: 1, unknown: &Hop{}})
	after, afterErr := place(m, units, site{cores: 1, unknown: &Hop{}})
	return after.hops - before.hops, errors.Join(err, afterErr)
}

// redrawn returns the hop as other trials might have given it.
func (h *Hop) redrawn(random *rand.Rand) *Hop {
	if h == nil || len(h.samples) == 0 {
		return h
	}
	drawn := make([]HopSample, len(h.samples))
	for i := range drawn {
		drawn[i] = h.samples[random.IntN(len(h.samples))]
	}
	of := MeasuredHop(drawn, h.Source)
	of.Busy = h.Busy
	return of
}

// busy returns the hop at the capacity.
func (h *Hop) busy() *Hop {
	if h == nil || h.Busy == 0 {
		return h
	}
	return &Hop{CPU: h.Busy, Wait: h.Wait, Aside: min(h.Aside, h.Busy), Source: h.Source}
}

// usualHop returns the mean of the model's own hops, by how often they are called; nil if it has
// none.
func usualHop(m model.Model) *Hop {
	usual, calls := Hop{Source: "the mean of the hops in the model"}, 0.0
	for i := range m.Operations {
		o := &m.Operations[i]
		o.Call.Executions(func(c *model.Call, times float64) {
			if c.Hop != nil {
				times *= o.Weight
				usual.CPU += times * c.Hop.CPU.Seconds()
				usual.Wait += times * c.Hop.Wait.Seconds()
				calls += times
			}
		})
	}
	if calls == 0 {
		return nil
	}
	usual.CPU, usual.Wait = usual.CPU/calls, usual.Wait/calls
	return &usual
}

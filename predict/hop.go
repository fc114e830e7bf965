package predict

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// Hop is the cost of a call between two units where the model has none; nil: it is unknown. Times are in
// seconds.
type Hop struct {
	CPU    float64 // of both sides
	Wait   float64 // on the way, beside the CPU time that the caller waits for
	Aside  float64 // the part of CPU that no caller waits for
	Source string  // where the figures come from, for people

	samples []HopSample
}

// HopSample holds the cost of a call between two units in one trial, in seconds.
type HopSample struct {
	CPU     float64 // of both sides
	Elapsed float64 // until the caller goes on
	// Used is the share of the host's cores that the system used: units of a busy host never fall idle, and
	// take a third of the CPU time for a call. 0: unknown.
	Used float64
	// Closed is set if several users who never pause made the calls. They wait for each other: Elapsed says
	// nothing, and CPU is that of a call at the capacity.
	Closed bool
}

// MeasuredHop returns the hop of the medians of some trials.
func MeasuredHop(samples []HopSample, source string) *Hop {
	h := &Hop{Source: source, samples: samples}
	cpu, elapsed, _ := h.values(false)
	h.set(stats.Median(cpu), stats.Median(elapsed))
	return h
}

// set sets the cost of a call by the CPU time of both sides and the time until the caller goes on. If the CPU
// time is longer, no caller waits for the rest: both sides work at once, or after the answer.
func (h *Hop) set(cpu, elapsed float64) {
	cpu = max(0, cpu)
	elapsed = max(0, elapsed)
	h.CPU = cpu
	h.Wait = max(0, elapsed-cpu)
	h.Aside = max(0, cpu-elapsed)
}

// elapsed returns the time until the caller goes on; see set.
func (h *Hop) elapsed() float64 { return h.CPU - h.Aside + h.Wait }

// values returns the figures of the samples of users who never pause, or of the others.
func (h *Hop) values(closed bool) (cpu, elapsed, used []float64) {
	for _, s := range h.samples {
		if s.Closed == closed {
			cpu = append(cpu, s.CPU)
			elapsed = append(elapsed, s.Elapsed)
			used = append(used, s.Used)
		}
	}
	return cpu, elapsed, used
}

// at returns the hop while the system uses a share of the host's cores: the CPU time, and the time until the
// caller goes on, each on the line through its samples.
func (h *Hop) at(used float64) *Hop {
	if h == nil || len(h.samples) == 0 {
		return h
	}
	there := *h
	cpu, elapsed, shares := h.values(false)
	cpuThere := valueOnLine(shares, cpu, used, h.CPU)
	elapsedThere := valueOnLine(shares, elapsed, used, h.elapsed())
	there.set(cpuThere, elapsedThere)
	return &there
}

// cpuAtCapacity returns the median CPU time of a call in the trials with users who never pause, and whether
// there were some.
func (h *Hop) cpuAtCapacity() (cpu float64, known bool) {
	all, _, _ := h.values(true)
	if len(all) == 0 {
		return 0, false
	}
	return max(0, stats.Median(all)), true
}

// atCapacity returns the hop at the capacity, with the CPU time of cpuAtCapacity: users who never pause keep
// units from falling idle, however little of the host the system uses. Without trials of such users it is the
// hop on a host of which this share of the cores is used.
func (h *Hop) atCapacity(used float64) *Hop {
	if h == nil {
		return nil
	}
	there := h.at(used)
	cpu, known := h.cpuAtCapacity()
	if !known {
		return there
	}
	atCapacity := *there
	atCapacity.set(cpu, there.elapsed())
	return &atCapacity
}

// valueOnLine returns the value at a share on the line of least squares through some values. Beyond their
// shares it returns the value at the nearest of these. It returns the usual value if there are fewer than
// three, if their shares are nearly the same, or if one is unknown.
func valueOnLine(shares, values []float64, at, usual float64) float64 {
	const apart = 0.2 // shares that are closer to each other tell nothing of others
	if len(shares) < 3 {
		return usual
	}
	lowest := slices.Min(shares)
	highest := slices.Max(shares)
	if lowest == 0 || highest-lowest < apart {
		return usual
	}
	line, err := stats.FitLine(shares, values)
	if err != nil {
		return usual
	}
	nearest := min(max(at, lowest), highest)
	return line.Intercept + line.Slope*nearest
}

// RehearsedHop returns the cost of a call between units in a rehearsal: the differences between a variant and
// the baseline in each block. in names the rehearsal in messages.
func RehearsedHop(s lab.Study, variant string, trials []lab.Trial, in string) (*Hop, error) {
	more, err := moreCrossings(s, variant)
	if err != nil {
		return nil, err
	}
	var samples []HopSample
	var rates []string
	for _, p := range s.Points {
		found := hopSamples(s, variant, p, more, trials)
		samples = append(samples, found...)
		if rate, paced := p.Rate(); paced && len(found) > 0 {
			rates = append(rates, fmt.Sprintf("%g/s", rate))
		}
	}
	hop := MeasuredHop(samples, fmt.Sprintf("rehearsed%s at %s, %d pairs of trials", in, figure.And(rates),
		len(samples)))
	if hop.CPU == 0 {
		return nil, errors.New("it does not tell what a call between units takes: play a split with more calls, " +
			"on an idle host, in more blocks")
	}
	return hop, nil
}

// hopSamples returns the cost of a call between units in each block of a rehearsal at a point: the
// differences between a variant and the baseline in CPU time and in the median response time, divided by
// more, the number of calls that cross units in the variant alone. A block counts if both placements held the
// rate and have both figures: a load that was sent late has no response time.
func hopSamples(s lab.Study, variant string, p lab.Point, more float64, trials []lab.Trial,
) (all []HopSample) {
	median, _ := lab.FindMetric(s.Metrics, lab.ResponseTime, 0.5, "")
	cpu, _ := lab.FindMetric(s.Metrics, lab.CPU, 0, lab.PerOperation)
	_, closed := p.Level(lab.FactorUsers)
	baselines := map[int]HopSample{} // by block
	operationCost := func(t lab.Trial, variant string) (cost HopSample, counts bool) {
		cost = HopSample{t.Measures[cpu.Name], t.Measures[median.Name], usedShare(t.Metered), closed}
		held, paced := t.Audit.Figures[lab.FigureHeld]
		if !t.Valid || t.Variant != variant || t.Point.Name != p.Name {
			return cost, false
		}
		missedRate := paced && held != 1
		return cost, !missedRate && cost.CPU > 0 && cost.Elapsed > 0
	}
	for _, t := range trials {
		if base, counts := operationCost(t, s.Baseline); counts {
			baselines[t.Block] = base
		}
	}
	for _, t := range trials {
		base, known := baselines[t.Block]
		if cost, counts := operationCost(t, variant); known && counts {
			all = append(all, HopSample{(cost.CPU - base.CPU) / more, (cost.Elapsed - base.Elapsed) / more,
				cost.Used, closed})
		}
	}
	return all
}

// usedShare returns the share of the host's cores that a system used in a trial; 0 if the cores, or the CPU
// time of some units, are unknown.
func usedShare(m lab.Metered) float64 {
	generator := m.Roles[lab.RoleGenerator]
	if m.Total.Lacks("cpu_seconds") || generator.Lacks("cpu_seconds") || m.Processors == 0 ||
		m.WindowSeconds == 0 {
		return 0
	}
	return (m.Total.CPUSeconds - generator.CPUSeconds) / m.WindowSeconds / float64(m.Processors)
}

// moreCrossings returns how many more calls of an operation cross units in a variant of a rehearsal than in
// the system as it is.
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

// Crossings returns how many more calls of an operation cross units with the change than in the model;
// negative if fewer do.
func (c Change) Crossings(m model.Model) (float64, error) {
	units, err := c.Apply(m)
	if err != nil {
		return 0, err
	}
	before, err := place(m, m.Units, site{cores: 1, defaultHop: &Hop{}})
	after, afterErr := place(m, units, site{cores: 1, defaultHop: &Hop{}})
	return after.hops - before.hops, errors.Join(err, afterErr)
}

// redrawn returns the hop as other trials might have given it: as many of users who never pause, and as many
// others.
func (h *Hop) redrawn(random *rand.Rand) *Hop {
	if h == nil || len(h.samples) == 0 {
		return h
	}
	var drawn []HopSample
	for _, closed := range []bool{false, true} {
		alike := slices.DeleteFunc(slices.Clone(h.samples), func(s HopSample) bool { return s.Closed != closed })
		for range alike {
			drawn = append(drawn, alike[random.IntN(len(alike))])
		}
	}
	return MeasuredHop(drawn, h.Source)
}

// usualHop returns the mean of the model's own hops, weighted by their calls; nil if it has none.
func usualHop(m model.Model) *Hop {
	usual := Hop{Source: "the mean of the hops in the model"}
	calls := 0.0
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
	usual.CPU /= calls
	usual.Wait /= calls
	return &usual
}

package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// bottlenecks compares the baseline with the variants that have more of one unit and differ in nothing
// else: at each point at which a system is not held to a rate, since there more units do not give more.
func (e *experiment) bottlenecks(a lab.Analysis) []lab.Bottleneck {
	base, known := e.study.Variant(e.study.Baseline)
	if !known || !e.comparable(base.Name) {
		return nil
	}
	var all []lab.Bottleneck
	for _, point := range e.study.Points {
		metric := e.throughput(point)
		if metric == "" {
			continue
		}
		b := lab.Bottleneck{Metric: metric, Point: point, Variant: base.Name}
		for _, v := range e.variants() {
			unit := scaledUnit(base, v)
			i := slices.IndexFunc(a.Comparisons, func(c lab.Comparison) bool {
				return c.Metric == metric && c.Point.Name == point.Name && c.Variant == v.Name && c.Baseline == base.Name
			})
			if unit == "" || i < 0 {
				continue
			}
			d := lab.Doubled{Unit: unit, Replicas: max(1, v.Replicas[unit]), Variant: v.Name,
				Ratio: a.Comparisons[i].Ratio, Verdict: a.Comparisons[i].Verdict}
			if limit := v.LimitsOf(unit).CPU; limit != base.LimitsOf(unit).CPU {
				d.CPU = limit
			}
			d.CPUShare = cpuOfLimit(a.Usages, base, point, unit)
			if d.Queueing, d.PathShare = e.onTraces(base.Name, point.Name, unit); d.PathShare == nil {
				d.Queueing, d.PathShare = onPath(a.Paths, base, point, unit)
			}
			b.Doubled = append(b.Doubled, d)
		}
		if len(b.Doubled) == 0 {
			continue
		}
		slices.SortStableFunc(b.Doubled, func(x, y lab.Doubled) int {
			return cmp.Or(cmp.Compare(helps(y), helps(x)), cmp.Compare(y.Ratio.Ratio, x.Ratio.Ratio))
		})
		b.Signals = signals(b.Doubled)
		b.Answer = e.bottleneckSentences(b)
		all = append(all, b)
	}
	return all
}

// helps returns 1 if more of the unit was found to give more, else 0.
func helps(d lab.Doubled) int {
	if d.Verdict == lab.Faster {
		return 1
	}
	return 0
}

// throughput returns the metric that says how much a system can do at a point: its capacity
// where that is searched for, what it answers to users who wait for answers; else "".
func (e *experiment) throughput(p lab.Point) string {
	if _, searched := p.Level(lab.FactorSearchFrom); searched {
		return e.metricName(lab.Capacity, 0, "")
	}
	if _, closed := p.Level(lab.FactorUsers); closed {
		return e.metricName(lab.Goodput, 0, "")
	}
	return ""
}

// scaledUnit returns the only unit that has more in a variant than in another, replicas or processors, from
// which it differs in nothing else; "" where there is none.
func scaledUnit(base, v lab.Variant) string {
	same := v.Architecture == base.Architecture && v.Deployment == base.Deployment &&
		maps.Equal(v.Knobs, base.Knobs) && maps.Equal(v.Nodes, base.Nodes) &&
		reflect.DeepEqual(v.External, base.External)
	if !same || v.Name == base.Name {
		return ""
	}
	var more []string
	for name, n := range v.Replicas {
		switch before := max(1, base.Replicas[name]); {
		case n < before:
			return ""
		case n > before:
			more = append(more, name)
		}
	}
	limited := slices.Concat(slices.Collect(maps.Keys(base.Limits)), slices.Collect(maps.Keys(v.Limits)))
	for _, name := range limited {
		now, before := v.LimitsOf(name), base.LimitsOf(name)
		switch {
		case now == before:
		case now.Memory != before.Memory || now.CPU < before.CPU || before.CPU == 0 || name == lab.AllUnits:
			return ""
		case !slices.Contains(more, name):
			more = append(more, name)
		}
	}
	if len(more) != 1 {
		return ""
	}
	return more[0]
}

// cpuOfLimit returns how much of what it may use a unit uses, all replicas together.
func cpuOfLimit(usages []lab.RoleUsage, base lab.Variant, point lab.Point, unit string) *float64 {
	i := slices.IndexFunc(usages, func(u lab.RoleUsage) bool {
		return u.Variant == base.Name && u.Point.Name == point.Name && u.Role == unit
	})
	if i < 0 || usages[i].CPUShare == 0 {
		return nil
	}
	limit := base.LimitsOf(unit)
	share := usages[i].CPUShare / float64(max(1, base.Replicas[unit]))
	if limit.CPU > 0 {
		share /= limit.CPU
	}
	return &share
}

// onPath returns how long an operation waits in queues of a unit, and which share of its way it
// spends there, both in the mean; nil where operations are not traced.
func onPath(
	paths []lab.TrialPath, base lab.Variant, point lab.Point, unit string,
) (queueing, share *float64) {
	i := slices.IndexFunc(paths, func(p lab.TrialPath) bool {
		return p.Variant == base.Name && p.Point.Name == point.Name && p.Share == lab.PathMean
	})
	if i < 0 || paths[i].Seconds <= 0 {
		return nil, nil
	}
	var waited, spent float64
	for _, s := range paths[i].Segments {
		if s.Unit != unit {
			continue
		}
		spent += s.Seconds
		if s.Kind == lab.SegmentQueueing {
			waited += s.Seconds
		}
	}
	spent /= paths[i].Seconds
	return &waited, &spent
}

// onTraces returns what onPath does by the spans that a variant's trials have received: what callers of the
// unit waited for outside of its spans is the queue before it, and the network.
func (e *experiment) onTraces(variant, point, unit string) (queueing, share *float64) {
	var waited, spent, all, traces float64
	for _, trial := range e.counted(variant, point) {
		if trial.Traced == nil {
			continue
		}
		for _, o := range trial.Traced.Operations {
			n := float64(o.Traces) / float64(max(1, len(o.Batches)))
			for _, batch := range o.Batches {
				traces, all = traces+n, all+n*batch.Seconds
				for _, part := range batch.Parts {
					outside := part.Kind == lab.SegmentTransport || part.Kind == lab.SegmentDatabase
					switch {
					case outside && strings.HasSuffix(part.Operation, " to "+unit):
						waited += n * part.Path
					case !outside && part.Service == unit:
						spent += n * part.Path
					}
				}
			}
		}
	}
	if all <= 0 || waited+spent == 0 {
		return nil, nil
	}
	waited, spent = waited/traces, spent/all
	return &waited, &spent
}

// signals returns which unit each sign of a bottleneck points to: the one with the largest value.
func signals(doubled []lab.Doubled) []lab.Signal {
	gains := doubled[0].Verdict == lab.Faster
	var all []lab.Signal
	for _, sign := range signs() {
		s := lab.Signal{Name: sign.name}
		most := 0.0
		for _, d := range doubled {
			if value := sign.of(d); value != nil && *value > most {
				most, s.Unit = *value, d.Unit
			}
		}
		if s.Unit != "" && gains {
			right := s.Unit == doubled[0].Unit
			s.Right = &right
		}
		all = append(all, s)
	}
	return all
}

// sign reads a signal from a doubled unit, and puts it into words.
type sign struct {
	name lab.SignalName
	of   func(lab.Doubled) *float64
	tell func(value float64) string
}

func signs() []sign {
	return []sign{
		{lab.SignalCPU, func(d lab.Doubled) *float64 { return d.CPUShare },
			func(v float64) string { return "used " + figure.Percent(v) + " of the CPU that it may use" }},
		{lab.SignalQueueing, func(d lab.Doubled) *float64 { return d.Queueing },
			func(v float64) string { return "had operations wait " + figure.Amount(v, "s") }},
		{lab.SignalPath, func(d lab.Doubled) *float64 { return d.PathShare },
			func(v float64) string { return "was " + figure.Percent(v) + " of the critical path" }},
	}
}

// bottleneckSentences names the unit to scale, the units that make it worse, and the signal that would have
// predicted it.
func (e *experiment) bottleneckSentences(b lab.Bottleneck) []string {
	best := b.Doubled[0]
	rise := func(d lab.Doubled) string {
		return fmt.Sprintf("%s the %ss per second", gives(d), e.operation())
	}
	var sentences, worse, same, open []string
	for _, d := range b.Doubled {
		switch d.Verdict {
		case lab.Slower:
			worse = append(worse, rise(d))
		case lab.Equivalent:
			same = append(same, d.Unit)
		case lab.Undecided:
			open = append(open, rise(d))
		}
	}
	if best.Verdict == lab.Faster {
		sentences = append(sentences, fmt.Sprintf("Scale %s: at %s, %s.", best.Unit, b.Point.Name, rise(best)))
	} else {
		sentences = append(sentences,
			fmt.Sprintf("No unit is known to be the bottleneck: at %s, none gives more when it "+
				"alone is scaled.", b.Point.Name))
	}
	if len(worse) > 0 {
		sentences = append(sentences, "It gets worse with "+strings.Join(worse, "; ")+".")
	}
	if len(same) > 0 {
		sentences = append(sentences, "It makes no difference with "+strings.Join(same, ", ")+".")
	}
	if len(open) > 0 {
		sentences = append(sentences, "Undecided: "+strings.Join(open, "; ")+".")
	}
	for i, s := range b.Signals {
		sentences = append(sentences, signalSentence(b, s, signs()[i]))
	}
	return sentences
}

// gives says what more of a unit gave: "2 x persons gives 1.39x [1.22, 1.59]".
func gives(d lab.Doubled) string {
	if d.CPU > 0 {
		return fmt.Sprintf("%s with %g processors gives %s", d.Unit, d.CPU, times(d.Ratio))
	}
	return fmt.Sprintf("%d x %s gives %s", d.Replicas, d.Unit, times(d.Ratio))
}

// signalSentence names the unit that a signal points to, and whether that was right.
func signalSentence(b lab.Bottleneck, s lab.Signal, read sign) string {
	name := strings.ToUpper(string(s.Name[:1])) + string(s.Name[1:])
	if s.Unit == "" {
		return name + " tells nothing: it was not measured, or was of no unit that can be scaled."
	}
	find := func(unit string) lab.Doubled {
		return b.Doubled[slices.IndexFunc(b.Doubled, func(d lab.Doubled) bool { return d.Unit == unit })]
	}
	pointed := find(s.Unit)
	text := fmt.Sprintf("%s, which %s", s.Unit, read.tell(*read.of(pointed)))
	switch {
	case s.Right == nil:
		return fmt.Sprintf("%s points to %s.", name, text)
	case *s.Right:
		return fmt.Sprintf("%s would have told: it points to %s.", name, text)
	}
	own := "was not measured"
	if value := read.of(b.Doubled[0]); value != nil {
		own = read.tell(*value)
	}
	return fmt.Sprintf("%s would have misled: it points to %s, and %s; %s %s.", name, text, gives(pointed),
		b.Doubled[0].Unit, own)
}

// autoscalingSentences returns the times at which platforms added replicas of units, and at which these were
// relieved.
func (e *experiment) autoscalingSentences() (sentences []string) {
	for at, trials := range e.trialsBySetting() {
		if len(at.Autoscale) == 0 {
			continue
		}
		relieved := "no trial was relieved"
		var relief []float64
		for _, trial := range trials {
			if seconds, was := trial.Measures[lab.Relief]; was {
				relief = append(relief, seconds)
			}
		}
		if len(relief) > 0 {
			relieved = fmt.Sprintf("the objective was met for good from %.0f s on (%d of %d trials)",
				stats.Median(relief), len(relief), len(trials))
		}
		if e.study.Load.Objective == "" {
			relieved = "no objective says when it was relieved"
		}
		for _, unit := range slices.Sorted(maps.Keys(at.Autoscale)) {
			sentences = append(sentences, fmt.Sprintf("Autoscaling of %s in %s at %s added %s; %s.", unit, at.Name,
				at.point.Name, added(unit, trials), relieved))
		}
	}
	return sentences
}

// added returns the replicas of a unit that came in trials.
func added(unit string, trials []lab.Trial) string {
	asked, ready := map[string][]float64{}, map[string][]float64{}
	for _, trial := range trials {
		for _, a := range trial.Arrivals {
			if strings.HasPrefix(a.Unit, unit+"-") {
				asked[a.Unit], ready[a.Unit] = append(asked[a.Unit], a.Asked), append(ready[a.Unit], a.Ready)
			}
		}
	}
	if len(asked) == 0 {
		return "no replica"
	}
	var parts []string
	for _, replica := range slices.Sorted(maps.Keys(asked)) {
		parts = append(parts,
			fmt.Sprintf("%s %.0f s after the load had begun, ready at %.1f s (medians; %d of %d trials)",
				replica, stats.Median(asked[replica]), stats.Median(ready[replica]), len(asked[replica]), len(trials)))
	}
	return strings.Join(parts, ", ")
}

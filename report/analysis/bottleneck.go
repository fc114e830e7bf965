package analysis

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// bottlenecks compares the baseline with the variants that differ from it in having more of one unit, at each
// point without an offered rate: such a rate would limit the throughput of all variants.
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
			c := findComparison(a.Comparisons, metric, point.Name, pair{v.Name, base.Name})
			if unit == "" || c == nil {
				continue
			}
			d := lab.Doubled{Unit: unit, Replicas: max(1, v.Replicas[unit]), Variant: v.Name, Ratio: c.Ratio,
				Verdict: c.Verdict}
			if limit := v.LimitsOf(unit).CPU; limit != base.LimitsOf(unit).CPU {
				d.CPU = limit
			}
			d.CPUShare = cpuOfLimit(a.Usages, base, point, unit)
			if d.Queueing, d.PathShare = e.signalsOfTraces(base.Name, point.Name, unit); d.PathShare == nil {
				d.Queueing, d.PathShare = signalsOfPath(a.Paths, base, point, unit)
			}
			b.Doubled = append(b.Doubled, d)
		}
		if len(b.Doubled) == 0 {
			continue
		}
		slices.SortStableFunc(b.Doubled, func(x, y lab.Doubled) int {
			return cmp.Or(compareBool(y.Verdict == lab.Faster, x.Verdict == lab.Faster),
				cmp.Compare(y.Ratio.Ratio, x.Ratio.Ratio))
		})
		b.Signals = signals(b.Doubled)
		b.Answer = e.bottleneckSentences(b)
		all = append(all, b)
	}
	return all
}

// throughput returns the name of the metric for the throughput at a point: the capacity if that is searched
// for, the goodput for a closed loop of users, else "".
func (e *experiment) throughput(p lab.Point) string {
	if _, searched := p.Level(lab.FactorSearchFrom); searched {
		return e.metricName(lab.Capacity, 0, "")
	}
	if _, closed := p.Level(lab.FactorUsers); closed {
		return e.metricName(lab.Goodput, 0, "")
	}
	return ""
}

// scaledUnit returns the unit that has more replicas or processors in a variant than in base, if nothing else
// differs, else "".
func scaledUnit(base, v lab.Variant) string {
	if v.Name == base.Name || !alikeUnscaled(base, v) {
		return ""
	}
	var more []string
	for _, units := range []iter.Seq[string]{maps.Keys(base.Replicas), maps.Keys(v.Replicas),
		maps.Keys(base.Limits), maps.Keys(v.Limits)} {
		for unit := range units {
			now := v.LimitsOf(unit)
			before := base.LimitsOf(unit)
			change := max(1, v.Replicas[unit]) - max(1, base.Replicas[unit])
			sameLimits := now == before
			isUnlimited := unit == lab.AllUnits || before.CPU == 0
			switch {
			case change == 0 && sameLimits:
			case change < 0, now.Memory != before.Memory, now.CPU < before.CPU, !sameLimits && isUnlimited:
				return ""
			default:
				more = appendNew(more, unit)
			}
		}
	}
	if len(more) != 1 {
		return ""
	}
	return more[0]
}

// cpuOfLimit returns the CPU that one replica of a unit uses: a share of its limit or, without one, of
// a processor. It returns nil if that is unknown.
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

// signalsOfPath returns the mean time, in seconds, that an operation waits in the queues of a unit, and the
// share of the mean critical path that it spends there. Both are nil if operations are not traced.
func signalsOfPath(
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

// signalsOfTraces returns the signals of signalsOfPath from the spans that the units sent in the trials of a
// variant. The time that callers of the unit wait outside of its spans counts as queueing; it includes the
// network. Unlike that of signalsOfPath, the share does not include the queueing.
func (e *experiment) signalsOfTraces(variant, point, unit string) (queueing, share *float64) {
	var waited, spent, total, traces float64
	for _, trial := range e.counted(variant, point) {
		if trial.Traced == nil {
			continue
		}
		for _, o := range trial.Traced.Operations {
			batches := max(1, len(o.Batches))
			n := float64(o.Traces) / float64(batches)
			for _, batch := range o.Batches {
				traces, total = traces+n, total+n*batch.Seconds
				for _, part := range batch.Parts {
					isClient := part.Kind == lab.SegmentTransport || part.Kind == lab.SegmentDatabase
					switch {
					case isClient && strings.HasSuffix(part.Operation, " to "+unit): // package traces names it so
						waited += n * part.Path
					case !isClient && part.Service == unit:
						spent += n * part.Path
					}
				}
			}
		}
	}
	if total <= 0 || waited+spent == 0 {
		return nil, nil
	}
	waited, spent = waited/traces, spent/total
	return &waited, &spent
}

// signals returns the unit that each signal points to, the one with the largest value, and whether that was
// right.
func signals(doubled []lab.Doubled) []lab.Signal {
	gains := doubled[0].Verdict == lab.Faster
	var all []lab.Signal
	for _, sign := range signs() {
		s := lab.Signal{Name: sign.name}
		most := 0.0
		for _, d := range doubled {
			if value := sign.of(d); value != nil && *value > most {
				most = *value
				s.Unit = d.Unit
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

// sign reads a signal of a doubled unit and describes its value.
type sign struct {
	name     lab.SignalName
	of       func(lab.Doubled) *float64
	describe func(value float64) string
}

// signs returns all signals, in the order of the report.
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

// bottleneckSentences returns sentences on the unit to scale, the other units, and the signals that would
// have predicted it.
func (e *experiment) bottleneckSentences(b lab.Bottleneck) []string {
	best := b.Doubled[0]
	rise := func(d lab.Doubled) string {
		return fmt.Sprintf("%s the %ss per second", gives(d), e.operation())
	}
	var sentences, worse, worsened, same, open []string
	for _, d := range b.Doubled {
		switch d.Verdict {
		case lab.Slower:
			worse = append(worse, d.Unit)
			worsened = append(worsened, rise(d))
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
		sentences = append(sentences, fmt.Sprintf("It gets worse if %s is scaled: %s.",
			strings.Join(worse, " or "), strings.Join(worsened, "; ")))
	}
	if len(same) > 0 {
		sentences = append(sentences, fmt.Sprintf("It makes no difference if %s is scaled.",
			strings.Join(same, " or ")))
	}
	if len(open) > 0 {
		sentences = append(sentences, "Undecided: "+strings.Join(open, "; ")+".")
	}
	for i, s := range b.Signals {
		sentences = append(sentences, signalSentence(b, s, signs()[i]))
	}
	return sentences
}

// gives describes the gain of scaling a unit: "2 x persons gives 1.39x [1.22, 1.59]".
func gives(d lab.Doubled) string { return scaledText(d) + " gives " + times(d.Ratio) }

// scaledText describes a scaled unit: "2 x persons", "persons with 2 processors", or both.
func scaledText(d lab.Doubled) string {
	text := d.Unit
	if d.Replicas > 1 || d.CPU == 0 {
		text = fmt.Sprintf("%d x %s", d.Replicas, d.Unit)
	}
	if d.CPU > 0 {
		text += fmt.Sprintf(" with %g processors", d.CPU)
	}
	return text
}

// signalSentence returns a sentence on the unit that a signal points to, and whether that was right.
func signalSentence(b lab.Bottleneck, s lab.Signal, read sign) string {
	name := figure.Capital(string(s.Name))
	if s.Unit == "" {
		return name + " tells nothing: it was not measured, or was of no unit that can be scaled."
	}
	pointed := b.Doubled[slices.IndexFunc(b.Doubled, func(d lab.Doubled) bool { return d.Unit == s.Unit })]
	text := fmt.Sprintf("%s, which %s", s.Unit, read.describe(*read.of(pointed)))
	switch {
	case s.Right == nil:
		return fmt.Sprintf("%s points to %s.", name, text)
	case *s.Right:
		return fmt.Sprintf("%s would have told: it points to %s.", name, text)
	}
	own := "was not measured"
	if value := read.of(b.Doubled[0]); value != nil {
		own = read.describe(*value)
	}
	return fmt.Sprintf("%s would have misled: it points to %s, and %s; %s %s.", name, text, gives(pointed),
		b.Doubled[0].Unit, own)
}

// autoscalingSentences returns a sentence for each autoscaled unit of a variant at a point: when its replicas
// came, and from when on the objective was met.
func (e *experiment) autoscalingSentences() (sentences []string) {
	for at, trials := range e.trialsBySetting() {
		if len(at.Autoscale) == 0 {
			continue
		}
		relieved := "no trial was relieved"
		played := lab.Count(len(trials), "trial")
		var relief []float64
		for _, trial := range trials {
			if seconds, measured := trial.Measures[lab.Relief]; measured {
				relief = append(relief, seconds)
			}
		}
		if len(relief) > 0 {
			relieved = fmt.Sprintf("the objective was met for good from %.0f s on (%d of %s)",
				stats.Median(relief), len(relief), played)
		}
		if e.study.Load == nil || e.study.Load.Objective == "" {
			relieved = "no objective says when it was relieved"
		}
		for _, unit := range slices.Sorted(maps.Keys(at.Autoscale)) {
			sentences = append(sentences, fmt.Sprintf("Autoscaling of %s in %s at %s added %s; %s.", unit, at.Name,
				at.point.Name, added(unit, trials), relieved))
		}
	}
	return sentences
}

// added describes the replicas that the platform added to a unit, each with the medians of its times.
func added(unit string, trials []lab.Trial) string {
	asked := map[string][]float64{}
	ready := map[string][]float64{} // by replica
	ofUnit := regexp.MustCompile("^" + regexp.QuoteMeta(unit) + "-[0-9]+$")
	for _, trial := range trials {
		for _, a := range trial.Arrivals {
			if ofUnit.MatchString(a.Unit) {
				asked[a.Unit] = append(asked[a.Unit], a.Asked)
				ready[a.Unit] = append(ready[a.Unit], a.Ready)
			}
		}
	}
	if len(asked) == 0 {
		return "no replica"
	}
	byNumber := func(a, b string) int { return cmp.Or(len(a)-len(b), cmp.Compare(a, b)) }
	var parts []string
	for _, replica := range slices.SortedFunc(maps.Keys(asked), byNumber) {
		parts = append(parts,
			fmt.Sprintf("%s %.0f s after the load had begun, ready at %.1f s (medians; %d of %s)", replica,
				stats.Median(asked[replica]), stats.Median(ready[replica]), len(asked[replica]),
				lab.Count(len(trials), "trial")))
	}
	return strings.Join(parts, ", ")
}

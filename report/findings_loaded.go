package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// curvesFinding names the capacities, else the tails at the shared load.
func (v view) curvesFinding() string {
	var parts []string
	for _, r := range v.capacities() {
		parts = append(parts, r.Variant+" "+single(r.Mean).quantity(r.Unit))
	}
	if len(parts) > 0 {
		under := ""
		if v.Objective != "" {
			under = " under " + v.Objective
		}
		return "Capacity" + under + ": " + strings.Join(parts, ", ")
	}
	m, measured := v.finishTime()
	at, any := v.sharedLoad()
	if !measured || !any {
		return "Times over the offered rate"
	}
	for _, x := range v.variants() {
		if p, ok := v.curvePoint(m.Name, x.Name, at.point); ok {
			parts = append(parts, x.Name+" "+single(p.Median).quantity(m.Unit))
		}
	}
	return fmt.Sprintf("%s at %s: %s", shortTitle(m), at, strings.Join(parts, ", "))
}

// spectraFinding tells the tail at the shared load.
func (v view) spectraFinding() string {
	for _, quantity := range []string{lab.CompletionTime, lab.ResponseTime} {
		at, ok := v.spectrumAt(quantity)
		if !ok {
			continue
		}
		if parts := v.tails(quantity, at, 0.99); len(parts) > 0 {
			what := "to complete"
			if quantity == lab.ResponseTime {
				what = "to be answered"
			}
			return fmt.Sprintf("At %s one %s in a hundred takes longer %s than %s", v.at(at), v.Operation, what,
				strings.Join(parts, ", "))
		}
	}
	return "Distributions of the times"
}

// stalenessFinding tells how old answers of the read models are.
func (v view) stalenessFinding() string {
	at, ok := v.spectrumAt(lab.Staleness)
	if !ok {
		return "No staleness was measured"
	}
	return fmt.Sprintf("At %s half of what is read lags by less than %s, and one in a hundred by more than %s",
		v.at(at),
		strings.Join(v.tails(lab.Staleness, at, 0.5), ", "), strings.Join(v.tails(lab.Staleness, at, 0.99), ", "))
}

// tails are a quantile of every variant: "50 ms (sync)".
func (v view) tails(quantity, point string, share float64) []string {
	var parts []string
	for _, x := range v.variants() {
		s, ok := v.spectrum(quantity, x.Name, point)
		if value, has := quantileOf(s.Median, share); ok && has {
			parts = append(parts, fmt.Sprintf("%s (%s)", single(value).quantity("s"), x.Name))
		}
	}
	return parts
}

// quantileOf is the value at a share that is kept.
func quantileOf(quantiles []lab.Quantile, share float64) (float64, bool) {
	i := slices.IndexFunc(quantiles, func(q lab.Quantile) bool { return q.Share == share })
	if i < 0 {
		return 0, false
	}
	return quantiles[i].Value, true
}

// waterfallFinding names the whole way and its largest step.
func (v view) waterfallFinding() string {
	if len(v.Waterfalls) == 0 {
		return "No knob was turned alone"
	}
	w := v.Waterfalls[0]
	return sentenceCase(spaced(w.Metric)) + ", " + wayWords(w)
}

// wayWords tells a waterfall in a sentence, with the largest of the steps that are decided.
func wayWords(w lab.Waterfall) string {
	words := fmt.Sprintf("from %s to %s: %s", w.From, w.To, ofRatio(w.Whole).times())
	decided := slices.DeleteFunc(slices.Clone(w.Steps),
		func(s lab.Step) bool { return s.Verdict == lab.Undecided })
	if len(decided) == 0 {
		return words
	}
	most := slices.MaxFunc(decided, func(a, b lab.Step) int {
		return compareReach(a.Ratio.Ratio, b.Ratio.Ratio)
	})
	title := fmt.Sprintf("%s (%s)", most.Knob, most.Change)
	if most.Name != "" {
		title = most.Name
	}
	return fmt.Sprintf("%s; the largest step is %s, %s", words, title, short(most.Ratio))
}

// interactionWords says under a plot where the order of the steps matters.
func interactionWords(w lab.Waterfall) string {
	var parts []string
	for _, i := range w.Interactions {
		if i.Matters {
			parts = append(parts, i.Words)
		}
	}
	return strings.Join(cleanAll(parts), "; ")
}

// pathsFinding says what each variant's operations wait for most.
func (v view) pathsFinding(at string) string {
	var parts []string
	for _, x := range v.variants() {
		own := v.paths(x.Name, at)
		if len(own) == 0 {
			continue
		}
		// The mean, where there is one: it stands for all operations.
		kind, share := largestKind(own[0])
		parts = append(parts, fmt.Sprintf("%s (%s, %s)", kind, x.Name, figure.Percent(share)))
	}
	return fmt.Sprintf("What %s spends most of its time in at %s: %s", article(v.Operation), v.at(at),
		strings.Join(parts, ", "))
}

// largestKind is the kind that takes the largest share of a path.
func largestKind(p lab.TrialPath) (lab.SegmentKind, float64) {
	sums := kindSums(p)
	var most lab.SegmentKind
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		if most == "" || sums[kind] > sums[most] {
			most = kind
		}
	}
	return most, sums[most] / p.Seconds
}

// kindSums adds up the segments of a path by kind, in seconds.
func kindSums(p lab.TrialPath) map[lab.SegmentKind]float64 {
	sums := map[lab.SegmentKind]float64{}
	for _, s := range p.Segments {
		sums[s.Kind] += s.Seconds
	}
	return sums
}

// usageFinding tells the cost of an operation and where most of it falls.
func (v view) usageFinding(at string) string {
	var parts []string
	for _, x := range v.variants() {
		var sum float64
		var most lab.RoleUsage
		for _, u := range v.usages(x.Name, at) {
			if u.Role == lab.RoleGenerator {
				continue
			}
			sum += u.CPUPerOperation
			if u.CPUPerOperation > most.CPUPerOperation {
				most = u
			}
		}
		if sum > 0 {
			parts = append(parts, fmt.Sprintf("%s with %s (%s of it in %s)", single(sum).quantity("s"), x.Name,
				figure.Percent(most.CPUPerOperation/sum), most.Role))
		}
	}
	if len(parts) == 0 {
		return "CPU and memory by unit at " + v.at(at)
	}
	return fmt.Sprintf("CPU per %s at %s: %s", v.Operation, v.at(at), strings.Join(parts, ", "))
}

// article is a noun with its article: "an order".
func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// shareWords names the operation that a path stands for.
func (v view) shareWords(share float64) string {
	switch share {
	case lab.PathMean:
		return "mean " + v.Operation
	case 0.5:
		return "median " + v.Operation
	default:
		return "p" + plainNumber(share*100) + " " + v.Operation
	}
}

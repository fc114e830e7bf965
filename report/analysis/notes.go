package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// noteLoad adds notes on the limits of conclusions about a system under load. A job has no load.
func (e *experiment) noteLoad(a lab.Analysis) {
	if len(e.study.Metrics) == 0 {
		return
	}
	e.noteLimited()
	e.noteArrivals()
	e.noteClocks()
	e.noteUnheld(a.Curves)
	e.noteShared(a.Usages)
	e.noteIdle()
}

// noteLimited adds notes on the attempts in which the generator was the limit, and on the trials that lack
// times because it sent late.
func (e *experiment) noteLimited() {
	n := 0
	where := []string{}
	for _, trial := range e.trials {
		if trial.Audit.Figures[lab.FigureLimited] < 1 {
			continue
		}
		n++
		where = appendNew(where, trial.Variant+" at "+trial.Point.Name)
	}
	if n > 0 {
		e.note("The generator, not the system, was the limit in %s (%s): what was measured there says nothing "+
			"about the system.", lab.Count(n, "attempt"), strings.Join(where, ", "))
	}
	late := 0
	withheld := []string{}
	for _, trial := range e.trials {
		if !trial.Valid || !trial.Late {
			continue
		}
		late++
		withheld = e.addWithheld(withheld, trial, lab.Metric.FromDue)
	}
	if late > 0 {
		e.note("The generator sent late in %s, which may have moved times there; these are left out, and the rest "+
			"counts: %s.", lab.Count(late, "trial"), strings.Join(withheld, ", "))
	}
}

// addWithheld appends the metrics of a kind that a trial could not measure, with its variant and point.
func (e *experiment) addWithheld(all []string, trial lab.Trial, isOfKind func(lab.Metric) bool) []string {
	for _, m := range e.study.Metrics {
		if _, missing := trial.Unmeasured[m.Name]; missing && isOfKind(m) {
			all = appendNew(all, fmt.Sprintf("%s of %s at %s", m.Name, trial.Variant, trial.Point.Name))
		}
	}
	return all
}

// noteArrivals adds a note on jittered arrivals of an open loop.
func (e *experiment) noteArrivals() {
	jittered := e.study.Load != nil && e.study.Load.Arrivals == lab.JitteredArrivals
	if jittered && slices.ContainsFunc(e.study.Points, offersRate) {
		e.note("Flows were due at random moments of even intervals (jittered arrivals): evenly spaced ones keep " +
			"in step with timers of a system, which shifts its times.")
	}
}

// appendNew appends an element unless it is there already.
func appendNew[T comparable](all []T, one T) []T {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// filter returns the wanted elements, in their order.
func filter[T any](all []T, wanted func(T) bool) []T {
	var found []T
	for _, one := range all {
		if wanted(one) {
			found = append(found, one)
		}
	}
	return found
}

// noteUnheld adds a note on the rates that were not held.
func (e *experiment) noteUnheld(curves []lab.Curve) {
	var where []string
	for _, curve := range curves {
		for _, p := range curve.Points {
			if !p.Held {
				where = appendNew(where, fmt.Sprintf("%s at %s (%s/s)", curve.Variant, p.Point,
					lab.Plain(p.Offered)))
			}
		}
	}
	if len(where) > 0 {
		e.note("Rates that were not held: %s. Response times there depend on how long the load lasts: they are "+
			"hollow in the plots and no property of the system.", strings.Join(where, ", "))
	}
}

// processors is the name of the fact with the number of processors of the host.
const processors = "cores_online"

// noteShared adds a note on the processors that the generator took from a system on the same host.
func (e *experiment) noteShared(usages []lab.RoleUsage) {
	system := map[string]bool{} // its roles were metered, and not all on other hosts
	for _, u := range usages {
		if u.Role != lab.RoleGenerator && !slices.ContainsFunc(e.counted(u.Variant, u.Point.Name), ranElsewhere) {
			system[u.Variant] = true
		}
	}
	shared := filter(usages, func(u lab.RoleUsage) bool {
		return u.Role == lab.RoleGenerator && u.CPUShare > 0 && system[u.Variant]
	})
	if len(shared) == 0 {
		return
	}
	byShare := func(x, y lab.RoleUsage) int { return cmp.Compare(x.CPUShare, y.CPUShare) }
	least := slices.MinFunc(shared, byShare)
	most := slices.MaxFunc(shared, byShare)
	host := "the processors of one host"
	if cores, ok := asNumber(e.in.Environment[processors].Value); ok && cores > 0 {
		host = "the " + lab.Count(int(cores), "processor") + " of one host"
	}
	e.note("Generator and system share %s: the generator used from %s of one processor (%s at %s) to %s (%s "+
		"at %s), which the system did not have. Capacities are lower than on a host of the system's own, and a "+
		"variant that answers more keeps the generator busier: near saturation that is unfair to the faster "+
		"one.", host, figure.Percent(least.CPUShare), least.Variant, least.Point.Name,
		figure.Percent(most.CPUShare), most.Variant, most.Point.Name)
}

// ranElsewhere reports whether the generator of a trial ran on the conductor's host, and all other units
// whose host is known ran on others. Clock readings tell the hosts. They are stored with a trial, unlike
// Metered.Units.
func ranElsewhere(trial lab.Trial) bool {
	if trial.Clocks == nil {
		return false
	}
	here, system := false, 0 // the generator is; units of the system with a known host
	for _, r := range trial.Clocks.Before {
		switch {
		case r.Unit == lab.RoleGenerator:
			here = r.Shared
		case r.Shared:
			return false
		default:
			system++
		}
	}
	return here && system > 0
}

// asNumber returns the value of a fact as a number. It is an integer in memory and a float after JSON.
func asNumber(value any) (float64, bool) {
	switch value := value.(type) {
	case int:
		return float64(value), true
	case int64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

// noteRemarks adds a note per variant with the most frequent remarks of generators, each with the
// number of its trials.
func (e *experiment) noteRemarks() {
	for _, v := range e.study.Variants {
		var texts []string
		trials := map[string]int{}
		for _, trial := range e.trials {
			if trial.Variant != v.Name {
				continue
			}
			for _, text := range trial.Remarks {
				texts = appendNew(texts, text)
				trials[text]++
			}
		}
		slices.SortStableFunc(texts, func(a, b string) int { return trials[b] - trials[a] })
		for i, text := range texts {
			texts[i] = fmt.Sprintf("%s (%s)", text, lab.Count(trials[text], "trial"))
		}
		if more := len(texts) - mostNamed; more > 0 {
			texts = append(texts[:mostNamed], "and "+lab.Count(more, "more remark"))
		}
		if len(texts) > 0 {
			e.note("%s: %s.", v.Name, strings.Join(texts, "; "))
		}
	}
}

// idleMatters is the idle share of the CPU time of a load above which a note mentions it.
const idleMatters = 0.05

// noteIdle adds a note on the CPU time that units use without any operation. They use it under load, too, so
// that the cost per operation depends on the rate.
func (e *experiment) noteIdle() {
	type part struct {
		share, cores float64
		where        string
	}
	var parts []part
	var rested []float64 // seconds without operations, by trial
	for at, trials := range e.trialsBySetting() {
		var shares, cores []float64
		for _, trial := range trials {
			if idle, used := idleOf(trial); used > 0 && trial.Metered.IdleSeconds > 0 {
				shares = append(shares, idle/used)
				cores = append(cores, idle)
				rested = append(rested, trial.Metered.IdleSeconds)
			}
		}
		if share := stats.Median(shares); share > idleMatters {
			parts = append(parts, part{share, stats.Median(cores), at.Name + " at " + at.point.Name})
		}
	}
	if len(parts) == 0 {
		return
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.share, a.share) })
	var texts []string
	for _, p := range parts[:min(len(parts), mostNamed)] {
		share := min(p.share, 1)
		texts = append(texts, fmt.Sprintf("%s with %s (%s of one processor)", figure.Percent(share), p.where,
			figure.Percent(p.cores)))
	}
	if more := len(parts) - mostNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("less in %d more", more))
	}
	e.note("Of the CPU per operation, up to %s is what the units use while nobody asks anything, as they did "+
		"for %s right before the load. At a higher rate more operations share it.",
		strings.Join(texts, ", "), figure.Amount(stats.Median(rested), "s"))
}

// idleOf returns the number of processors that a trial's system used before its load, and under load. Both
// are 0 if some role of the system was not metered.
func idleOf(trial lab.Trial) (idle, used float64) {
	system := trial.Metered.Used()
	if system.Lacks("cpu_seconds") {
		return 0, 0
	}
	return system.IdleCores, system.CPUSeconds / trial.Metered.WindowSeconds
}

// noteClocks adds notes on the metrics that are times between the clocks of two hosts: on the largest
// difference between the clocks, and on the trials that lack a metric because of it.
func (e *experiment) noteClocks() {
	apart := 0.0
	var withheld []string
	for _, trial := range e.trials {
		if !trial.Valid || trial.Clocks == nil {
			continue
		}
		apart = max(apart, trial.Clocks.ApartSeconds)
		withheld = e.addWithheld(withheld, trial, func(m lab.Metric) bool { return m.Clocks })
	}
	var between []string
	for _, m := range e.study.Metrics {
		if m.Clocks {
			between = append(between, m.Name)
		}
	}
	if apart == 0 || len(between) == 0 {
		return
	}
	e.note("Units ran on hosts with clocks of their own, which differed by up to %s ms: %s can be wrong by "+
		"that much.", figure.Rounded(apart*1e3), strings.Join(between, ", "))
	if len(withheld) > 0 {
		e.note("Not available, since the clocks may differ by more than a tenth of it: %s.",
			strings.Join(withheld, ", "))
	}
}

// noteNetwork adds notes on the network before a variant and on the links of its hosts, if they are shaped,
// with what a probe measured in its first trial that was probed.
func (e *experiment) noteNetwork(v lab.Variant) {
	for _, point := range e.study.Points {
		for _, trial := range e.counted(v.Name, point.Name) {
			const probed = "A probe checked it before every trial; in the first"
			if trial.Network != "" {
				e.note("Network before %s: %s. %s: %s.", v.Name, v.Network, probed, trial.Network)
			}
			for _, host := range slices.Sorted(maps.Keys(trial.Links)) {
				e.note("Link of %s of %s: %s. %s: %s.", host, v.Name, v.Hosts[host], probed, trial.Links[host])
			}
			if trial.Network != "" || len(trial.Links) > 0 {
				return
			}
		}
	}
}

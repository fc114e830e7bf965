package report

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// This file answers what the sections about systems under load ask of an
// analysis: which curves, distributions, uses and paths there are, and at which
// load the variants are shown side by side.

// curve returns a metric of a variant over the offered rate.
func (v view) curve(metric, variant string) (lab.Curve, bool) {
	i := slices.IndexFunc(v.Curves, func(c lab.Curve) bool { return c.Metric == metric && c.Variant == variant })
	if i < 0 || v.struckOut(variant) {
		return lab.Curve{}, false
	}
	return v.Curves[i], true
}

// drawnCurves returns the metrics drawn over the offered rate: of the times the
// median and the 99th percentile, every rate, and shares that are not all zero.
// A curve of one rate is a column of dots: the tables tell it.
func (v view) drawnCurves(kind string) []lab.Metric {
	if len(v.loads()) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Metrics),
		func(m lab.Metric) bool { return !v.hasCurve(m.Name) || v.curveKind(m) != kind })
}

// curveKind says how a metric is drawn over the offered rate; "" for not at all.
func (v view) curveKind(m lab.Metric) string {
	switch {
	case m.Kind == lab.KindTime && (m.Quantile == 0.5 || m.Quantile == 0.99) && m.Quantity != lab.Staleness:
		return "curve"
	case m.Kind == lab.KindRate:
		return "throughput"
	case m.Kind == lab.KindShare && v.anyAboveZero(m.Name):
		return "share"
	default:
		return ""
	}
}

func (v view) anyAboveZero(metric string) bool {
	return slices.ContainsFunc(v.Curves, func(c lab.Curve) bool {
		return c.Metric == metric && slices.ContainsFunc(c.Points,
			func(p lab.CurvePoint) bool { return p.Median > 0 })
	})
}

// shortTitle names a metric over its plot: "Completion time, 99th percentile".
func shortTitle(m lab.Metric) string {
	switch m.Quantile {
	case 0.5:
		return sentenceCase(m.Quantity + ", median")
	case 0.99:
		return sentenceCase(m.Quantity + ", 99th percentile")
	}
	return sentenceCase(m.Name)
}

func (v view) hasCurve(metric string) bool {
	return slices.ContainsFunc(v.Curves, func(c lab.Curve) bool {
		return c.Metric == metric && !v.struckOut(c.Variant)
	})
}

// finishTime returns the metric that a system under load is judged by: the tail of
// the time to completion, else that of the response time.
func (v view) finishTime() (lab.Metric, bool) {
	for _, quantity := range []string{lab.CompletionTime, lab.ResponseTime} {
		if m, ok := lab.FindMetric(v.Metrics, quantity, 0.99, ""); ok && v.hasCurve(m.Name) {
			return m, true
		}
	}
	return lab.Metric{}, false
}

// load is an offered rate of the study.
type load struct {
	point string
	rate  float64 // operations per second
	held  bool    // by every variant that was measured there
	count int     // of those variants
}

// loads returns the offered rates, from the lowest.
func (v view) loads() []load {
	m, ok := v.finishTime()
	if !ok {
		return nil
	}
	var all []load
	for _, c := range v.Curves {
		if c.Metric != m.Name || v.struckOut(c.Variant) {
			continue
		}
		for _, p := range c.Points {
			i := slices.IndexFunc(all, func(l load) bool { return l.point == p.Point })
			if i < 0 {
				i, all = len(all), append(all, load{point: p.Point, rate: p.Offered, held: true})
			}
			all[i].held, all[i].count = all[i].held && p.Held, all[i].count+1
		}
	}
	slices.SortStableFunc(all, func(a, b load) int { return cmp.Compare(a.rate, b.rate) })
	return all
}

// String names a load: "calm (80/s)", or "80/s" where the point says no more.
func (l load) String() string {
	rate := l.offered()
	notOfNumber := func(r rune) bool { return r != '.' && (r < '0' || r > '9') }
	if slices.Contains(strings.FieldsFunc(l.point, notOfNumber), strings.TrimSuffix(rate, "/s")) {
		return rate
	}
	return l.point + " (" + rate + ")"
}

// offered returns the rate as it was set, in four digits: "80/s", "41.67/s".
func (l load) offered() string { return lab.Plain(l.rate) + "/s" }

// at names a point in a sentence: by its load, where it has one.
func (v view) at(point string) string {
	for _, l := range v.loads() {
		if l.point == point {
			return l.String()
		}
	}
	return point
}

// shownAt returns the point of some data at which they are shown first: the one where
// all stand side by side, else the first that has any.
func (v view) shownAt(has func(point string) bool) (string, bool) {
	if at := v.reference(); has(at) {
		return at, true
	}
	for _, p := range v.Points {
		if has(p.Name) {
			return p.Name, true
		}
	}
	return "", false
}

// spectrum returns the distribution of a quantity.
func (v view) spectrum(quantity, variant, point string) (lab.Spectrum, bool) {
	i := slices.IndexFunc(v.Spectra, func(s lab.Spectrum) bool {
		return s.Quantity == quantity && s.Variant == variant && s.Point.Name == point
	})
	if i < 0 || v.struckOut(variant) {
		return lab.Spectrum{}, false
	}
	return v.Spectra[i], true
}

// spectrumAt returns where the distributions of a quantity are shown first.
func (v view) spectrumAt(quantity string) (string, bool) {
	return v.shownAt(func(point string) bool {
		return slices.ContainsFunc(v.Spectra, func(s lab.Spectrum) bool {
			return s.Quantity == quantity && s.Point.Name == point && !v.struckOut(s.Variant)
		})
	})
}

// lightSpectra leaves the single trials out of all distributions but those that
// are shown first.
func (v view) lightSpectra() []lab.Spectrum {
	light := slices.Clone(v.Spectra)
	for i, s := range light {
		if at, ok := v.spectrumAt(s.Quantity); !ok || s.Point.Name != at {
			light[i].Trials = nil
		}
	}
	return light
}

// usages returns what the roles of a variant used at a point, in the order of the
// analysis.
func (v view) usages(variant, point string) []lab.RoleUsage {
	return those(v.Usages, func(u lab.RoleUsage) bool {
		return u.Variant == variant && u.Point.Name == point && !v.struckOut(variant)
	})
}

// foreign reports whether what is compared are systems that somebody else wrote.
func (v view) foreign() bool {
	return slices.ContainsFunc(v.Variants, func(x lab.Variant) bool { return x.External != nil })
}

// paths returns the critical paths of a variant at a point, by rising share.
func (v view) paths(variant, point string) []lab.TrialPath {
	return those(v.Paths, func(p lab.TrialPath) bool {
		return p.Variant == variant && p.Point.Name == point && !v.struckOut(variant)
	})
}

// those returns the items that are wanted, in their order.
func those[T any](items []T, wanted func(T) bool) []T {
	var found []T
	for _, item := range items {
		if wanted(item) {
			found = append(found, item)
		}
	}
	return found
}

// limits reads the percentiles that an objective such as "p99<100ms,errors<0.1%"
// limits, in seconds by name: {"p99": 0.1}.
func limits(objective string) map[string]float64 {
	found := map[string]float64{}
	for term := range strings.SplitSeq(objective, ",") {
		m := limitTerm.FindStringSubmatch(term)
		if m == nil {
			continue
		}
		if value, err := strconv.ParseFloat(m[2], 64); err == nil && value > 0 {
			found[strings.ReplaceAll(m[1], ".", "")] = value * map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1}[m[3]]
		}
	}
	return found
}

// limitTerm is a condition on a percentile of the response time.
var limitTerm = regexp.MustCompile(`^\s*(p[0-9.]+)\s*<=?\s*([0-9.]+)\s*(us|ms|s)\s*$`)

// limit returns what the objective demands of a metric, 0 for nothing.
func (v view) limit(m lab.Metric) float64 {
	percent := strconv.FormatFloat(100*m.Quantile, 'g', 6, 64)
	return limits(v.Objective)["p"+strings.ReplaceAll(percent, ".", "")]
}

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// loadTables returns the load tables of a system under load in the order of the page; the
// distributions, the waits and the use of every unit only in full.
func (v view) loadTables(full bool) []table {
	finish, loaded := v.finishTime()
	tables := []table{v.heldTable(), v.capacityTable()}
	for _, m := range v.Metrics {
		if v.hasCurve(m.Name) && (full || loaded && m.Name == finish.Name) {
			tables = append(tables, v.curveTable(m))
		}
	}
	if full || v.foreign() {
		tables = append(tables, v.searchesTable())
	}
	if full {
		for _, quantity := range []string{lab.ResponseTime, lab.ServiceTime, lab.CompletionTime, lab.Staleness} {
			if at, ok := v.spectrumAt(quantity); ok {
				tables = append(tables, v.spectrumTable(quantity, at))
			}
		}
		tables = append(tables, v.interactionTable(), v.kindsTable(v.reference()))
	}
	tables = append(tables, v.operationsTable(v.reference()))
	if at := v.reference(); full || v.foreign() && len(v.rolesAt(at)) > 0 {
		tables = append(tables, v.usageTable(at), v.platformTable(at))
	}
	if at, profiled := v.profiledPoint(); profiled {
		tables = append(tables, v.layersTable(at))
	}
	return filled(append(tables, v.costTable())...)
}

// heldTable shows which of the offered rates each variant held, and why it did not.
func (v view) heldTable() table {
	t := table{ID: "held", Title: "Rates held", Keys: 2,
		Note: "begun in time and answered rightly, in every trial",
		Columns: []column{words("variant"), numbers("offered"), words("held"), numbers("begun"),
			numbers("not right")}}
	if v.Objective != "" {
		t.Note = "begun in time, and " + v.Objective + ", in every trial"
	}
	for _, r := range v.Held {
		if v.struckOut(r.Variant) {
			continue
		}
		held := toned(fmt.Sprintf("in all %d trials", r.Trials), toneGood)
		if r.Trials == 0 {
			held = toned("not known", toneMuted)
			t.add(text(r.Variant), text(ratePerSecond(r.Rate)), held, toned(absent, toneMuted),
				toned(absent, toneMuted))
			continue
		}
		if r.Held < r.Trials {
			held = toned(fmt.Sprintf("missed in %d of %d trials", r.Trials-r.Held, r.Trials), toneWarn)
		}
		t.add(text(r.Variant), text(ratePerSecond(r.Rate)), held, text(figure.Percent(r.Begun)),
			text(figure.Percent(r.Wrong)))
	}
	return t
}

// curvePoint returns what a variant's curve has at a point.
func (v view) curvePoint(metric, variant, point string) (lab.CurvePoint, bool) {
	c, ok := v.curve(metric, variant)
	i := slices.IndexFunc(c.Points, func(p lab.CurvePoint) bool { return p.Point == point })
	if !ok || i < 0 {
		return lab.CurvePoint{}, false
	}
	return c.Points[i], true
}

// curveTable shows a metric over the offered rate.
func (v view) curveTable(m lab.Metric) table {
	t := table{ID: "curve-" + m.Name, Title: "Over the offered rate: " + m.Title, Keys: 2,
		Note:    fmt.Sprintf("medians over trials; *: the rate was not held; n=%d blocks", v.Blocks),
		Columns: []column{words("point"), numbers("offered")}}
	shown := slices.DeleteFunc(v.variants(), func(x lab.Variant) bool {
		_, ok := v.curve(m.Name, x.Name)
		return !ok
	})
	for _, x := range shown {
		t.Columns = append(t.Columns, numbers(x.Name))
	}
	for _, l := range v.loads() {
		row := []cell{text(l.point), text(l.offered())}
		for _, x := range shown {
			row = append(row, v.curveCell(m, x.Name, l.point))
		}
		t.add(row...)
	}
	return t
}

func (v view) curveCell(m lab.Metric, variant, point string) cell {
	p, ok := v.curvePoint(m.Name, variant, point)
	shown := figure.Amount(p.Median, m.Unit)
	if m.Kind == lab.KindShare {
		shown = figure.Percent(p.Median)
	}
	switch {
	case !ok:
		return toned(absent, toneMuted)
	case !p.Held || p.Missed:
		return toned("* "+shown, toneWarn)
	default:
		return text(shown)
	}
}

// spectrumShares returns the columns of the tables of distributions. The largest
// value is no property of a system and has none.
func spectrumShares() []float64 { return []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999} }

// spectrumTable shows the distributions of a quantity at a point.
func (v view) spectrumTable(quantity, point string) table {
	title := sentenceCase(quantity)
	if quantity == lab.ServiceTime {
		title += " (uncorrected)"
	}
	t := table{ID: "spectrum-" + quantity + "-" + point, Title: title + " at " + v.at(point), Keys: 1,
		Note: fmt.Sprintf("at most so long for so many of all; medians over trials at each share; n=%d blocks",
			v.Blocks), Columns: []column{words("variant")}}
	for _, share := range spectrumShares() {
		t.Columns = append(t.Columns, numbers(figure.Setting(share)))
	}
	for _, x := range v.variants() {
		s, ok := v.spectrum(quantity, x.Name, point)
		if !ok {
			continue
		}
		row := []cell{text(x.Name)}
		for _, share := range spectrumShares() {
			value, has := quantileOf(s.Median, share)
			if !has {
				value = math.NaN()
			}
			row = append(row, text(figure.Amount(value, "s")))
		}
		t.add(row...)
	}
	return t
}

// otherSpectra returns the tables at the points that are not shown first.
func (v view) otherSpectra(quantity, shown string) []table {
	var tables []table
	for _, p := range v.Points {
		if p.Name != shown {
			tables = append(tables, v.spectrumTable(quantity, p.Name))
		}
	}
	return tables
}

// waterfallTable shows one way, step by step.
func (v view) waterfallTable(i int, w lab.Waterfall) table {
	turning := "knob"
	if named(w) {
		turning = "variants"
	}
	t := table{ID: fmt.Sprintf("way-%d", i), Title: fmt.Sprintf("%s to %s: %s at %s", w.From, w.To,
		v.metric(w.Metric).Title, v.at(w.Point.Name)), Keys: 2,
		Note: "each step: variant / the one before it, by block; so far: the product of the steps; " +
			v.sample(),
		Columns: []column{words(turning), prose("change"), numbers("step"), words("verdict"), numbers("so far")}}
	product := 1.0
	for _, s := range w.Steps {
		product *= s.Ratio.Ratio
		what, change := s.Knob, s.Change
		if s.Name != "" {
			what, change = s.Name, s.Turned()
		}
		t.add(text(what), text(change), text(figure.Times(s.Ratio.Estimate())),
			toned(string(s.Verdict), verdictTone(s.Verdict)), text(figure.Times(figure.Alone(product))))
	}
	if len(w.Steps) > 0 {
		t.add(text("whole way"), text(w.From+" -> "+w.To), text(figure.Times(w.Whole.Estimate())),
			toned(string(w.Verdict), verdictTone(w.Verdict)), text(figure.Times(figure.Alone(product))))
	}
	return t
}

// verdictTone colours the verdict of a step.
func verdictTone(verdict lab.ComparisonVerdict) tone {
	switch verdict {
	case lab.Slower:
		return toneBad
	case lab.Faster:
		return toneGood
	default:
		return toneMuted
	}
}

// interactionTable shows the knobs that were turned in two orders.
func (v view) interactionTable() table {
	t := table{ID: "interactions", Title: "Does the order of the steps matter?", Keys: 2,
		Note: "a change's ratio on the way shown, on the other way, and one over the other by block; " +
			v.sample(),
		Columns: []column{words("metric"), words("change"), numbers("this way"), numbers("other way"),
			numbers("one / other"), words("matters"), prose("in words")}}
	for _, w := range v.Waterfalls {
		for _, i := range w.Interactions {
			matters := toned("no", toneMuted)
			if i.Matters {
				matters = toned("yes", toneWarn)
			}
			t.add(text(figure.Spaced(w.Metric)), text(cmp.Or(i.Plain, i.Knob)), text(figure.Times(i.First.Estimate())),
				text(figure.Times(i.Second.Estimate())), text(figure.Times(i.OfRatios.Estimate())), matters,
				text(i.Words))
		}
	}
	return t
}

// kindsTable shows the paths of a point by kind.
func (v view) kindsTable(at string) table {
	t := table{ID: "kinds", Title: "Where the time of " + figure.Article(v.Operation) + " goes at " + v.at(at),
		Keys:    2,
		Note:    "seconds on the critical path by kind, and their share of it",
		Columns: []column{words("variant"), words("path"), numbers("whole")}}
	for _, kind := range lab.SegmentKinds() {
		t.Columns = append(t.Columns, numbers(string(kind)))
	}
	for _, x := range v.variants() {
		for _, p := range v.paths(x.Name, at) {
			row := []cell{text(x.Name), text(v.shareWords(p.Share)), text(figure.Amount(p.Seconds, "s"))}
			for _, kind := range lab.SegmentKinds() {
				var seconds float64
				if i := slices.IndexFunc(p.Kinds, func(k lab.SegmentTime) bool { return k.Kind == kind }); i >= 0 {
					seconds = p.Kinds[i].Seconds
				}
				row = append(row, partCell(seconds, p.Seconds))
			}
			t.add(row...)
		}
	}
	return t
}

// partCell shows a part of a path with its share.
func partCell(seconds, whole float64) cell {
	if seconds == 0 || whole == 0 {
		return toned(absent, toneMuted)
	}
	return text(fmt.Sprintf("%s (%s)", figure.Amount(seconds, "s"), figure.Percent(seconds/whole)))
}

// pathTables returns the segments of every path at a point.
func (v view) pathTables(at string) []table {
	var tables []table
	for i, p := range v.Paths {
		if p.Point.Name != at || v.struckOut(p.Variant) || v.isTwin(p.Variant) {
			continue
		}
		t := table{ID: fmt.Sprintf("path-%d", i), Title: fmt.Sprintf("Path of %s, %s (%s, trial %d)", p.Variant,
			v.shareWords(p.Share), p.Operation, p.Trial), Keys: 1,
			Note: fmt.Sprintf("from the intended start to the final state, at %s; chosen from %d traced %ss",
				v.at(at), p.Sampled, v.Operation),
			Columns: []column{words("unit"), words("kind"), words("what"), numbers("begins"), numbers("takes")}}
		for _, s := range p.Segments {
			t.add(text(s.Unit), text(string(s.Kind)), text(s.Name), text(figure.Amount(s.Start, "s")),
				partCell(s.Seconds, p.Seconds))
		}
		tables = append(tables, t)
	}
	return tables
}

// usageTable shows what each unit used at a point, and the network where that is known.
func (v view) usageTable(at string) table {
	t := table{ID: "usage-" + at, Title: "CPU and memory by unit at " + v.at(at), Keys: 2,
		Note: fmt.Sprintf("medians over trials, n=%d blocks; the generator is in no sum", v.Blocks),
		Columns: []column{words("variant"), words("unit"), numbers("CPU per " + v.Operation),
			numbers("share of one processor"), numbers("peak memory")}}
	if v.foreign() {
		t.Title = "Who costs what: CPU and memory by process at " + v.at(at)
	}
	network := slices.ContainsFunc(v.Usages, func(u lab.RoleUsage) bool { return u.NetworkPerOperation > 0 })
	if network {
		t.Columns = append(t.Columns, numbers("network per "+v.Operation))
	}
	row := func(variant, unit string, u lab.RoleUsage, tone tone) {
		cells := usageCells(variant, unit, u, tone)
		if !network {
			cells = cells[:len(cells)-1]
		}
		t.add(cells...)
	}
	for _, x := range v.variants() {
		for _, u := range v.usages(x.Name, at) {
			tone := toneNone
			if u.Role == lab.RoleGenerator {
				tone = toneMuted
			}
			row(x.Name, u.Role, u, tone)
		}
		for _, sum := range v.UsageSums {
			if sum.Variant == x.Name && sum.Point.Name == at && !v.struckOut(x.Name) {
				row(x.Name, "sum without generator", sum, toneNone)
			}
		}
	}
	return t
}

// usageCells returns one row of the uses, the network last. Nothing used is nothing measured.
func usageCells(variant, unit string, u lab.RoleUsage, tone tone) []cell {
	shown := func(value float64, words string) cell {
		if value == 0 {
			return toned(absent, toneMuted)
		}
		return toned(words, tone)
	}
	return []cell{text(variant), toned(unit, tone),
		shown(u.CPUPerOperation, figure.Amount(u.CPUPerOperation, "s")),
		shown(u.CPUShare, figure.Percent(u.CPUShare)), shown(u.PeakMemory, figure.Amount(u.PeakMemory, "B")),
		shown(u.NetworkPerOperation, figure.Amount(u.NetworkPerOperation, "B"))}
}

// otherUsages returns the tables at the points that are not shown first.
func (v view) otherUsages(shown string) []table {
	var tables []table
	for _, p := range v.Points {
		if p.Name != shown {
			tables = append(tables, v.usageTable(p.Name), v.platformTable(p.Name))
		}
	}
	return tables
}

// costTable shows all that one operation costs, with the variants that ran where they stand side by side:
// CPU by unit, and all that the system has counted per operation.
func (v view) costTable() table {
	at := v.reference()
	t := table{ID: "per-operation", Title: fmt.Sprintf("What one %s costs at %s", v.Operation, v.at(at)),
		Keys: 1, Columns: []column{words("cost")},
		Note: "CPU by unit: medians over trials; all else: means with intervals; " + v.sample()}
	counts := slices.DeleteFunc(slices.Clone(v.Metrics), func(m lab.Metric) bool {
		return m.Per != lab.PerOperation || m.Source != lab.FromSystem || m.Kind != lab.KindCount
	})
	if len(counts) == 0 {
		return t
	}
	shown := those(v.variants(), func(x lab.Variant) bool {
		return slices.ContainsFunc(v.Results, func(r lab.Result) bool {
			return r.Variant == x.Name && r.Point.Name == at
		})
	})
	for _, x := range shown {
		t.Columns = append(t.Columns, numbers(x.Name))
	}
	for _, role := range v.rolesAt(at) {
		costRow(&t, shown, "CPU: "+role, func(variant string) cell { return v.roleCell(variant, at, role) })
	}
	if all, ok := lab.FindMetric(v.Metrics, lab.CPU, 0, lab.PerOperation); ok {
		counts = append([]lab.Metric{all}, counts...)
	}
	if memory, ok := lab.FindMetric(v.Metrics, lab.Memory, 0, ""); ok {
		counts = append(counts, memory)
	}
	for _, m := range counts {
		costRow(&t, shown, m.Title, func(variant string) cell { return v.resultCell(m.Name, variant, at) })
	}
	return t
}

// costRow adds a row with a cell per variant, unless nothing was measured.
func costRow(t *table, variants []lab.Variant, title string, of func(variant string) cell) {
	row, measured := []cell{text(title)}, false
	for _, x := range variants {
		c := of(x.Name)
		measured = measured || c.Text != absent
		row = append(row, c)
	}
	if measured {
		t.add(row...)
	}
}

// rolesAt returns the roles of all variants at a point but the generator, in the
// order in which they come.
func (v view) rolesAt(point string) []string {
	var roles []string
	for _, x := range v.variants() {
		for _, u := range v.usages(x.Name, point) {
			if u.Role != lab.RoleGenerator && u.CPUPerOperation > 0 && !slices.Contains(roles, u.Role) {
				roles = append(roles, u.Role)
			}
		}
	}
	return roles
}

func (v view) roleCell(variant, point, role string) cell {
	for _, u := range v.usages(variant, point) {
		if u.Role == role && u.CPUPerOperation > 0 {
			return text(figure.Amount(u.CPUPerOperation, "s"))
		}
	}
	return toned(absent, toneMuted)
}

func (v view) resultCell(metric, variant, point string) cell {
	r, ok := v.results[place{metric, variant, point}]
	if !ok || v.struckOut(variant) {
		return toned(absent, toneMuted)
	}
	return text(figure.Quantity(r.Estimate(), r.Unit))
}

// quantileOf returns the value at a share that is kept.
func quantileOf(quantiles []lab.Quantile, share float64) (float64, bool) {
	i := slices.IndexFunc(quantiles, func(q lab.Quantile) bool { return q.Share == share })
	if i < 0 {
		return 0, false
	}
	return quantiles[i].Value, true
}

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// ids returns the ids of the sections of an analysis, in order.
func ids(a lab.Analysis) []string {
	var all []string
	for _, s := range newView(a).sections() {
		all = append(all, s.ID)
	}
	return all
}

func TestSectionsComeInTheOrderOfTheQuestions(t *testing.T) {
	want := []string{"verdicts", "ratios", "curves", "spectra", "waterfall", "architecture", "paths", "usage",
		"cost", "staleness", "trust"}
	if got := ids(fixture(t, "shop-under-load.json")); !slices.Equal(got, want) {
		t.Errorf("under load: %v, want %v", got, want)
	}
	job := []string{"verdicts", "ratios", "ladder", "points", "trends", "cost", "claims", "published", "trust"}
	if got := ids(fixture(t, "analysis.json")); !slices.Equal(got, job) {
		t.Errorf("a job: %v, want %v: it has nothing to do with load", got, job)
	}
}

func TestSectionsStandOnTheirOwnData(t *testing.T) {
	for id, without := range map[string]func(*lab.Analysis){
		"spectra":   func(a *lab.Analysis) { a.Spectra = nil },
		"waterfall": func(a *lab.Analysis) { a.Waterfalls = nil },
		"paths":     func(a *lab.Analysis) { a.Paths = nil }, "usage": func(a *lab.Analysis) { a.Usages = nil },
	} {
		a := fixture(t, "shop-under-load.json")
		without(&a)
		got := ids(a)
		if slices.Contains(got, id) || !slices.Contains(got, "curves") || !slices.Contains(got, "cost") {
			t.Errorf("without the data of %s: sections %v", id, got)
		}
	}
	a := fixture(t, "shop-under-load.json")
	a.Curves = nil
	got := ids(a)
	drawn := newView(a).drawnCurves("curve")
	if len(drawn) > 0 || !slices.Contains(got, "spectra") {
		t.Errorf("without curves: sections %v, drawn %v", got, drawn)
	}
}

func TestTerminalUnderLoadLooksAsAgreed(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	golden(t, "terminal-loaded.golden", []byte(terminal(t, a, Options{})))
	golden(t, "terminal-loaded-full.golden", []byte(terminal(t, a, Options{Full: true})))
}

func TestARateThatMissedItsObjectiveIsMarkedInTheTable(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	m, _ := newView(a).finishTime()
	before := newView(a).curveCell(m, a.Baseline, "at-80").Text
	for i := range a.Curves {
		for k := range a.Curves[i].Points {
			a.Curves[i].Points[k].Missed = true
		}
	}
	if got := newView(a).curveCell(m, a.Baseline, "at-80"); got.Text != "* "+before || got.Tone != toneWarn {
		t.Errorf("where the objective was missed the cell is %+v, want * and %s", got, before)
	}
	for _, text := range []string{newView(a).curveTable(m).Note, newView(a).curvesSection().Caption} {
		if !strings.Contains(text, "objective") || !strings.Contains(text, "missed") {
			t.Errorf("%q does not explain the mark of a missed objective", text)
		}
	}
}

// TestCoursesShowWhatTheSystemUsed beside the load, and name the variants that were not metered.
func TestCoursesShowWhatTheSystemUsed(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	seconds := func(values ...float64) (all []*float64) {
		for i := range values {
			all = append(all, &values[i])
		}
		return all
	}
	for i, variant := range []string{"monolith", "sync", "async"} {
		c := lab.TrialCourse{Variant: variant, Point: "at-80", Trial: i + 1, End: []float64{1, 2},
			Rate: []float64{80, 79}, Median: seconds(0.01, 0.02), P99: seconds(0.03, 0.04)}
		a.Courses = append(a.Courses, c)
	}
	kinds := func() (all []string) {
		for _, p := range newView(a).coursesSection().Plots {
			all = append(all, p.Metric)
		}
		return all
	}
	if got := kinds(); fmt.Sprint(got) != "[median p99 rate]" ||
		strings.Contains(newView(a).coursesSection().Caption, "CPU") {
		t.Errorf("without metered units the plots are %v", got)
	}
	a.Courses[0].Used = &lab.UsageCourse{End: []float64{1.2, 2.4}, Cores: []float64{0.5, 1.25},
		Memory: []int64{10 << 20, 20 << 20}}
	a.Courses[1].Used = &lab.UsageCourse{End: []float64{1}, Cores: []float64{2},
		Unavailable: map[string]string{"memory": "why not"}}
	s := newView(a).coursesSection()
	if got := kinds(); fmt.Sprint(got) != "[median p99 rate cores memory]" {
		t.Errorf("the plots are %v", got)
	}
	for _, want := range []string{"all units but the generator", "No memory of sync: why not.",
		"Of async it was not metered."} {
		if !strings.Contains(s.Caption, want) {
			t.Errorf("the caption does not say %q: %s", want, s.Caption)
		}
	}
	again := a.Courses[1]
	again.Used = nil
	a.Courses = append(a.Courses, again, a.Courses[0])
	for _, want := range []string{"No memory of sync in 1 of 2 trials: why not.",
		"Of sync it was not metered in 1 of 2 trials."} {
		if caption := newView(a).coursesSection().Caption; !strings.Contains(caption, want) {
			t.Errorf("the caption does not say %q: %s", want, caption)
		}
	}
	if rows := fmt.Sprint(s.Folded[0].Rows); !strings.Contains(rows,
		"{0.500 to 1.25 } {10.0 MiB to 20.0 MiB }") || !strings.Contains(rows, "{2.00 to 2.00 } {- }") {
		t.Errorf("the rows are %s", rows)
	}
}

func TestLoadsAreNamedByTheirRate(t *testing.T) {
	for want, l := range map[string]load{"80/s": {point: "at-80", rate: 80},
		"calm (41.67/s)":    {point: "calm", rate: 2500.0 / 60},
		"rate-8000 (800/s)": {point: "rate-8000", rate: 800}} {
		if got := l.String(); got != want {
			t.Errorf("%+v is named %q, want %q", l, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	for objective, want := range map[string]map[string]float64{
		"":                          {},
		"p99<100ms,errors<0.1%":     {"p99": 0.1},
		"p50<=200us, p99.9 < 1.5s":  {"p50": 0.0002, "p999": 1.5},
		"p50<80µs,p95<1m,p99<1m30s": {"p50": 0.00008, "p95": 60, "p99": 90},
		"service.p99<1ms,max<3s":    {},
		"p99<0ms":                   {},
	} {
		if got := limits(objective); !maps.EqualFunc(got, want,
			func(a, b float64) bool { return fmt.Sprintf("%.9g", a) == fmt.Sprintf("%.9g", b) }) {
			t.Errorf("limits of %q are %v, want %v", objective, got, want)
		}
	}
	v := newView(fixture(t, "shop-under-load.json"))
	if v.limit(v.metric("response_time_p99")) != 0.1 || v.limit(v.metric("response_time_p50")) != 0 ||
		v.limit(v.metric("completion_time_p99")) != 0 || v.limit(v.metric("capacity")) != 0 {
		t.Error("the objective limits the 99th percentile of the response time to 100 ms and nothing else")
	}
	if caption := v.curvesSection().Caption; !strings.Contains(caption, "Dashed line") {
		t.Errorf("the caption does not explain the dashed line: %s", caption)
	}
	v.Objective = "errors<0.1%"
	if caption := v.curvesSection().Caption; strings.Contains(caption, "Dashed line") {
		t.Errorf("there is no dashed line, and the caption explains one: %s", caption)
	}
}

// TestVariantsThatBrokeARuleHaveNoCapacityAndNoCost: neither have those whose twin broke one. Only their
// means are shown.
func TestVariantsThatBrokeARuleHaveNoCapacityAndNoCost(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	a.Variants = append(a.Variants, lab.Variant{Name: "again", TwinOf: "async"})
	a.Audit["again"] = lab.AuditSum{Verdict: lab.AuditInvalid}
	a.Usages = slices.DeleteFunc(a.Usages, func(u lab.RoleUsage) bool { return u.Variant == "async" })
	v := newView(a)
	if shown := v.capacityTable(); len(shown.Rows) == 0 || strings.Contains(fmt.Sprint(shown), "async") {
		t.Errorf("the table of capacities has the variant that broke a rule: %v", shown)
	}
	cost := v.costTable()
	column := slices.IndexFunc(cost.Columns, func(c column) bool { return c.Name == "async" })
	if column < 0 || len(cost.Rows) == 0 {
		t.Fatalf("the table of costs lacks rows, or the variant: %v", cost)
	}
	for _, row := range cost.Rows {
		if row[column].Text != absent {
			t.Errorf("the table of costs shows the variant that broke a rule: %v", row)
		}
	}
}

// TestWarmUpsHaveATable on the page and in the terminal, if they lasted until the load was steady.
func TestWarmUpsHaveATable(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	for _, text := range trustTexts(a) {
		if strings.Contains(text, "Warm-up until") {
			t.Errorf("there was none: %s", text)
		}
	}
	warm := lab.WarmUps{Variant: "sync", Point: a.Points[0], Trials: 3, Steady: 1, Seconds: 7.5, Longest: 8,
		Factor: 3.2, Courses: map[string]int{"warm-up": 1, "no steady state": 2}}
	steady := warm
	steady.Variant = "monolith"
	steady.Steady = 2
	a.WarmUps = []lab.WarmUps{steady, warm}
	rows := newView(a).warmUpTable().Rows
	if got := fmt.Sprint(rows); got != "[[{monolith } {at-20 } {2 of 3 } {7.50 s } {8.00 s } {3.20x } {2 no "+
		"steady state, 1 warm-up }] [{sync } {at-20 } {1 of 3 warn} {7.50 s } {8.00 s } {3.20x } {2 no steady "+
		"state, 1 warm-up }]]" {
		t.Errorf("rows %s", got)
	}
	onPage := slices.ContainsFunc(trustTexts(a), func(text string) bool {
		return strings.Contains(text, "Warm-up until")
	})
	var terminal strings.Builder
	if err := Terminal(&terminal, a, Options{}); err != nil || !onPage ||
		!strings.Contains(terminal.String(), "Warm-up until the load was steady") {
		t.Errorf("the table is not among those of the page (%t) or the terminal, %v", onPage, err)
	}
}

// trustTexts returns the tables of the section on trust.
func trustTexts(a lab.Analysis) []string {
	var all []string
	for _, table := range filled(newView(a).trustSection().Shown...) {
		all = append(all, fmt.Sprint(table))
	}
	return all
}

func TestCostTableAddsUp(t *testing.T) {
	v := newView(fixture(t, "shop-under-load.json"))
	if shown := newView(fixture(t, "analysis.json")).costTable(); !shown.empty() {
		t.Errorf("a job has a table of counts: %v", shown)
	}
	costs := v.costTable()
	var names []string
	for _, row := range costs.Rows {
		names = append(names, row[0].Text)
	}
	for _, want := range []string{"CPU: database", "CPU: orders", "SQL statements per order",
		"messages per order", "fsyncs per order"} {
		if !slices.Contains(names, want) {
			t.Errorf("no row %q among %q", want, names)
		}
	}
	if slices.Contains(names, "CPU: generator") {
		t.Error("the generator is a cost of the system")
	}
	columns := len(costs.Columns)
	v.Variants = append(slices.Clone(v.Variants), lab.Variant{Name: "elsewhere"})
	if got := len(v.costTable().Columns); got != columns {
		t.Errorf("%d columns, want %d: a variant that was not measured there has none", got, columns)
	}
}

// TestTheTerminalShowsTablesAtAPointThatHasThem, as the page does, if the point of the answer has only a
// capacity.
func TestTheTerminalShowsTablesAtAPointThatHasThem(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	a.Operations = []lab.OperationTimes{{Variant: a.Baseline, Point: a.Points[0], Name: "write", Sent: 60}}
	a.Answer.Point = "capacity"
	var got []string
	for _, table := range newView(a).loadTables(true) {
		got = append(got, table.ID)
	}
	for _, want := range []string{"kinds", "usage-at-20", "operations-at-20", "per-operation"} {
		if !slices.Contains(got, want) {
			t.Errorf("no table %q among %q", want, got)
		}
	}
}

// TestAPlotHasMoreThanOnePoint: with one point or one trial there are only tables.
func TestAPlotHasMoreThanOnePoint(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	plots := func() (cost, drift int) {
		v := newView(a)
		return len(v.costSection().Plots), len(v.trustSection().Plots)
	}
	if cost, drift := plots(); cost == 0 || drift == 0 {
		t.Errorf("%d plots of costs and %d of the drift over several points and blocks", cost, drift)
	}
	a.Results = slices.DeleteFunc(a.Results, func(r lab.Result) bool { return r.Point.Name != "at-80" })
	for i := range a.Results {
		a.Results[i].N = 1
	}
	if cost, drift := plots(); cost != 0 || drift != 0 {
		t.Errorf("%d plots of costs and %d of the drift with one point and one block", cost, drift)
	}
	if s := newView(a).costSection(); strings.Contains(s.HowTo, "row") || len(filled(s.Shown...)) < 2 {
		t.Errorf("the tables are not shown in place of the plot: %q, %d shown", s.HowTo, len(s.Shown))
	}
}

// TestTheLadderNamesItsOwnPoint, which need not be that of the answer.
func TestTheLadderNamesItsOwnPoint(t *testing.T) {
	a := fixture(t, "three-variants.json")
	a.Answer.Point = "s5"
	if got := newView(a).ladderTable().Title; !strings.HasSuffix(got, " at s1") {
		t.Errorf("the rungs are of s1, and the title is %q", got)
	}
}

// TestTwinsAreNoVariants: a twin is audited with its variant and not counted.
func TestTwinsAreNoVariants(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	if s := newView(a).trustSentences()[0]; !strings.HasPrefix(s, "3 audited variants kept the rules") {
		t.Errorf("%q", s)
	}
	for name := range a.Audit {
		if !strings.HasPrefix(name, "monolith") {
			delete(a.Audit, name)
		}
	}
	if s := newView(a).trustSentences()[0]; !strings.HasPrefix(s, "1 audited variant kept the rules") {
		t.Errorf("%q", s)
	}
}

func TestManyMetricsMakeATallMatrix(t *testing.T) {
	tall := newView(fixture(t, "shop-under-load.json")).matrixTable(true)
	if len(tall.Columns) != 3 || tall.Columns[0].Name != "metric" || tall.Columns[2].Name != "async" ||
		len(tall.Rows) <= widestMatrix {
		t.Errorf("columns %+v and %d rows, want a row per metric and a column per variant", tall.Columns,
			len(tall.Rows))
	}
	i := slices.IndexFunc(tall.Rows, func(row []cell) bool { return row[0].Text == "capacity" })
	if i < 0 || !strings.HasPrefix(tall.Rows[i][2].Text, "0.421x") {
		t.Errorf("the capacity, which was searched at a point of its own, is not in the matrix: %v", tall.Rows)
	}
}

// TestLargeStudyFitsIntoAPage with as many distributions as a study of twelve variants
// at five rates over twenty blocks.
func TestLargeStudyFitsIntoAPage(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	a.Spectra = slices.Concat(a.Spectra, a.Spectra, a.Spectra, a.Spectra)
	for i, s := range a.Spectra {
		for len(s.Trials) < 20 {
			s.Trials = append(s.Trials, s.Trials[0])
		}
		a.Spectra[i] = s
	}
	if page := html(t, a); len(page) > largestPage {
		t.Errorf("%d bytes, want at most %d", len(page), largestPage)
	}
}

// TestTimesOfLateLoadsAreNotShown: operations that were sent too late have no response time, rather than one
// of 0 s.
func TestTimesOfLateLoadsAreNotShown(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	point := lab.Point{Name: "late"}
	a.Operations = []lab.OperationTimes{{Variant: a.Variants[0].Name, Point: point, Name: "write", Sent: 60},
		{Variant: a.Variants[0].Name, Point: point, Name: "read", Sent: 60, Median: 1, P99: 2, Longest: 3}}
	rows := newView(a).operationsTable("late").Rows
	if len(rows) != 2 || rows[0][2].Text != absent || rows[1][2].Text != "1.00 s" {
		t.Errorf("the rows are %v", rows)
	}
}

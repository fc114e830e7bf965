package ci

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

const (
	gib           = 1 << 30
	hoursPerMonth = 730 // by which cloud providers convert hourly prices
)

// Need holds the requirements of a decision.
type Need struct {
	Rate   float64 // operations per second; 0: the highest rate of all points
	Prices *Prices // nil: without prices
	Again  string  // the commands that repeat the run and write this page again
}

// Prices holds prices per hour.
type Prices struct {
	Currency   string
	Core       float64 // for a core
	MemoryGiB  float64 // for a GiB of memory
	PricedFrom string  // the file that the prices come from
}

// Decision writes a page for a record of an architecture decision: the question, the answer,
// the cores and memory that each variant needs at the user's rate and their price, the
// confidence, what was not tested, and the commands that repeat the run. It leaves the
// decision to the reader.
func Decision(w io.Writer, r Run, need Need) error {
	a := r.Analysis
	d := document{}
	d.line("# %s", escaped(a.Title))
	d.line("Status: proposed. Measured on %s UTC with seed %d.", r.Began.UTC().Format("2006-01-02 15:04"),
		a.Seed)
	d.line("## Question")
	names := strings.Join(a.VariantNames(), ", ")
	d.line("Which of %s, and what does it cost?", escaped(names))
	d.line("## Answer")
	d.line("**%s**", escaped(a.Answer.Sentence))
	d.table(headlineRows(a.Answer.Headline))
	d.part("Withheld", strings.Join(a.Answer.Withheld, " "))
	d.rehearsed(a.Rehearsed)
	d.resources(a, need)
	d.line("## How sure")
	d.line("%s", escaped(strings.Join(a.Answer.Sure, " ")))
	d.line("## Not tested")
	d.line("%s", escaped(strings.Join(a.Answer.NotTested, ", ")))
	d.line("## Again")
	d.line("```\n%s\n```", need.Again)
	d.line("## Decision")
	d.line("(To be written: what is chosen, and what follows from it.)")
	return write(w, "decision", d.String(), nil)
}

// rehearsed writes the figures of the system after the rehearsed change: those measured of the present
// system, times the rehearsed ratios.
func (d *document) rehearsed(figures []lab.RehearsedFigure) {
	if len(figures) == 0 {
		return
	}
	d.line("## What the change would take")
	d.line("What was measured of the system as it is, times the ratio that was rehearsed. All other figures " +
		"of this page are of units that stood in for the system.")
	rows := [][]string{{"at", "", "measured as it is", "changed / as it is", "with the change"}}
	for _, f := range figures {
		ratio := "not rehearsed"
		with := quantity(f.Changed, f.Unit)
		if f.Ratio != nil {
			ratio = figure.Times(*f.Ratio)
		}
		if f.Changed == nil {
			with = "withheld: " + f.Withheld
		}
		rows = append(rows, []string{f.Point.Name, f.What, quantity(f.Measured, f.Unit), ratio, with})
	}
	d.table(rows)
}

// resources writes how many cores and how much memory each variant needs at the user's rate. The cores are
// the processor time of an operation at the closest point, times the user's rate. The memory is that at this
// point.
func (d *document) resources(a lab.Analysis, need Need) {
	cpu, _ := lab.FindMetric(a.Metrics, lab.CPU, 0, lab.PerOperation)
	memory, _ := lab.FindMetric(a.Metrics, lab.Memory, 0, "")
	point, measured := closestPoint(a, need.Rate, cpu.Name, memory.Name)
	rate := cmp.Or(need.Rate, measured)
	if rate <= 0 || point == "" {
		d.line("Cores and memory are missing: the load has no rate, and none was given with --rate, or the " +
			"system was not metered.")
		return
	}
	d.line("## What it takes at %s %ss per second", lab.Plain(rate), escaped(a.Operation))
	head := []string{"variant", "cores", "memory"}
	if need.Prices != nil {
		head = append(head, oneLine(need.Prices.Currency)+" per month")
	}
	rows := [][]string{head}
	for _, name := range a.VariantNames() {
		if a.StruckOut(name) {
			d.line("**%s is left out:** it broke a rule of the system.", escaped(name))
			continue
		}
		cores := times(resultOf(a, name, point, cpu.Name), rate)
		bytes := resultOf(a, name, point, memory.Name)
		row := []string{name, quantity(cores, "1"), quantity(bytes, "B")}
		if p := need.Prices; p != nil {
			month := sum(times(cores, p.Core*hoursPerMonth), times(bytes, p.MemoryGiB*hoursPerMonth/gib))
			row = append(row, quantity(month, "1"))
		}
		rows = append(rows, row)
	}
	d.table(rows)
	for _, held := range a.Held {
		isHeld := held.Held == held.Trials
		if held.Point == point && !isHeld && !a.StruckOut(held.Variant) {
			d.line("**%s did not hold %s per second** (missed in %d of %s: %s): it needs more than it took here.",
				escaped(held.Variant), lab.Plain(held.Rate*operationsPerFlow(a, point)), held.Trials-held.Held,
				lab.Count(held.Trials, "trial"), escaped(held.Missed))
		}
	}
	how := fmt.Sprintf("Cores: processor time of an operation at %s, times the rate; memory: the peak of all "+
		"parts at %s; with %s intervals. Spare capacity is not included.", escaped(point), escaped(point),
		figure.Setting(a.Confidence))
	if measured != rate {
		closest := "the load had no rate"
		if measured > 0 {
			closest = "the closest was " + lab.Plain(measured)
		}
		how += fmt.Sprintf(" **%s per second was not measured:** %s, and what an operation takes may be another "+
			"there.", lab.Plain(rate), closest)
	}
	if p := need.Prices; p != nil {
		currency := escaped(p.Currency)
		how += fmt.Sprintf(" Prices: %s %s for a core and %s %s for a GiB of memory an hour (%s), "+
			"%d hours a month.", number(p.Core), currency, number(p.MemoryGiB), currency,
			escaped(p.PricedFrom), hoursPerMonth)
	}
	d.line("%s", how)
}

// closestPoint looks at the points that have a result of one of the metrics. It returns the point whose
// offered rate is closest to the given rate on a log scale, and this offered rate in operations per second.
// For the rate 0 it returns the point with the highest offered rate. If no point has a rate, it returns the
// first point and 0, and if no point has a result, "" and 0.
func closestPoint(a lab.Analysis, rate float64, metrics ...string) (name string, offered float64) {
	best := math.Inf(1)
	for _, p := range a.Points {
		measured := slices.ContainsFunc(a.Results, func(r lab.Result) bool {
			return r.Point.Name == p.Name && slices.Contains(metrics, r.Metric)
		})
		if !measured {
			continue
		}
		name = cmp.Or(name, p.Name)
		at, _ := p.Rate()
		at *= operationsPerFlow(a, p.Name)
		if at <= 0 {
			continue
		}
		distance := -at // without a rate, the highest is the closest
		if rate > 0 {
			distance = math.Abs(math.Log(at / rate))
		}
		if distance < best {
			name = p.Name
			offered = at
			best = distance
		}
	}
	return name, offered
}

// operationsPerFlow returns the number of operations of a flow at a point: the largest of all variants, and
// at least 1. It is needed because points set rates in flows, but costs are per operation.
func operationsPerFlow(a lab.Analysis, point string) float64 {
	most := 1.0
	for _, c := range a.Curves {
		for _, p := range c.Points {
			if p.Point == point && p.Offered > 0 {
				most = max(most, p.Due/p.Offered)
			}
		}
	}
	return most
}

// resultOf returns the estimate of a metric of a variant at a point, or nil if it was not measured.
func resultOf(a lab.Analysis, variant, point, metric string) *lab.Estimate {
	if metric == "" {
		return nil
	}
	for _, r := range a.Results {
		if r.Variant == variant && r.Point.Name == point && r.Metric == metric {
			return new(r.Estimate())
		}
	}
	return nil
}

// times returns an estimate multiplied by a factor; nil stays nil.
func times(e *lab.Estimate, factor float64) *lab.Estimate {
	if e == nil {
		return nil
	}
	return new(e.Times(factor))
}

// sum adds two estimates. It also adds the bounds of their intervals if both have one: that makes the
// interval of the sum rather too wide than too narrow. It returns nil if one of the estimates is nil.
func sum(a, b *lab.Estimate) *lab.Estimate {
	if a == nil || b == nil {
		return nil
	}
	total := lab.Estimate{Value: a.Value + b.Value}
	if figure.HasInterval(*a) && figure.HasInterval(*b) {
		total = figure.Between(total.Value, *a.Low+*b.Low, *a.High+*b.High)
	}
	return &total
}

// quantity formats an estimate; nil: "not measured".
func quantity(e *lab.Estimate, unit string) string {
	if e == nil {
		return "not measured"
	}
	return figure.Quantity(*e, unit)
}

package predict

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// Write prints the answer, with what it was checked against and what it does not model.
func (a Answer) Write(w io.Writer) error {
	return a.write(w, a.Question.Change.String(), a.writeOutcomes, func(b io.Writer) {
		a.writeCauses(b, "Where the mean response time comes from", a.Causes)
		a.writeCauses(b, "Where the CPU time of an operation comes from", a.CPUCauses)
		a.writeUnits(b)
		a.writeRecord(b)
	})
}

// writeRecord prints a summary for the record of a decision.
func (a Answer) writeRecord(w io.Writer) {
	q := a.Question
	time, _, cpu := worst(a.Checks)
	fmt.Fprint(w, "\nFor the record of a decision\n")
	fmt.Fprintf(w, "  %s: %s. At %g operations a second on %s an operation would\n", q.Model.Name, q.Change,
		q.Rate, cores(q.Cores))
	fmt.Fprintf(w, "  take %s of its CPU time (%s cores in the place of %s)\n  and %s of its median time.\n",
		times(a.CPU), quantity(a.Changed.Cores, ""), quantity(a.AsIs.Cores, ""), times(a.Median))
	sides := []struct {
		words string
		Outcome
	}{{"The capacity would be", a.Changed}, {"It is", a.AsIs}}
	if a.CapacityWithheld {
		fmt.Fprint(w, "  The capacity is withheld: one that was measured is predicted wrongly.\n")
		sides = nil
	}
	for _, side := range sides {
		fmt.Fprintf(w, "  %s %s, limited by %s.\n", side.words, quantity(side.Capacity, "1/s"), side.CapacityBy)
	}
	responses := " and response times within " + figure.Percent(time)
	if !slices.ContainsFunc(a.Checks, func(c Check) bool { return c.Time.Measured > 0 }) {
		responses = "; no response time was measured"
	}
	fmt.Fprintf(w, "  Simulated from a model (%s), not measured. Of what was\n  measured it predicts CPU times "+
		"within %s%s.\n", cmp.Or(q.Model.About, "of unknown origin"), figure.Percent(cpu), responses)
}

// write prints an answer: what first writes, the self-check, the limits, and what last writes. If the answer
// is withheld, it prints the reasons in the place of what first and last write.
func (a Answer) write(w io.Writer, about string, first, last func(io.Writer)) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %g operations a second: %s\n\n", a.Question.Model.Name, a.Question.Rate, about)
	if len(a.Withheld) > 0 {
		b.WriteString("The answer is withheld:\n")
		for _, reason := range a.Withheld {
			fmt.Fprintf(&b, "  * %s\n", reason)
		}
	} else {
		first(&b)
	}
	a.writeChecks(&b)
	b.WriteString("\nLimits of the method\n")
	for _, limit := range a.Limits {
		fmt.Fprintf(&b, "  * %s\n", limit)
	}
	if len(a.Withheld) == 0 {
		last(&b)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the prediction: %w", err)
	}
	return nil
}

// quantity writes an estimate in its unit.
func quantity(e stats.Estimate, unit string) string {
	return figure.Quantity(between(e), unit)
}

// times writes a ratio.
func times(e stats.Estimate) string { return figure.Times(between(e)) }

// writeOutcomes prints both placements side by side.
func (a Answer) writeOutcomes(w io.Writer) {
	fmt.Fprintf(w, "An operation would take %s of its median time and %s of its CPU time.\n\n", times(a.Median),
		times(a.CPU))
	row := func(what string, of func(Outcome) string, ratio string) []string {
		return []string{what, of(a.AsIs), of(a.Changed), ratio}
	}
	withheld := func(Outcome) string { return "withheld" }
	tail := func(o Outcome) string { return quantity(o.P99, "s") }
	tailRatio := times(a.P99)
	if a.TailWithheld {
		tail, tailRatio = withheld, ""
	}
	capacity := func(o Outcome) string { return quantity(o.Capacity, "1/s") }
	limitedBy := func(o Outcome) string { return o.CapacityBy }
	if a.CapacityWithheld {
		capacity, limitedBy = withheld, withheld
	}
	rows := [][]string{
		{"", "as it is", "changed", "changed / as it is"},
		row("median response time", func(o Outcome) string { return quantity(o.Median, "s") }, times(a.Median)),
		row("99th percentile", tail, tailRatio),
		row("CPU per operation", func(o Outcome) string { return quantity(o.CPU, "s") }, times(a.CPU)),
		row("cores used", func(o Outcome) string { return quantity(o.Cores, "") }, ""),
		row("used most", func(o Outcome) string { return o.busiest + ": " + figure.Percent(o.utilization) }, ""),
		row("capacity", capacity, ""),
		row("  limited by", limitedBy, ""),
		row("calls between units", func(o Outcome) string { return figure.Number(figure.Alone(o.Hops)) }, ""),
	}
	if objective := a.Question.Objective.Text; objective != "" {
		rows = append(rows, row("highest rate with "+objective,
			func(o Outcome) string { return o.Held.text() }, ""))
	}
	figure.Columns(w, rows)
	fmt.Fprintf(w, "\n%.0f %% intervals: %d resampled models, widened by the largest error of the "+
		"self-check%s.\n", 100*confidence, replicateCount, a.andPast())
}

// andPast says that intervals are widened by past predictions, if there are some.
func (a Answer) andPast() string {
	if len(a.Question.Past) == 0 {
		return ""
	}
	return ",\nand by the errors of past predictions"
}

// text writes the rate, or why there is none.
func (h Held) text() string {
	switch {
	case h.Withheld != "":
		return h.Withheld
	case h.Beyond:
		return "over " + quantity(h.Estimate, "1/s")
	}
	return quantity(h.Estimate, "1/s")
}

// writeChecks prints the self-check.
func (a Answer) writeChecks(w io.Writer) {
	if len(a.Checks) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSelf-check: predictions of what was measured "+
		"(margins: CPU %.0f %%, time %.0f %%, p99 %.0f %%)\n", 100*MarginCPU, 100*MarginTime, 100*MarginTail)
	rows := [][]string{{"placement", "rate", "response time", "p99", "CPU per operation"}}
	aside := false
	for _, c := range a.Checks {
		what := "median "
		if c.OfMean {
			what = "mean "
		}
		rate := fmt.Sprintf("%g/s", c.Rate)
		if !c.Decisive {
			rate, aside = "("+rate+")", true
		}
		rows = append(rows, []string{cmp.Or(c.Placement, "as it is"), rate,
			what + c.Time.text(), c.Tail.text(), c.CPU.text()})
	}
	figure.Columns(w, rows)
	if aside {
		fmt.Fprintln(w, "  rates in brackets: others are nearer to that of the question, on which the answer hangs")
	}
	for _, c := range a.Checks {
		if beyond, passed := c.judge(); passed && beyond != "" {
			fmt.Fprintf(w, "  %s\n", beyond)
		}
	}
	if c := a.Capacity; c.Measured > 0 {
		stores := ""
		if a.StoreFactor != 1 {
			stores = fmt.Sprintf(" with stores that take %.2f times as long as at low load", a.StoreFactor)
		}
		fmt.Fprintf(w, "  capacity as it is: simulated %s%s, measured %s (%+.1f %%): both are corrected by this\n",
			figure.Amount(c.Predicted, "1/s"), stores, figure.Amount(c.Measured, "1/s"), 100*c.Error())
	}
	for _, c := range a.CapacityChecks {
		beyond, right := c.Capacity.Judge(MarginCapacity, Gap{})
		if right {
			beyond = fmt.Sprintf("%+.1f %%, margin %.0f %%", 100*c.Capacity.Error(), 100*MarginCapacity)
		}
		fmt.Fprintf(w, "  capacity of %s by %d users: predicted %s, measured %s (%s)\n", c.Placement, c.Users,
			figure.Amount(c.Capacity.Predicted, "1/s"), figure.Amount(c.Capacity.Measured, "1/s"), beyond)
	}
}

// text writes a comparison of times.
func (c Compared) text() string {
	if c.Measured == 0 {
		return "not measured"
	}
	if math.IsInf(c.Predicted, 1) {
		return "overloaded, measured " + seconds(c.Measured)
	}
	return fmt.Sprintf("%s, measured %s (%+.1f %%)", seconds(c.Predicted), seconds(c.Measured), 100*c.Error())
}

// noise is the share of the whole below which a change may be the noise of simulations.
const noise = 0.005

// writeCauses prints a waterfall from one placement to the other.
func (a Answer) writeCauses(w io.Writer, title string, causes []lab.PredictedCause) {
	fmt.Fprintf(w, "\n%s\n", title)
	rows := [][]string{{"", "as it is", "change"}}
	before := 0.0
	change := 0.0
	for _, c := range causes {
		before, change = before+c.AsIs, change+c.Change
	}
	for _, c := range causes {
		text := signed(c.Change)
		if math.Abs(c.Change) < noise*before {
			text = "about 0"
		}
		rows = append(rows, []string{c.What, seconds(c.AsIs), text})
	}
	rows = append(rows, []string{"together", seconds(before), signed(change)})
	figure.Columns(w, rows)
}

// signed writes a change of a time.
func signed(s float64) string {
	if s > 0 {
		return "+" + seconds(s)
	}
	return seconds(s)
}

// writeUnits prints the cores that each unit uses.
func (a Answer) writeUnits(w io.Writer) {
	for _, side := range []struct {
		title string
		Outcome
	}{{"as it is", a.AsIs}, {"with the change", a.Changed}} {
		fmt.Fprintf(w, "\nCores used %s\n", side.title)
		var rows [][]string
		for _, u := range side.Units {
			rows = append(rows, []string{u.Unit, figure.Number(figure.Alone(u.Cores))})
		}
		figure.Columns(w, rows)
	}
}

// Write prints the partitions, what separates each from the one before it, the self-check and the limits.
func (r Ranking) Write(w io.Writer) error {
	components := lab.Count(len(r.Question.Model.Components()), "component")
	about := fmt.Sprintf("%d partitions of %s", r.All, components)
	if len(r.Withheld) > 0 { // nobody has counted them
		about = "all partitions of " + components
	}
	if stores := r.Question.Change.String(); stores != "" {
		about += ", " + stores
	}
	return r.write(w, about, r.writePartitions, r.writeSeparations)
}

// writePartitions prints a row for each partition.
func (r Ranking) writePartitions(w io.Writer) {
	fmt.Fprintf(w, "By CPU time, the %d cheapest of each number of units:\n\n", shownOfEach)
	rows := [][]string{{"", "units, as --split takes them", "CPU per operation", "of that as it is",
		"calls between units", "median response time", "used most"}}
	for i, p := range r.Partitions {
		units := p.Placement()
		median := quantity(p.Median, "s")
		if p.AsIs {
			units += " (as it is)"
		}
		if p.Withheld != "" {
			median = "withheld: " + p.Withheld
		}
		used := "" // unknown if the partition is overloaded
		if p.Busiest != "" {
			used = p.Busiest + ": " + figure.Percent(p.Utilization)
		}
		hops := figure.Number(figure.Alone(p.Hops))
		rows = append(rows, []string{strconv.Itoa(i + 1), units, quantity(p.CPU, "s"), times(p.Ratio), hops,
			median, used})
	}
	figure.Columns(w, rows)
	fmt.Fprintf(w, "\n%.0f %% intervals of CPU times: %d resampled models, widened by the largest error of the "+
		"self-check%s.\nResponse times are of one simulation each, widened by that alone.\n",
		100*confidence, replicateCount, r.andPast())
}

// writeSeparations prints what separates each partition from the one before it.
func (r Ranking) writeSeparations(w io.Writer) {
	fmt.Fprint(w, "\nWhat separates each from the one before it, in CPU time of an operation\n")
	var rows [][]string
	for i, p := range r.Partitions[1:] {
		var all []string
		for sign, crossings := range map[string][]lab.PredictedCrossing{"+": p.Added, "-": p.Removed} {
			for _, c := range crossings {
				all = append(all, fmt.Sprintf("%s%s %s calls %s %s times", sign, seconds(c.CPU), c.From, c.To,
					figure.Number(figure.Alone(c.Calls))))
			}
		}
		slices.Sort(all)
		separation := strings.Join(all, ", ")
		rows = append(rows, []string{strconv.Itoa(i + 2), cmp.Or(separation, "nothing")})
	}
	figure.Columns(w, rows)
}

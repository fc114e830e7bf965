package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// TracesTerminal writes the comparison of two sets of traces as text: the time of an operation, by service
// and by part of the critical path, and changes in calls and errors. Options.Full shows every part.
func TracesTerminal(w io.Writer, c lab.TraceComparison, o Options) error {
	p := printer{colour: o.Colour}
	p.paragraph("", clean(c.After.Name)+" against "+clean(c.Before.Name), bold)
	p.paragraph("", fmt.Sprintf("%d and %d traces, %s intervals over %d batches of each operation",
		c.After.Traces, c.Before.Traces, figure.Setting(c.Confidence), c.Batches), faint)
	p.println("")
	p.paragraph("  ", traceAnswer(c.TraceContrast), "")
	p.tables(traceTables(c.TraceContrast, [2]string{"before", "after"}, "", o.Full))
	p.title("Trust")
	for _, s := range tracesTrust(c) {
		p.paragraph("  * ", s, "")
	}
	return p.flush(w, "one set of traces against another")
}

// traceAnswer returns sentences on the change of the time of an operation, and on the service with the
// largest change.
func traceAnswer(c lab.TraceContrast) string {
	takes := "may take as long as before"
	switch {
	case c.Seconds.Low > 0:
		takes = "takes longer"
	case c.Seconds.High < 0:
		takes = "takes less time"
	}
	answer := fmt.Sprintf("An operation %s: %s became %s, which is %s.", takes, seconds(c.Seconds.Before),
		seconds(c.Seconds.After), times(c.Ratio))
	if !decided(c.Seconds) || len(c.Services) == 0 {
		return answer
	}
	if largest := c.Services[0]; decided(largest.Path) {
		answer += fmt.Sprintf(" The largest change is in %s: %s on the critical path.", clean(largest.Service),
			changed(largest.Path, "s"))
	}
	return answer
}

// decided reports whether the interval of a change excludes zero.
func decided(c lab.TraceChange) bool { return c.Low > 0 || c.High < 0 }

// changed formats a change with its sign and interval.
func changed(c lab.TraceChange, unit string) string {
	difference := figure.Between(c.Difference, c.Low, c.High)
	return signed(c.Difference, figure.Difference(difference, unit))
}

// signed returns the text of a difference, with its sign also if it is positive.
func signed(difference float64, text string) string {
	if difference > 0 {
		return "+" + text
	}
	return text
}

// changeCells shows a time before and after, and its change. A longer time is bad.
func changeCells(c lab.TraceChange) []cell {
	tone := toneMuted
	switch {
	case c.Low > 0:
		tone = toneBad
	case c.High < 0:
		tone = toneGood
	}
	return []cell{text(seconds(c.Before)), text(seconds(c.After)), toned(changed(c, "s"), tone)}
}

// traceTables returns the tables of a comparison of traces: the time of an operation by service and by part,
// and changes in calls and errors. names are those of the two sets; suffix is appended to each title.
func traceTables(c lab.TraceContrast, names [2]string, suffix string, full bool) []table {
	tables := []table{servicesTable(c, names), workTable(c, names, full), partsTable(c, names, full),
		callsTable(c, full)}
	for i := range tables {
		tables[i].Title += suffix
		tables[i].ID += slug(suffix)
	}
	return tables
}

// servicesTable shows the time of an operation by service.
func servicesTable(c lab.TraceContrast, names [2]string) table {
	t := table{ID: "services", Title: "Where the time of an operation goes, by service", Keys: 1,
		Note: "Time on the critical path, mean of an operation. All services together make the time of an " +
			"operation.",
		Columns: columns{}.text("service").change(names)}
	for _, s := range c.Services {
		t.add(s.Service, changeCells(s.Path))
	}
	t.add("an operation", changeCells(c.Seconds))
	return t
}

// workTable shows the calls, times and shares of the critical path of services, in brief only those that have
// changed.
func workTable(c lab.TraceContrast, names [2]string, full bool) table {
	t := table{ID: "work", Title: "What each service does in an operation", Keys: 2,
		Note: "Calls are those of other services. Self time is the time in which a span waits for none that it " +
			"called, and the rest is waiting. Shares of the critical path differ by percentage points.",
		Columns: columns{}.text("service", "figure").change(names)}
	for _, s := range c.Services {
		share := lab.TraceChange{Before: 100 * s.Share.Before, After: 100 * s.Share.After,
			Difference: 100 * s.Share.Difference, Low: 100 * s.Share.Low, High: 100 * s.Share.High}
		for _, f := range []struct {
			name, unit string
			lab.TraceChange
		}{
			{"calls", "", s.Entered}, {"self time", "s", s.Self}, {"waiting", "s", s.Waiting}, {"share", "%", share},
		} {
			if full || decided(f.TraceChange) {
				t.add(s.Service, f.name, figure.Amount(f.Before, f.unit), figure.Amount(f.After, f.unit),
					changed(f.TraceChange, f.unit))
			}
		}
	}
	return t
}

// change adds the columns of two sets and of their difference.
func (c columns) change(names [2]string) columns {
	return c.number(names[0], names[1], names[1]+" - "+names[0])
}

// briefParts is the largest number of parts that are shown without --full.
const briefParts = 10

// partsTable shows the time of an operation by the operations of services.
func partsTable(c lab.TraceContrast, names [2]string, full bool) table {
	t := table{ID: "parts", Title: "Where the time of an operation goes, by operation of a service", Keys: 2,
		Note: "Time on the critical path. \"transport\" is the time of a caller in which no span of the called " +
			"service is under way: the network, a queue, or a service without spans.",
		Columns: columns{}.text("service").prose("operation").text("kind").change(names)}
	shown := c.Parts
	if !full {
		shown = shown[:min(len(shown), briefParts)]
	}
	for _, part := range shown {
		t.add(part.Service, part.Operation, part.Kind, changeCells(part.Path))
	}
	if rest := c.Parts[len(shown):]; len(rest) > 0 {
		var before, after float64
		for _, part := range rest {
			before, after = before+part.Path.Before, after+part.Path.After
		}
		others := fmt.Sprintf("%d others", len(rest))
		difference := signed(after-before, seconds(after-before))
		t.add(others, "all of them: --full", "", seconds(before), seconds(after), difference)
	}
	return t
}

// callsTable shows the calls, self times and errors of parts, in brief only of parts whose calls or errors
// have changed.
func callsTable(c lab.TraceContrast, full bool) table {
	t := table{ID: "calls", Title: "Calls, self time and errors of an operation", Keys: 2,
		Note: "For each operation, in the order of the tables above. Self time is the time in which a span waits " +
			"for none that it called; parts that go on at once both have it.",
		Columns: columns{}.text("service").prose("operation").number("calls", "then", "self time", "then",
			"errors", "then")}
	for _, part := range c.Parts {
		differs := decided(part.Calls) || decided(part.Errors)
		if full || differs {
			t.add(part.Service, part.Operation,
				figure.Rounded(part.Calls.Before), figure.Rounded(part.Calls.After),
				seconds(part.Self.Before), seconds(part.Self.After),
				figure.Rounded(part.Errors.Before), figure.Rounded(part.Errors.After))
		}
	}
	return t
}

// tracedTables returns the tables of all variants whose units have sent spans, at the point that is shown
// first.
func (v view) tracedTables(full bool) []table {
	at, _ := v.shownAt(func(point string) bool {
		return slices.ContainsFunc(v.Traced, func(t lab.TracedVariant) bool { return t.Point == point })
	})
	var tables []table
	for _, t := range v.Traced {
		if t.Point == at {
			tables = append(tables, traceTables(t.TraceContrast, [2]string{t.Baseline, t.Variant},
				": "+t.Variant+" against "+t.Baseline+" at "+v.at(at), full)...)
		}
	}
	return tables
}

// tracedSection shows the time of an operation by the spans of its units.
func (v view) tracedSection() section {
	tables := v.tracedTables(true)
	if len(tables) == 0 {
		return section{}
	}
	return section{ID: "traced", Title: "Where spans say the time goes", Shown: tables, Notes: v.tracedLimits(),
		HowTo: fmt.Sprintf("The units have sent spans of the flows that were sampled; intervals are %s, over "+
			"blocks. At every moment an operation waits for exactly one part: their times add up to its own. Large "+
			"changes are what to look at first; small ones that are grey may be chance.",
			figure.Setting(v.Confidence))}
}

// tracedLimits returns sentences on what is not in the comparisons of spans, each once: the baseline is in
// several of them.
func (v view) tracedLimits() []string {
	var sentences []string
	for _, t := range v.Traced {
		for _, s := range lostSpans(t.TraceContrast, t.Before, t.After) {
			if !slices.Contains(sentences, s) {
				sentences = append(sentences, s)
			}
		}
	}
	return sentences
}

// tracesTrust returns sentences on the limits of a comparison of traces.
func tracesTrust(c lab.TraceComparison) []string {
	sentences := []string{"The two sets were recorded at different times: what changed beside the system " +
		"between them is in the differences, and not in their intervals. Where few operations are traced, which " +
		"ones are must be left to chance in both."}
	for _, o := range c.Compared {
		sentences = append(sentences, fmt.Sprintf("Compared: %s %s, traces %d and %d, weight %s in both.",
			clean(o.Service), clean(o.Operation), o.Before, o.After, figure.Percent(o.Weight)))
	}
	return slices.Concat(sentences, lostSpans(c.TraceContrast, c.Before, c.After))
}

// lostSpans returns sentences on the operations that are left out of a comparison, and on the traces and
// spans that were cut or dropped.
func lostSpans(c lab.TraceContrast, sets ...lab.TraceSet) []string {
	var sentences []string
	for _, left := range cleanAll(c.Left) {
		sentences = append(sentences, "Left out: "+left+".")
	}
	for _, set := range sets {
		note := func(count int, format string, values ...any) {
			if count > 0 {
				sentences = append(sentences, fmt.Sprintf(format, slices.Concat([]any{count}, values)...))
			}
		}
		name := clean(set.Name)
		note(set.Broken, "%d of %d traces of %s do not count: spans of them are missing, or have no end.",
			set.Broken+set.Traces, name)
		note(set.Clipped, "%d of %d spans of %s reach beyond their caller and were cut: clocks differ, or the "+
			"caller did not wait.", set.Spans, name)
		note(set.Duplicates, "%d spans of %s were there twice and count once.", name)
		note(set.Dropped, "%d spans of %s were dropped, as there was no room: trace a smaller share.", name)
	}
	return sentences
}

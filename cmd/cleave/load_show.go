package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/search"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/report/figure"
)

// showLoad prints the result of a load as a table.
func showLoad(w io.Writer, o *trial.Outcome) {
	s := &o.Summary
	fmt.Fprintf(w, "\n%s\n%s for %s\n\n", s.Target, s.Model, figure.Amount(s.Duration, "s"))
	unit := "/s"
	if len(s.Operations) > 1 {
		unit = " flows/s"
	}
	if s.OfferedRate != nil {
		fmt.Fprintf(w, "rate         %.6g%s offered, %.6g%s achieved%s\n", *s.OfferedRate, unit, s.AchievedRate,
			unit, wholeFlows(s))
	} else {
		fmt.Fprintf(w, "rate         %.6g%s\n", s.AchievedRate, unit)
	}
	fmt.Fprintf(w, "operations   %d sent: %d ok, %d failed, %d in flight at the end\n", s.Sent, s.OK,
		s.Sent-s.OK-s.InFlight, s.InFlight)
	fmt.Fprintf(w, "not in time  %d sent late, %d never sent\n", s.Late, s.Unsent)
	if s.Resent > 0 {
		fmt.Fprintf(w, "sent again   %d on new connections, as the server had ended theirs\n", s.Resent)
	}
	if s.Skipped > 0 {
		fmt.Fprintf(w, "skipped      %d steps, because an earlier step of their flow failed\n", s.Skipped)
	}
	if s.TransferRate != nil {
		fmt.Fprintf(w, "transfer     %s of answers\n", figure.Amount(*s.TransferRate, "B/s"))
	}
	showErrors(w, o)
	showTimes(w, s)
	if len(s.Operations) > 1 {
		showOperations(w, s)
	}
	showChecks(w, o)
	showGenerator(w, o)
	if s.Capacity != nil {
		showCapacity(w, s.Capacity)
	}
}

// wholeFlows returns a remark on an achieved rate that is above the offered one, or an empty text. The cause
// is that only whole flows are sent, so the remark gives their number: " (3 in 2 s)".
func wholeFlows(s *record.Summary) string {
	if s.AchievedRate <= 1.01*(*s.OfferedRate) {
		return ""
	}
	return fmt.Sprintf(" (%.0f in %s)", s.AchievedRate*s.Duration, figure.Amount(s.Duration, "s"))
}

// showErrors prints the numbers of errors and of statuses, and samples of bodies that came with unexpected
// statuses (Summary.ErrorSamples).
func showErrors(w io.Writer, o *trial.Outcome) {
	var failures, statuses []string
	for _, name := range slices.Sorted(maps.Keys(o.Summary.Errors)) {
		failures = append(failures, fmt.Sprintf("%s %d", name, o.Summary.Errors[name]))
	}
	for _, status := range slices.Sorted(maps.Keys(o.Report.Statuses)) {
		statuses = append(statuses, fmt.Sprintf("%d: %d", status, o.Report.Statuses[status]))
	}
	if len(failures) > 0 {
		fmt.Fprintf(w, "errors       %s\n", strings.Join(failures, ", "))
	}
	if o.Report.Example != "" {
		fmt.Fprintf(w, "             for example: %s\n", o.Report.Example)
	}
	if len(statuses) > 0 {
		fmt.Fprintf(w, "statuses     %s\n", strings.Join(statuses, ", "))
	}
	for _, text := range o.Summary.ErrorSamples.Sentences() {
		fmt.Fprintf(w, "             %s\n", text)
	}
}

// showTimes writes the percentiles side by side.
func showTimes(w io.Writer, s *record.Summary) {
	r := s.ResponseTime
	v := s.ServiceTime
	l := s.SendLateness
	fmt.Fprintf(w, "\n%-8s %14s %14s %14s\n", "", "response time", "service time", "send lateness")
	for _, row := range []struct {
		name   string
		values []*float64
	}{
		{"p50", []*float64{r.P50, v.P50, l.P50}},
		{"p90", []*float64{r.P90, v.P90, nil}},
		{"p95", []*float64{r.P95, v.P95, nil}},
		{"p99", []*float64{r.P99, v.P99, l.P99}},
		{"p99.9", []*float64{r.P999, v.P999, nil}},
		{"max", []*float64{r.Max, v.Max, l.Max}},
		{"mean", []*float64{r.Mean, v.Mean, nil}},
	} {
		fmt.Fprintf(w, "%-8s", row.name)
		for _, value := range row.values {
			fmt.Fprintf(w, " %14s", timeText(value))
		}
		fmt.Fprintln(w)
	}
	// The row says where the times begin. The send lateness is the generator's own delay.
	fmt.Fprintf(w, "%-8s %14s %14s %14s\n\n", "from", "due time", "actual send", "generator's own")
}

// showOperations writes a line for every operation.
func showOperations(w io.Writer, s *record.Summary) {
	width := 0
	for _, o := range s.Operations {
		width = max(width, len(o.Name))
	}
	fmt.Fprintf(w, "%-*s %9s %9s %9s %9s %11s %11s %11s\n", width, "operation", "sent", "ok", "failed",
		"skipped", "p50", "p99", "max")
	for _, o := range s.Operations {
		fmt.Fprintf(w, "%-*s %9d %9d %9d %9d %11s %11s %11s\n", width, o.Name, o.Sent, o.OK, o.Sent-o.OK-o.InFlight,
			o.Skipped, timeText(o.ResponseTime.P50), timeText(o.ResponseTime.P99), timeText(o.ResponseTime.Max))
	}
	fmt.Fprintln(w)
}

// showChecks prints how the answers of each operation were checked, and which operations were checked by
// their status only.
func showChecks(w io.Writer, o *trial.Outcome) {
	operations := o.Results.Operations()
	for i, check := range o.Checks {
		title, name := "", ""
		if i == 0 {
			title = "checked"
		}
		if len(operations) > 1 {
			name = operations[i] + ": "
		}
		fmt.Fprintf(w, "%-12s %s%s\n", title, name, check)
	}
	if unchecked := o.Summary.Unchecked; len(unchecked) > 0 {
		fmt.Fprintf(w, "unchecked    %s\n", strings.Join(unchecked, ", "))
		fmt.Fprintln(w, "             by the status only: nobody reads the answers; add --expect-body or "+
			"--expect-json, or expect in the scenario")
	}
}

// timeText returns the text of a time in seconds, in a readable unit, or figure.Absent for nil.
func timeText(value *float64) string {
	if value == nil {
		return figure.Absent
	}
	return figure.Amount(*value, "s")
}

// showGenerator prints figures of the generator, and whether it was the limit.
func showGenerator(w io.Writer, o *trial.Outcome) {
	s := &o.Summary
	g := &s.Generator
	fmt.Fprintf(w, "generator    %s, %s of processor time (%.0f %% of one processor), %s at its peak\n",
		senders(g), figure.Amount(g.CPUSeconds, "s"), 100*g.CPUSeconds/o.Report.Elapsed.Seconds(),
		figure.Amount(float64(g.PeakMemory), "B"))
	fmt.Fprintf(w, "pacing       %s, at the price of %s of processor time per operation\n", g.Pacing,
		timeText(g.CPUPerOperation))
	for _, note := range s.Notes {
		fmt.Fprintf(w, "note         %s\n", note)
	}
	if s.Aborted != "" {
		fmt.Fprintf(w, "broken off   %s\n", s.Aborted)
	}
	if c := s.Closed; c != nil {
		fmt.Fprintf(w, "users        %d; Little's law finds %.4g in these numbers\n", c.Users, c.Implied)
	}
	if s.Clamped > 0 {
		fmt.Fprintf(w, "clamped      %d times are outside the histograms and count at their edge\n", s.Clamped)
	}
	if !g.Limited {
		fmt.Fprintln(w, "limit        the client was not the limit")
		return
	}
	fmt.Fprintln(w, "limit        NOT VALID: the client, not the system, was the limit")
	for _, by := range g.LimitedBy {
		fmt.Fprintf(w, "             %s\n", by)
	}
}

// senders describes the processes and threads that sent the load. Only the event loop can be several: the
// other engine uses all processors by itself.
func senders(g *record.Generator) string {
	engine := map[string]string{"http1": "event loop", "stream": "engine for HTTPS, HTTP/2 and gRPC"}[g.Engine]
	if g.Loops > 1 {
		engine = fmt.Sprintf("%d loops", g.Loops)
	}
	if g.Agents > 0 {
		return fmt.Sprintf("%s in %d agents", engine, g.Agents)
	}
	return engine
}

// perSecond returns the text of a rate of a search. From 100 on it is a whole number, so that users can
// easily type it.
func perSecond(rate float64) string {
	if rate >= 100 {
		return fmt.Sprintf("%.0f/s", rate)
	}
	return fmt.Sprintf("%.3g/s", rate)
}

// showCapacity prints the result of a search.
func showCapacity(w io.Writer, c *record.Capacity) {
	rate := "none"
	if c.Rate != nil {
		rate = perSecond(*c.Rate)
	}
	fmt.Fprintf(w, "\ncapacity     %s", rate)
	if c.High != nil {
		fmt.Fprintf(w, ", %s fails", perSecond(*c.High))
	}
	fmt.Fprintf(w, "; objective %s, %d trials\n", c.Objective, len(c.Probes))
	showProbes(w, c.Probes)
	if c.Rate != nil {
		fmt.Fprintf(w, "             the times further up are of a load at %s, which passed\n", perSecond(*c.Rate))
	}
	if c.Reason != "" {
		fmt.Fprintf(w, "             %s\n", c.Reason)
	}
}

// showProbes prints a line for the loads of a search with the same rate and length: how many of them passed,
// the times of the last one, and why the last failed one failed. If at least half of them failed, the times
// are those of the last failed one.
func showProbes(w io.Writer, probes []record.Probe) {
	type key struct {
		rate            float64
		confirms, short bool
	}
	passed := map[key]int{}
	played := map[key]int{}
	failed := map[key]record.Probe{}
	last := map[key]record.Probe{}
	for _, probe := range probes {
		k := key{probe.Rate, probe.Confirms, probe.Short}
		played[k]++
		if probe.Pass {
			passed[k]++
		} else {
			failed[k] = probe
		}
		last[k] = probe
	}
	keys := slices.SortedFunc(maps.Keys(played), func(a, b key) int {
		if a.rate != b.rate {
			return cmp.Compare(a.rate, b.rate)
		}
		if a.confirms || b.short { // shorter loads first
			return 1
		}
		return -1
	})
	fmt.Fprintf(w, "\n%-13s %-9s %10s %10s %10s  %s\n", "rate", "passed", "p50", "p99", "max", "why it failed")
	for _, k := range keys {
		shown, note := last[k], ""
		if probe, some := failed[k]; some && 2*passed[k] <= played[k] {
			shown = probe
		}
		if k.confirms {
			note = fmt.Sprintf("%d times as long; ", search.Longer)
		} else if k.short {
			note = fmt.Sprintf("%g times as long; ", search.ShortShare)
		}
		times := shown.ResponseTime
		passes := fmt.Sprintf("%d of %d", passed[k], played[k])
		why := note + strings.Join(failed[k].Reasons, "; ")
		line := fmt.Sprintf("%-13s %-9s %10s %10s %10s  %s", perSecond(k.rate), passes, timeText(times.P50),
			timeText(times.P99), timeText(times.Max), why)
		fmt.Fprintln(w, strings.TrimRight(line, "; "))
	}
}

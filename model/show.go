package model

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// fewSamples is the number of executions of a call below which their mean says little.
	fewSamples = 30
	// muchUnexplained is the share of an operation's time, or of its CPU time, by which a model may differ
	// from the measurement before it is reported as weak.
	muchUnexplained = 0.1
)

// Show writes the model as text, with a tree for each operation and a list of missing or weak parts.
func (m Model) Show(w io.Writer) error {
	fmt.Fprintf(w, "%s\n", m.Name)
	if m.About != "" {
		fmt.Fprintf(w, "%s\n", m.About)
	}
	fmt.Fprintln(w)
	for _, u := range m.Units {
		fmt.Fprintf(w, "unit %s: %s\n", u.Name, strings.Join(u.Components, ", "))
	}
	for _, s := range m.Stores {
		where := "embedded"
		if s.Server {
			where = "a server"
		}
		fmt.Fprintf(w, "store %s: %s, %s\n", s.Name, s.Kind, where)
	}
	weights := m.Weights()
	for _, o := range m.Operations {
		fmt.Fprintf(w, "\n%s: %.3g %% of all operations", o.Name, 100*o.Weight/weights)
		if o.Time.Mean > 0 {
			fmt.Fprintf(w, ", %s in the mean (n %d)", formatTime(o.Time.Mean), o.Time.N)
		}
		fmt.Fprint(w, "\n  Times are those of one execution.\n")
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprint(table, "  call\tcalls\tCPU\twaiting\tstores (statements, commits)\thop\tsource\n")
		showCall(table, &o.Call, 1, 1)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if err := showMeasured(w, m.Measured); err != nil {
		return err
	}
	return showWeak(w, m.Weak())
}

// showMeasured writes a row for each trial of the system, if there are any.
func showMeasured(w io.Writer, all []Measurement) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nMeasured\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "  placement\trate\ttime\tCPU per operation\toperations\n")
	for _, t := range all {
		rate := lab.Plain(t.Rate) + "/s"
		if t.Users > 0 {
			rate += fmt.Sprintf(" by %d users", t.Users)
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%d\n", cmp.Or(t.Placement, "as it is"), rate,
			formatTime(t.Time.Mean), formatTime(t.CPU.Mean), t.Time.N)
	}
	return table.Flush()
}

// showWeak lists what is missing or weak.
func showWeak(w io.Writer, weak []string) error {
	if len(weak) == 0 {
		_, err := fmt.Fprint(w, "\nNothing is missing or weak.\n")
		return err
	}
	_, err := fmt.Fprintf(w, "\nMissing or weak\n  - %s\n", strings.Join(weak, "\n  - "))
	return err
}

// showCall writes a row for a call, indented by depth, and for each call that it makes. ofCaller is the mean
// number of executions of the caller per operation.
func showCall(w io.Writer, c *Call, depth int, ofCaller float64) {
	how := ""
	switch {
	case c.Async:
		how = " (nobody waits)"
	case c.Parallel:
		how = " (in parallel)"
	}
	var visits []string
	for _, v := range c.Visits {
		wait := formatTime(v.Wait.Mean)
		visits = append(visits, fmt.Sprintf("%s (%.3g, %.3g)", wait, v.Statements, v.Commits))
	}
	hop := ""
	if c.Hop != nil {
		hop = fmt.Sprintf("%s CPU, %s", formatTime(c.Hop.CPU.Mean), formatTime(c.Hop.Wait.Mean))
	}
	cpu := formatTime(c.CPU.Mean)
	if c.CPU.Source == Trace {
		cpu = "<= " + cpu
	}
	if c.Background.Mean > 0 {
		cpu += " + " + formatTime(c.Background.Mean)
	}
	name := c.Component + " " + c.Name
	if strings.EqualFold(c.Component, c.Name) {
		name = c.Component
	}
	times := ofCaller * c.Count
	source := string(c.Source)
	if c.CPU.Source != "" && c.CPU.Source != c.Source {
		source = string(c.CPU.Source) + ", " + source
	}
	if c.N > 0 {
		source += ", n " + strconv.Itoa(c.N)
	}
	fmt.Fprintf(w, "%s%s%s\t%.3g\t%s\t%s\t%s\t%s\t%s\n", strings.Repeat("  ", depth), name, how, times, cpu,
		formatTime(c.Wait.Mean), strings.Join(visits, "; "), hop, source)
	for i := range c.Calls {
		showCall(w, &c.Calls[i], depth+1, times)
	}
}

// formatTime returns a time with three digits and a unit, or "-" for none.
func formatTime(d time.Duration) string {
	d = rounded(d, 3) // before the unit is chosen: 999.9 us are 1 ms
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d >= unit.length {
			return fmt.Sprintf("%v %s", float64(d)/float64(unit.length), unit.name)
		}
	}
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%d ns", d)
}

// Weak lists what the model lacks, and which of its numbers rest on few measurements.
func (m Model) Weak() (weak []string) {
	note := func(format string, args ...any) { weak = append(weak, fmt.Sprintf(format, args...)) }
	cpu := m.CPU()
	metered := true
	guessed := 0
	few := 0
	for _, o := range m.Operations {
		o.Call.Executions(func(c *Call, _ float64) {
			if c.CPU.Mean > 0 && c.CPU.Source == Trace {
				metered = false
			}
			if c.Source == Guess {
				guessed++
			} else if c.N < fewSamples {
				few++
			}
		})
		measured := o.Time.Seconds()
		explained := o.Call.explained()
		if off := explained/measured - 1; measured > 0 && math.Abs(off) > muchUnexplained {
			note("%s: its calls explain %s of %s (%+.0f %%)", o.Name, formatTime(duration(explained)),
				formatTime(o.Time.Mean), 100*off)
		}
	}
	if m.DroppedSpans > 0 {
		note("%d spans were dropped, as there was no room: the operations that they belong to are left out. Ask "+
			"for fewer at once: a lower rate, or a shorter load", m.DroppedSpans)
	}
	if few > 0 {
		note("%d calls were seen fewer than %d times", few, fewSamples)
	}
	if guessed > 0 {
		note("%d calls are guesses", guessed)
	}
	switch {
	case cpu == 0:
		note("there are no CPU times: nothing can be said of cores and of a rate that is too high")
	case !metered:
		note("CPU times that come from traces are self times, an upper bound: nobody has metered them")
	}
	for _, t := range m.Measured {
		if t.Placement != "" || t.CPU.Mean == 0 {
			continue
		}
		if off := cpu/t.CPU.Seconds() - 1; math.Abs(off) > muchUnexplained {
			note("at %s/s: its calls explain %s of %s CPU time per operation (%+.0f %%)", lab.Plain(t.Rate),
				formatTime(duration(cpu)), formatTime(t.CPU.Mean), 100*off)
		}
	}
	if len(m.Measured) == 0 {
		note("nothing was measured of the system as a whole: no prediction can be checked against it")
	}
	return weak
}

// cpu returns the CPU time of one execution with its hop and its visits, in seconds.
func (c *Call) cpu() float64 {
	sum := c.CPU.Seconds() + c.Background.Seconds()
	if c.Hop != nil {
		sum += c.Hop.CPU.Seconds()
	}
	for _, v := range c.Visits {
		sum += v.CPU.Seconds()
	}
	return sum
}

// explained returns the mean time, in seconds, that the caller waits for one execution of the call,
// according to the model. Of parallel calls the longest counts.
func (c *Call) explained() float64 {
	sum := c.CPU.Seconds() + c.Wait.Seconds()
	for _, v := range c.Visits {
		sum += v.Wait.Seconds()
	}
	if c.Hop != nil {
		sum += c.Hop.CPU.Seconds() + c.Hop.Wait.Seconds()
	}
	together := 0.0 // of the last calls that run in parallel
	for i := range c.Calls {
		callee := &c.Calls[i]
		if callee.Async { // parallel calls behind it begin with it: when the calls before it have ended
			sum, together = sum+together, 0
			continue
		}
		if !callee.Parallel {
			sum += together
			together = callee.Count * callee.explained()
			continue
		}
		// Its executions run in parallel, too: several take as long as one.
		together = max(together, min(callee.Count, 1)*callee.explained())
	}
	return sum + together
}

package trial

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/search"
)

// sumUp fills in the summary from results and report. The generator's resources must be known.
func (t *Trial) sumUp(o *Outcome) {
	var offered *int64
	window := o.Report.Window
	if t.Open() {
		offered = new(t.Due().Before(window))
		o.Backlog = t.backlog(o.Report.Ended)
	}
	generator := o.Summary.Generator
	s := o.Results.Summarize(window, offered)
	// The schedule holds whole flows, so its mean rate is a little above that of the load.
	if t.model.even && window == t.model.duration {
		s.OfferedRate = new(t.model.peak / float64(t.spec.Of))
	}
	s.Target = t.spec.Target
	s.Model = t.describe()
	s.Unchecked = t.plan.Unchecked()
	if t.spec.Unix != "" {
		s.Target += " at " + t.spec.Unix
	}
	if elapsed := o.Report.Elapsed.Seconds(); elapsed > 0 {
		s.TransferRate = new(float64(o.Report.Received) / elapsed)
	}
	s.Generator = generator
	s.Generator.Pacing = t.pacing.String()
	s.Generator.Engine = "http1"
	if t.streams() {
		s.Generator.Engine = "stream"
	}
	if s.Sent > 0 {
		s.Generator.CPUPerOperation = new(generator.CPUSeconds / float64(s.Sent))
	}
	s.ErrorSamples = o.Report.ErrorSamples
	addSkipped(&s, o.Report.Skipped)
	if t.model.users > 0 {
		s.Closed = t.littlesLaw(o)
	}
	lateness := t.pacing.Lateness() + time.Duration(t.spec.Lateness)
	s.CheckGenerator(cores(o.Cores), o.Report.Elapsed, lateness, o.Results.MovedByLateness())
	noteReport(&s, &o.Report)
	if stall := s.Stall(); stall != "" {
		s.Notes = append(s.Notes, stall)
	}
	if g := o.Backlog; g.Grows {
		s.Notes = append(s.Notes,
			fmt.Sprintf("the target does not keep up: flows pile up by %s per second [%s, %s]",
				threeDigits(g.Slope), threeDigits(g.Low), threeDigits(g.High)))
	}
	s.Notes = append(s.Notes, o.Notes...)
	o.Summary = s
}

// cores returns the limit for CheckGenerator of a generator that had n cores: infinite if n is 0, because the
// pacing was to keep them busy.
func cores(n float64) float64 {
	if n == 0 {
		return math.Inf(1)
	}
	return n
}

// addSkipped fills in the numbers of steps that never began, by operation and in all.
func addSkipped(s *record.Summary, byOperation []int64) {
	for i, n := range byOperation {
		if i < len(s.Operations) {
			s.Operations[i].Skipped = n
			s.Skipped += n
		}
	}
}

// noteReport adds the rest of the engine's report: why the load ended early, and notes.
func noteReport(s *record.Summary, r *engine.Report) {
	s.Aborted = r.Stopped
	note := func(n int64, format string) {
		if n > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf(format, n))
		}
	}
	note(r.HeldBack, "%d flows were begun late because the permission allows no higher rate")
	note(r.Cut, "%d flows were in progress at the end and not finished")
	note(r.Unsolicited, "%d answers came that nobody had asked for")
	if r.Unsent > 0 && r.UnsentBecause != "" {
		s.Notes = append(s.Notes, "flows were not begun: "+r.UnsentBecause)
	}
}

// littlesLaw checks the numbers of the closed loop by Little's law. All three sums cover the users' own
// time, so neither a ramp-up nor operations that end after the window count as a difference.
func (t *Trial) littlesLaw(o *Outcome) *record.ClosedLoop {
	sent := float64(o.Results.Sent(record.All))
	perUser := o.Report.UserTime.Seconds() / float64(t.users())
	if sent == 0 || perUser <= 0 {
		return nil
	}
	pause := time.Duration(float64(o.Report.PauseTime) / sent)
	c := record.LittlesLaw(t.users(), sent/perUser, o.Report.BusyTime.Seconds()/sent, pause)
	c.ThinkTime = t.model.think.Seconds()
	return &c
}

// users returns the number of users of this part.
func (t *Trial) users() int {
	n := 0
	for loop := range t.spec.Loops {
		n += t.share(t.model.users, loop)
	}
	return n
}

// backlog returns the trend of the number of flows that are due and have not ended.
func (t *Trial) backlog(ended []int64) search.Growth {
	values := make([]float64, len(ended))
	due := t.Due()
	for i, n := range ended {
		values[i] = float64(due.Before(time.Duration(i+1)*engine.EndedEvery) - n)
	}
	return search.BacklogGrows(values, engine.EndedEvery,
		t.model.open.OfferedRate(t.model.duration)/float64(t.spec.Of))
}

// Join returns the outcome of several agents that played parts of this trial. It loses nothing:
// histograms and counts are added. names are the names of the agents.
func (t *Trial) Join(names []string, parts []Outcome) (Outcome, error) {
	var sum Outcome
	var busy []string
	generator := record.Generator{}
	for i, part := range parts {
		g := part.Summary.Generator
		if by := record.CPULimit(g.CPUSeconds, cores(part.Cores), part.Report.Elapsed); by != "" {
			busy = append(busy, names[i]+": "+by)
		}
		generator.CPUSeconds += g.CPUSeconds
		generator.PeakMemory += g.PeakMemory
		generator.Loops += g.Loops
		if i == 0 {
			sum = part
			continue
		}
		if err := sum.Results.Merge(part.Results); err != nil {
			return sum, fmt.Errorf("%s disagrees with %s: %w", names[i], names[0], err)
		}
		sum.Report.Merge(&part.Report)
		sum.Cores += part.Cores
		if sum.Cohorts != nil && part.Cohorts != nil {
			sum.Cohorts = new(sum.Cohorts.Add(*part.Cohorts))
		}
		sum.Progress.Loads = max(sum.Progress.Loads, part.Progress.Loads)
		sum.Progress.Taken = max(sum.Progress.Taken, part.Progress.Taken)
		for _, note := range part.Notes {
			if !slices.Contains(sum.Notes, note) {
				sum.Notes = append(sum.Notes, note)
			}
		}
	}
	generator.Agents = len(parts)
	sum.Summary.Generator = generator
	t.sumUp(&sum)
	g := &sum.Summary.Generator
	if len(busy) > 0 {
		g.Limited = true
		g.LimitedBy = append(g.LimitedBy, busy...)
	}
	return sum, nil
}

// peakMemory returns the highest resident memory of this process so far, in bytes.
func peakMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read own memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if amount, found := strings.CutPrefix(line, "VmHWM:"); found {
			kilobytes := strings.Trim(amount, "\t kB\n")
			n, err := strconv.ParseInt(kilobytes, 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("read own memory: /proc/self/status has no VmHWM")
}

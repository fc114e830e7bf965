// Package progress shows the progress of an experiment while it runs: at a terminal
// as one line that is redrawn, in a pipe as a plain line per trial, and for programs
// as JSON lines. It writes no results.
package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/plain"
)

// Form is a way to show progress.
type Form int

// The forms of progress.
const (
	Plain    Form = iota // a line per trial
	Terminal             // one line, redrawn
	JSON                 // an object per line
	None                 // nothing
)

// New returns a progress display that writes to w. now is the clock by which the time left is
// estimated.
func New(w io.Writer, form Form, now func() time.Time) lab.Progress {
	t := &tracker{now: now, spent: map[setting]spent{}}
	switch form {
	case Terminal:
		return &textForm{t, w, clearLine}
	case JSON:
		return &jsonForm{encoder: json.NewEncoder(w), tracker: t}
	case None:
		return &textForm{t, io.Discard, ""}
	default:
		return &textForm{t, w, ""}
	}
}

// setting identifies trials of equal length.
type setting struct{ variant, point string }

// spent is the time that trials of one setting have taken.
type spent struct {
	total  time.Duration
	trials int
}

// tracker counts the trials that are done and estimates the time left.
type tracker struct {
	now     func() time.Time
	plan    lab.Plan
	done    int
	current lab.PlannedTrial
	next    int       // number of the first trial that is not done
	started time.Time // when the current trial started
	spent   map[setting]spent
	phases  []lab.Phase // sums over all trials
}

// begin sets the plan and how many of its trials were done before.
func (t *tracker) begin(plan lab.Plan, done int) { t.plan, t.done = plan, done }

// Further implements lab.Progress.
func (t *tracker) Further(trials []lab.PlannedTrial) {
	t.plan.Trials = slices.Concat(t.plan.Trials, trials)
	for _, planned := range trials {
		t.plan.Study.Design.Blocks = max(t.plan.Study.Design.Blocks, planned.Block)
	}
}

// Look implements lab.Progress. Only the JSON form shows looks.
func (t *tracker) Look(int, lab.Headline) {}

// startTrial notes when a trial starts.
func (t *tracker) startTrial(planned lab.PlannedTrial) {
	t.current = planned
	t.next = planned.Number
	t.started = t.now()
}

// endTrial adds up the time of a trial, and counts it as done unless it will be repeated.
func (t *tracker) endTrial(trial lab.Trial) {
	k := setting{trial.Variant, trial.Point.Name}
	s := t.spent[k]
	s.total += t.now().Sub(t.started)
	s.trials++
	t.spent[k] = s
	for _, phase := range trial.Phases {
		at := slices.IndexFunc(t.phases, func(p lab.Phase) bool { return p.Name == phase.Name })
		if at < 0 {
			at = len(t.phases)
			t.phases = append(t.phases, lab.Phase{Name: phase.Name})
		}
		t.phases[at].Seconds += phase.Seconds
	}
	if trial.Valid || trial.Attempt > t.plan.Study.Design.MaxRepeats {
		t.done++
		t.next = trial.Number + 1
	}
}

// left estimates the time for the trials that are not done: each takes the mean time of the trials of its
// setting so far, or of all trials if there are none of its setting. ok is false before the first trial ends.
func (t *tracker) left() (left time.Duration, ok bool) {
	var all spent
	for _, s := range t.spent {
		all.total += s.total
		all.trials += s.trials
	}
	if all.trials == 0 {
		return 0, false
	}
	for _, planned := range t.plan.Trials {
		if planned.Number < t.next {
			continue
		}
		s, seen := t.spent[setting{planned.Variant, planned.Point}]
		if !seen {
			s = all
		}
		left += s.total / time.Duration(s.trials)
	}
	return left, true
}

// position returns "block 2/3, trial 14/96".
func (t *tracker) position(planned lab.PlannedTrial) string {
	return fmt.Sprintf("block %d/%d, trial %d/%d", planned.Block, t.plan.Study.Design.Blocks, planned.Number,
		len(t.plan.Trials))
}

// timeText returns the time of all trials and of their phases: "40 s in trials, 25 s of it measured;
// calibration 2 s, start 4 s, ...".
func (t *tracker) timeText() string {
	var all, measured float64
	var rest []string
	for _, phase := range t.phases {
		all += phase.Seconds
		if phase.Name == lab.PhaseJob {
			measured = phase.Seconds
		} else {
			rest = append(rest, fmt.Sprintf("%s %s", phase.Name, seconds(phase.Seconds)))
		}
	}
	return fmt.Sprintf("%s in trials, %s of it measured; %s", seconds(all), seconds(measured),
		strings.Join(rest, ", "))
}

// seconds formats seconds as Duration does.
func seconds(s float64) string { return Duration(lab.Seconds(s)) }

// leftText returns the time left, or "" if no trial is left or no estimate can be made yet.
func (t *tracker) leftText() string {
	left, ok := t.left()
	if !ok || left == 0 {
		return ""
	}
	end := t.now().Add(left)
	return fmt.Sprintf(", about %s left, done at %s", Duration(left), end.Format("15:04"))
}

// Duration formats a time span with few digits: 40 s, 12 min, 3.5 h.
func Duration(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// clearLine returns to the first column and erases the line.
const clearLine = "\r\x1b[K"

// textForm writes a line for every trial that ends. With a clear code it redraws one line instead, and only a
// trial that does not count gets a line that stays.
type textForm struct {
	*tracker
	w     io.Writer
	clear string // clearLine, or empty
}

// writeLine writes a line that stays.
func (f *textForm) writeLine(text string) { fmt.Fprintln(f.w, f.clear+plain.Text(text)) }

// Begin implements lab.Progress.
func (f *textForm) Begin(plan lab.Plan, done int) {
	f.begin(plan, done)
	f.writeLine(beginning(plan, done))
}

// beginning describes the size of a plan: "explain: 21 trials in 3 blocks, 52 s of load and 3 searches".
func beginning(plan lab.Plan, done int) string {
	text := fmt.Sprintf("%s: %s in %s", plan.Study.Name, lab.Count(len(plan.Trials), "trial"),
		lab.Count(plan.Study.Design.Blocks, "block"))
	loads, searches := 0.0, 0
	for _, trial := range plan.Trials {
		point, _ := plan.Study.Point(trial.Point)
		if _, search := point.Level(lab.FactorSearchFrom); search {
			searches++
		} else if plan.Study.Load != nil {
			loads += plan.Study.Load.Duration + plan.Study.Load.WarmUp
		}
	}
	var parts []string
	if loads > 0 {
		parts = append(parts, seconds(loads)+" of load")
	}
	if searches > 0 {
		parts = append(parts, lab.Count(searches, "search"))
	}
	switch {
	case plan.Study.Took > 0:
		text += ", about " + seconds(plan.Study.Took)
	case len(parts) > 0:
		text += ", " + strings.Join(parts, " and ")
	}
	if done > 0 {
		text += fmt.Sprintf(", %s done before", lab.Count(done, "trial"))
	}
	return text
}

// TrialStarted implements lab.Progress.
func (f *textForm) TrialStarted(planned lab.PlannedTrial, _ int) {
	f.startTrial(planned)
	if f.clear != "" {
		fmt.Fprintf(f.w, "%s%s %s: %s at %s%s", f.clear, f.bar(), f.position(planned), plain.Text(planned.Variant),
			plain.Text(planned.Point), f.leftText())
	}
}

// TrialEnded implements lab.Progress.
func (f *textForm) TrialEnded(trial lab.Trial) {
	f.endTrial(trial)
	line := f.position(f.current) + ": " + outcome(trial)
	if f.clear == "" {
		f.writeLine(line + f.leftText())
	} else if !trial.Valid {
		f.writeLine(line)
	}
}

// Note implements lab.Progress.
func (f *textForm) Note(text string) { f.writeLine(text) }

// End implements lab.Progress.
func (f *textForm) End() {
	if len(f.phases) > 0 {
		f.writeLine(f.timeText())
	} else {
		fmt.Fprint(f.w, f.clear)
	}
}

// outcome describes the result of a trial in a few words.
func outcome(trial lab.Trial) string {
	where := trial.Variant + " at " + trial.Point.Name
	if trial.Profiled {
		where += ", profiled"
	}
	if !trial.Valid {
		return fmt.Sprintf("%s does not count (attempt %d): %s", where, trial.Attempt, trial.Reason)
	}
	return fmt.Sprintf("%s %.3g s", where, trial.ElapsedSeconds)
}

// bar returns a progress bar of ten cells.
func (t *tracker) bar() string {
	const width = 10
	full := 0
	if n := len(t.plan.Trials); n > 0 {
		full = min(width, width*t.done/n)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// jsonForm writes one JSON object per event.
type jsonForm struct {
	*tracker
	encoder *json.Encoder
}

// Line is one object of the JSON form.
type Line struct {
	Event       string    `json:"event"`            // begin, start (of a trial), trial (has ended), look, note, end
	At          time.Time `json:"at"`               // of the event
	Trials      int       `json:"trials,omitempty"` // in the plan, with further ones
	Done        int       `json:"done"`             // trials that are not played again
	Block       int       `json:"block,omitempty"`
	Trial       int       `json:"trial,omitempty"`
	Attempt     int       `json:"attempt,omitempty"`
	Variant     string    `json:"variant,omitempty"`
	Point       string    `json:"point,omitempty"`
	Valid       bool      `json:"valid,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Elapsed     float64   `json:"elapsed_seconds,omitempty"`
	LeftSeconds *float64  `json:"left_seconds,omitempty"` // estimate for the trials that are not done
	Text        string    `json:"text,omitempty"`         // of a note
	// Headline covers all blocks up to this one.
	Headline *lab.Headline `json:"headline,omitempty"`
	// Phases are those of the trial, and in the event end the sums over all trials.
	Phases []lab.Phase `json:"phases,omitempty"`
}

// write writes a line after adding the time and the counts of trials.
func (l *jsonForm) write(line Line) {
	line.At = l.now().UTC()
	line.Trials = len(l.plan.Trials)
	line.Done = l.done
	_ = l.encoder.Encode(line) // a reader that has closed the pipe must not stop the experiment
}

// Begin implements lab.Progress.
func (l *jsonForm) Begin(plan lab.Plan, done int) {
	l.begin(plan, done)
	l.write(Line{Event: "begin"})
}

// TrialStarted implements lab.Progress.
func (l *jsonForm) TrialStarted(planned lab.PlannedTrial, attempt int) {
	l.startTrial(planned)
	l.write(Line{Event: "start", Block: planned.Block, Trial: planned.Number, Attempt: attempt,
		Variant: planned.Variant, Point: planned.Point, LeftSeconds: l.leftSeconds()})
}

// TrialEnded implements lab.Progress.
func (l *jsonForm) TrialEnded(trial lab.Trial) {
	l.endTrial(trial)
	l.write(Line{
		Event: "trial", Block: trial.Block, Trial: trial.Number, Attempt: trial.Attempt, Variant: trial.Variant,
		Point: trial.Point.Name, Valid: trial.Valid, Reason: trial.Reason, Elapsed: trial.ElapsedSeconds,
		Phases: trial.Phases, LeftSeconds: l.leftSeconds(),
	})
}

// leftSeconds returns the estimated time left, or nil before the first trial ends.
func (l *jsonForm) leftSeconds() *float64 {
	left, ok := l.left()
	if !ok {
		return nil
	}
	seconds := left.Seconds()
	return &seconds
}

// Look implements lab.Progress.
func (l *jsonForm) Look(block int, headline lab.Headline) {
	l.write(Line{Event: "look", Block: block, Headline: &headline})
}

// Note implements lab.Progress.
func (l *jsonForm) Note(text string) { l.write(Line{Event: "note", Text: text}) }

// End implements lab.Progress.
func (l *jsonForm) End() { l.write(Line{Event: "end", Phases: l.phases}) }

// Both shows progress on two displays.
type Both [2]lab.Progress

// each calls f with both displays.
func (b Both) each(f func(lab.Progress)) {
	f(b[0])
	f(b[1])
}

// Begin implements lab.Progress.
func (b Both) Begin(plan lab.Plan, done int) { b.each(func(p lab.Progress) { p.Begin(plan, done) }) }

// Further implements lab.Progress.
func (b Both) Further(trials []lab.PlannedTrial) { b.each(func(p lab.Progress) { p.Further(trials) }) }

// TrialStarted implements lab.Progress.
func (b Both) TrialStarted(planned lab.PlannedTrial, attempt int) {
	b.each(func(p lab.Progress) { p.TrialStarted(planned, attempt) })
}

// TrialEnded implements lab.Progress.
func (b Both) TrialEnded(trial lab.Trial) { b.each(func(p lab.Progress) { p.TrialEnded(trial) }) }

// Look implements lab.Progress.
func (b Both) Look(block int, headline lab.Headline) {
	b.each(func(p lab.Progress) { p.Look(block, headline) })
}

// Note implements lab.Progress.
func (b Both) Note(text string) { b.each(func(p lab.Progress) { p.Note(text) }) }

// End implements lab.Progress.
func (b Both) End() { b.each(lab.Progress.End) }

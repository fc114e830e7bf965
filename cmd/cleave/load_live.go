package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/report/progress"
	"github.com/cleave-lab/cleave/report/telemetry"
)

// shortestShown is the length of the shortest interval that is shown. The fraction of a second at the end of
// a load can be shorter, and then has too little data.
const shortestShown = 100 * time.Millisecond

// watcher returns a function that shows a second of the load, and sends its figures to outs, unless it is too
// short to be shown.
func (r *loadRun) watcher(outs *telemetry.Outs) func(trial.Second) {
	view := &liveView{out: r.errOut, duration: r.trial.Duration(), errors: map[record.Outcome]int64{}}
	if r.trial.Open() {
		view.due = r.trial.Due()
	}
	show := func(moment) {}
	switch r.progressForm(r.flags.outputs.progress) {
	case progress.Terminal: // all text is our own, and need not be cleaned
		view.out = plain.Raw(r.errOut)
		show = view.draw
	case progress.Plain:
		show = view.line
	case progress.JSON:
		view.out = plain.Raw(r.errOut)
		show = view.object
	}
	return func(s trial.Second) {
		if m := view.take(s); m.length >= shortestShown {
			show(m)
			outs.Show(view.figures(m))
		}
	}
}

// liveView shows a load second by second.
type liveView struct {
	out      io.Writer
	duration time.Duration
	due      *trial.Due // nil in a closed loop
	wasDue   int64      // operations that were due before the second to be shown
	sent     int64      // so far
	errors   map[record.Outcome]int64
	drawn    int // lines on the terminal
}

// moment holds the figures of one second, as they are shown.
type moment struct {
	at, length     time.Duration
	sent, due      float64 // flows or operations per second
	response, late record.Percentiles
	cpu            float64 // percent of one processor
}

// take adds a second to the totals, and returns its figures. Of one that is not shown they are incomplete.
func (v *liveView) take(s trial.Second) moment {
	r := s.Results
	m := moment{at: r.To, length: r.To - r.From}
	v.sent += r.Sent(record.All)
	for _, outcome := range record.Outcomes() {
		if n := r.Count(record.All, outcome); n > 0 && outcome.IsError() {
			v.errors[outcome] += n
		}
	}
	if m.length < shortestShown {
		return m
	}
	seconds := m.length.Seconds()
	m.sent = float64(r.Sent(record.All)) / seconds
	if v.due != nil {
		n := v.due.Before(r.To)
		m.due = float64(n-v.wasDue) / seconds
		v.wasDue = n
	}
	m.response = record.PercentilesOf(r.Times(record.Response, record.All))
	m.late = record.PercentilesOf(r.Times(record.Lateness, record.All))
	m.cpu = 100 * s.CPU.Seconds() / seconds
	return m
}

// line writes a second as a line of text.
func (v *liveView) line(m moment) {
	fmt.Fprintf(v.out, "%6.0f s  %8.0f/s  p50 %s  p99 %s  errors %s  sent late p99 %s  own cpu %.0f %%  %s\n",
		m.at.Seconds(), m.sent, timeText(m.response.P50), timeText(m.response.P99), v.errorText(),
		timeText(m.late.P99), m.cpu, v.left(m.at))
}

// secondLine is an object of the JSON form. Times are in seconds; they are null in a second without answers.
type secondLine struct {
	Event        string           `json:"event"`  // second
	Second       float64          `json:"second"` // since the beginning of the load
	Sent         float64          `json:"sent_rate"`
	Due          float64          `json:"due_rate,omitempty"`
	P50          *float64         `json:"p50"`
	P99          *float64         `json:"p99"`
	SendLateness *float64         `json:"send_lateness_p99"`
	Errors       map[string]int64 `json:"errors"`  // so far
	CPU          float64          `json:"own_cpu"` // share of one processor
	Left         float64          `json:"left_seconds"`
}

// object writes a second as a line of JSON.
func (v *liveView) object(m moment) {
	line := secondLine{Event: "second", Second: m.at.Seconds(), Sent: m.sent, Due: m.due, P50: m.response.P50,
		P99: m.response.P99, SendLateness: m.late.P99, Errors: map[string]int64{}, CPU: m.cpu / 100,
		Left: max(0, v.duration-m.at).Seconds()}
	for outcome, n := range v.errors {
		line.Errors[outcome.String()] = n
	}
	_ = json.NewEncoder(v.out).Encode(line) // a reader that has gone away must not stop the load
}

// draw draws the view in place of the last one.
func (v *liveView) draw(m moment) {
	due := ""
	if v.due != nil {
		due = fmt.Sprintf(", %.0f/s due", m.due)
	}
	lines := []string{
		fmt.Sprintf("%s  %.0f s  %s", v.bar(m.at), m.at.Seconds(), v.left(m.at)),
		fmt.Sprintf("operations  %.0f/s%s, %d in all", m.sent, due, v.sent),
		fmt.Sprintf("response    p50 %s  p90 %s  p99 %s  max %s", timeText(m.response.P50),
			timeText(m.response.P90), timeText(m.response.P99), timeText(m.response.Max)),
		"errors      " + v.errorText(),
		fmt.Sprintf("generator   sent late p50 %s  p99 %s, own cpu %.0f %%", timeText(m.late.P50),
			timeText(m.late.P99), m.cpu),
	}
	var text strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", v.drawn)
	}
	for _, line := range lines {
		text.WriteString("\r\x1b[2K" + line + "\n")
	}
	v.drawn = len(lines)
	fmt.Fprint(v.out, text.String())
}

// bar returns a progress bar.
func (v *liveView) bar(at time.Duration) string {
	const width = 30
	full := int(min(1, at.Seconds()/v.duration.Seconds()) * width)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", width-full) + "]"
}

// left returns the time left as text, or that the last answers are awaited.
func (v *liveView) left(at time.Duration) string {
	if rest := v.duration - at; rest > 0 {
		return rest.Round(time.Second).String() + " left"
	}
	return "waiting for the last answers"
}

// errorText counts the errors so far by kind.
func (v *liveView) errorText() string {
	var all []string
	for _, outcome := range record.Outcomes() {
		if n := v.errors[outcome]; n > 0 {
			all = append(all, fmt.Sprintf("%s %d", outcome, n))
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

package progress

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// play shows the progress of an experiment of four trials of 10 s, the second of which
// needs two attempts; the last does not end.
func play(t *testing.T, form Form) string {
	t.Helper()
	var out bytes.Buffer
	now := time.Unix(0, 0).UTC()
	p := Both{New(io.Discard, Plain, time.Now), New(&out, form, func() time.Time { return now })}
	plan := lab.Plan{Study: lab.Study{Name: "rego2021", Design: lab.Design{Blocks: 2, MaxRepeats: 1}}}
	for i := range 4 {
		plan.Trials = append(plan.Trials, lab.PlannedTrial{Number: i + 1, Block: 1 + i/2, Variant: "uds",
			Point: "s1"})
	}
	p.Begin(plan, 0)
	attempt := func(i, number int, valid bool, reason string) {
		p.TrialStarted(plan.Trials[i], number)
		now = now.Add(10 * time.Second)
		p.TrialEnded(lab.Trial{
			Number: i + 1, Attempt: number, Block: plan.Trials[i].Block, Variant: "uds", Point: lab.Point{Name: "s1"},
			Valid: valid, Reason: reason, ElapsedSeconds: 8,
			Phases: []lab.Phase{{Name: lab.PhaseCalibration, Seconds: 0.5}, {Name: lab.PhaseJob, Seconds: 8},
				{Name: lab.PhaseStop, Seconds: 1}, {Name: lab.PhaseCalibration, Seconds: 0.5}},
		})
	}
	attempt(0, 1, true, "")
	attempt(1, 1, false, "worker-7 ended")
	attempt(1, 2, true, "")
	attempt(2, 1, true, "")
	p.Note("a note")
	p.TrialStarted(plan.Trials[3], 1)
	p.End()
	return out.String()
}

func TestPlainIsALineATrialWithTimeLeft(t *testing.T) {
	want := `rego2021: 4 trials in 2 blocks
block 1/2, trial 1/4: uds at s1 8 s, about 30 s left, done at 00:00
block 1/2, trial 2/4: uds at s1 does not count (attempt 1): worker-7 ended, about 30 s left, done at 00:00
block 1/2, trial 2/4: uds at s1 8 s, about 20 s left, done at 00:00
block 2/2, trial 3/4: uds at s1 8 s, about 10 s left, done at 00:00
a note
40 s in trials, 32 s of it measured; calibration 4 s, stop 4 s
`
	if got := play(t, Plain); got != want {
		t.Errorf("plain progress:\n%s\nwant:\n%s", got, want)
	}
}

func TestTerminalRedrawsOneLine(t *testing.T) {
	got := play(t, Terminal)
	for _, want := range []string{
		"[.......", "block 2/2, trial 4/4: uds at s1, about 10 s left, done at 00:00",
		"does not count (attempt 1): worker-7 ended\n", "[#######...]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("terminal progress has no %q:\n%q", want, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines != 4 {
		t.Errorf("%d lines stay on the terminal, want 4: the head, the spoilt trial, the note and the time", lines)
	}
	if !strings.HasSuffix(got, clearLine+"40 s in trials, 32 s of it measured; calibration 4 s, stop 4 s\n") {
		t.Error("the progress line stays after the end")
	}
}

func TestJSONIsAnObjectALine(t *testing.T) {
	var events []string
	decoder := json.NewDecoder(strings.NewReader(play(t, JSON)))
	var last Line
	for decoder.More() {
		var line Line
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		events = append(events, line.Event)
		if line.Event == "trial" {
			last = line
		}
	}
	if got := strings.Join(events, " "); got != "begin start trial start trial "+
		"start trial start trial note start end" {
		t.Errorf("events %s", got)
	}
	if len(last.Phases) != 4 || last.Phases[1].Seconds != 8 {
		t.Errorf("phases of the last trial are %v", last.Phases)
	}
	if last.Done != 3 || last.Trials != 4 || last.LeftSeconds == nil || *last.LeftSeconds != 10 {
		t.Errorf("last trial %+v, want 3 of 4 done and 10 s left", last)
	}
}

func TestDurationIsRoundedAsPeopleSayIt(t *testing.T) {
	for d, want := range map[time.Duration]string{
		41 * time.Second: "41 s", 12 * time.Minute: "12 min", 3*time.Hour + 29*time.Minute: "3.5 h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestTheBeginningTellsHowLongItMayTake(t *testing.T) {
	plan := lab.Plan{Study: lab.Study{Name: "s", Load: &lab.Load{Duration: 2, WarmUp: 1},
		Design: lab.Design{Blocks: 1}, Points: []lab.Point{
			{Name: "rate", Levels: map[string]float64{lab.FactorRate: 5}},
			{Name: "capacity", Levels: map[string]float64{lab.FactorSearchFrom: 5}}}},
		Trials: []lab.PlannedTrial{{Point: "rate"}, {Point: "capacity"}, {Point: "rate"}}}
	if got := beginning(plan, 0); got != "s: 3 trials in 1 block, 6 s of load and 1 search" {
		t.Errorf("%q", got)
	}
	searches := plan
	searches.Trials = plan.Trials[1:2]
	if got := beginning(searches, 0); got != "s: 1 trial in 1 block, 1 search" {
		t.Errorf("%q", got)
	}
	plan.Study.Took = 120
	if got := beginning(plan, 2); got != "s: 3 trials in 1 block, about 2 min, 2 trials done before" {
		t.Errorf("%q", got)
	}
}

func TestFurtherTrialsAreCounted(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, Plain, time.Now)
	plan := lab.Plan{Study: lab.Study{Design: lab.Design{Blocks: 3}}, Trials: make([]lab.PlannedTrial, 6)}
	p.Begin(plan, 6)
	further := []lab.PlannedTrial{{Number: 7, Block: 4, Variant: "a", Point: "s1"},
		{Number: 8, Block: 4, Variant: "b", Point: "s1"}}
	p.Further(further)
	p.TrialStarted(further[0], 1)
	p.TrialEnded(lab.Trial{Number: 7, Block: 4, Variant: "a", Valid: true, Point: lab.Point{Name: "s1"}})
	// Further trials must not be added to the caller's plan.
	if text := out.String(); !strings.Contains(text, "block 4/4, trial 7/8: a at s1") || len(plan.Trials) != 6 {
		t.Errorf("%s\nwant block 4 of 4, trial 7 of 8", text)
	}
}

// TestNothingIsLeftAfterTheLastTrial: text then shows no time left, and JSON 0 s.
func TestNothingIsLeftAfterTheLastTrial(t *testing.T) {
	for form, want := range map[Form]string{Plain: "trial 1/1: a at s1 8 s\n", JSON: `"left_seconds":0`} {
		var out bytes.Buffer
		now := time.Unix(0, 0)
		p := New(&out, form, func() time.Time { return now })
		only := lab.PlannedTrial{Number: 1, Block: 1, Variant: "a", Point: "s1"}
		p.Begin(lab.Plan{Trials: []lab.PlannedTrial{only}}, 0)
		p.TrialStarted(only, 1)
		now = now.Add(10 * time.Second)
		p.TrialEnded(lab.Trial{Number: 1, Variant: "a", Valid: true, Point: lab.Point{Name: "s1"},
			ElapsedSeconds: 8})
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nwant %q", out.String(), want)
		}
	}
}

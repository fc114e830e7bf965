package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func TestRemarksOnLoadsAreNotes(t *testing.T) {
	in := loaded()
	each := map[int]int{} // trials of b in a block
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Variant == "b" {
			each[trial.Block]++
			trial.Remarks = []string{fmt.Sprint("in block ", trial.Block), "status 503 came with: full"}
		}
	}
	all := each[1] * len(each)
	want := fmt.Sprintf("b: status 503 came with: full (%d trials); in block 1 (%s); in block 2 (%s); and %d "+
		"more remarks.",
		all, lab.Count(each[1], "trial"), lab.Count(each[2], "trial"), len(each)-2)
	if notes := Analyse(in).Notes; !slices.Contains(notes, want) {
		t.Errorf("notes %q, want %q among them", notes, want)
	}
}

// setIdle sets the CPU usage of the units of a variant without load, as a share of their usage under load.
func setIdle(in Input, variant string, share float64) {
	for i := range in.Trials {
		trial := &in.Trials[i]
		if trial.Variant != variant {
			continue
		}
		trial.Metered.IdleSeconds = 0.25
		trial.Metered.WindowSeconds = 2
		trial.Metered.Roles = map[string]lab.Usage{
			"unit":            {CPUSeconds: 0.5, IdleCores: 0.25 * share},
			lab.RoleGenerator: {CPUSeconds: 1, IdleCores: 0.5},
		}
	}
}

func TestTheCPUOfIdleUnitsIsNoted(t *testing.T) {
	in := loaded()
	setIdle(in, "a", 0.04)
	setIdle(in, "b", 0.2)
	notes := Analyse(in).Notes
	i := slices.IndexFunc(notes, func(note string) bool { return strings.Contains(note, "while nobody asks") })
	if i < 0 {
		t.Fatalf("notes %q do not say it", notes)
	}
	if !strings.HasPrefix(notes[i], "Of the CPU per operation, up to 20 % with b at ") ||
		!strings.Contains(notes[i], "(5.0 % of one processor)") {
		t.Errorf("note %q", notes[i])
	}
	if strings.Contains(notes[i], "with a at") {
		t.Errorf("note %q names a variant of which it is 4 %%", notes[i])
	}
}

// TestClocksThatDifferAreNoted with the difference, and the metrics that were not measured because of it.
func TestClocksThatDifferAreNoted(t *testing.T) {
	in := shopUnderLoad()
	for i, m := range in.Plan.Study.Metrics {
		in.Plan.Study.Metrics[i].Clocks = m.Quantity == lab.CompletionTime
	}
	if notes := Analyse(in).Notes; says(notes, "clocks") {
		t.Errorf("units with one clock: %q", notes)
	}
	trial := &in.Trials[0]
	trial.Clocks = &lab.Clocks{ApartSeconds: 0.0042}
	trial.Unmeasured = map[string]string{"completion_time_p50": "clocks differ"}
	notes := Analyse(in).Notes
	if !says(notes, "differed by up to 4.2") || !says(notes, "completion_time_p50 of "+trial.Variant+" at ") {
		t.Errorf("the notes are %q", notes)
	}
	for i := range in.Plan.Study.Metrics {
		in.Plan.Study.Metrics[i].Clocks = false
	}
	if notes := Analyse(in).Notes; says(notes, "clocks") {
		t.Errorf("no metric depends on the clocks: %q", notes)
	}
}

// says reports whether a note contains words.
func says(notes []string, words string) bool {
	return slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, words) })
}

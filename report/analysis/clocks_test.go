package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestClocksThatDifferAreToldOf: by how much, which metrics that bounds, and which it has cost.
func TestClocksThatDifferAreToldOf(t *testing.T) {
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
}

func says(notes []string, words string) bool {
	return slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, words) })
}

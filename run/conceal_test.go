package run

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestNoTextOfATrialTellsASecret checks that secrets in output of programs are neither in the record nor in
// the logs.
func TestNoTextOfATrialTellsASecret(t *testing.T) {
	c := Conductor{Conceal: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }}
	said := func() []string { return []string{"the password is hunter2"} }
	trial, logs := lab.Trial{Reason: said()[0], Remarks: said(), Metered: lab.Metered{Notes: said()},
		Audit:    lab.Audit{Problems: said(), Said: said()},
		Faults:   []lab.FaultRecord{{Proof: said()[0], Error: said()[0]}},
		Platform: &lab.PlatformCost{Unmetered: said()[0]}}, map[string]string{"one": said()[0]}
	c.conceal(&trial, logs)
	record, err := json.Marshal(trial)
	must(t, err)
	if text := string(record) + logs["one"]; strings.Contains(text, "hunter2") ||
		strings.Count(text, "***") != 9 {
		t.Errorf("the record and the log are %s", text)
	}
	if err := c.concealed(errors.New(said()[0])); err.Error() != "the password is ***" {
		t.Errorf("the error of the experiment is %v", err)
	}
}

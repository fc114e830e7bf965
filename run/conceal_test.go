package run

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestSecretsAreConcealed checks that secrets in the output of programs are neither in the record, nor in the
// logs, nor in the error of the experiment.
func TestSecretsAreConcealed(t *testing.T) {
	c := Conductor{Conceal: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }}
	secret := func() []string { return []string{"the password is hunter2"} }
	trial := lab.Trial{Reason: secret()[0], Remarks: secret(), Metered: lab.Metered{Notes: secret()},
		Audit:    lab.Audit{Problems: secret(), Said: secret()},
		Faults:   []lab.FaultRecord{{Proof: secret()[0], Error: secret()[0]}},
		Platform: &lab.PlatformCost{Unmetered: secret()[0]},
		Traced: &lab.TraceSet{Operations: []lab.TracedOperation{{Operation: secret()[0],
			Batches: []lab.TraceBatch{{Parts: []lab.PartCost{{TracePart: lab.TracePart{Operation: secret()[0]}}}}}}}},
		Paths: []lab.Path{{Segments: []lab.Segment{{Name: secret()[0]}}}}}
	logs := map[string]string{"one": secret()[0]}
	c.conceal(&trial, logs)
	record, err := json.Marshal(trial)
	testset.Must(t, err)
	if text := string(record) + logs["one"]; strings.Contains(text, "hunter2") ||
		strings.Count(text, "***") != 12 {
		t.Errorf("the record and the log are %s", text)
	}
	if err := c.concealed(errors.New(secret()[0])); err.Error() != "the password is ***" {
		t.Errorf("the error of the experiment is %v", err)
	}
}

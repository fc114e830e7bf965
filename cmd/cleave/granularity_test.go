package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/store"
)

// TestGranularityStudiesPlay plays every variant of the quick profiles once, for a second: each has a trial
// whose audit finds no call lost and none made up.
func TestGranularityStudiesPlay(t *testing.T) {
	testset.Need(t, "it plays two studies, for half a minute")
	t.Parallel()
	for name, point := range map[string]string{"mendonca2024": "u500", "zhao2025": "r40"} {
		t.Run(name, func(t *testing.T) {
			results := t.TempDir()
			// The load lasts half as long as in the quick profile. On a busy host a trial may not count, but it
			// is audited nevertheless.
			code, printed := finish(t, program("", "reproduce", name, "--quick", "--blocks", "1", "--scale", "0.5",
				"--points", point, "--no-gates", "--results", results))
			if code != exitFine && code != exitLoadNotReached { // a variant may have no trial that counts
				t.Fatalf("exit code %d: %s", code, printed)
			}
			folder, err := store.Open(filepath.Join(results, name, "latest"))
			if err != nil {
				t.Fatal(err)
			}
			plan, err := folder.Plan()
			if err != nil {
				t.Fatal(err)
			}
			audited := map[string]bool{}
			for _, trial := range trialsOf(t, results) {
				// On a busy host the generator may be the limit. The audit of such a trial has no result.
				slow := strings.Contains(strings.Join(trial.Audit.Problems, " "), "the generator, not the system")
				if trial.Audit.Verdict != lab.AuditValid && !slow {
					t.Errorf("the audit of %s is %s: %v", trial.Variant, trial.Audit.Verdict, trial.Audit.Problems)
				}
				audited[trial.Variant] = true
			}
			for _, v := range plan.Study.Variants {
				if !audited[v.Name] {
					t.Errorf("no trial of %s", v.Name)
				}
			}
		})
	}
}

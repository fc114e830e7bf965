package bigtest

import (
	"encoding/json"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
)

// Job returns the job of the first unit of a trial: the core, or the one unit of an
// architecture that has a single process.
func Job(tb testing.TB, trial Trial) big.UnitJob {
	tb.Helper()
	layout, err := big.System{}.Layout(trial.variant(), trial.point(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	var job big.UnitJob
	if err := json.Unmarshal([]byte(layout.Units[0].Args[0]), &job); err != nil {
		tb.Fatal(err)
	}
	return job
}

// RunWorkers plays a whole trial of an architecture whose workers all live in this
// process, and fails the test unless its audit is valid.
func RunWorkers(tb testing.TB, newWorkers func(big.UnitJob) big.Workers, trial Trial) {
	tb.Helper()
	workers := newWorkers(Job(tb, trial))
	if err := workers.Gather(); err != nil {
		tb.Fatal(err)
	}
	start := big.Clock()
	for _, step := range []func() error{workers.KickOff, workers.AwaitFinish} {
		if err := step(); err != nil {
			tb.Fatal(err)
		}
	}
	end := big.Clock()
	if err := workers.Dismiss(); err != nil {
		tb.Fatal(err)
	}
	account := workers.Account(start, end)
	data, err := json.Marshal(account)
	if err != nil {
		tb.Fatal(err)
	}
	report := lab.UnitReport{Unit: big.RoleAll, PID: account.PID, Data: data}
	audit := big.System{}.Audit(trial.variant(), trial.point(), []lab.UnitReport{report})
	if audit.Verdict != lab.AuditValid {
		tb.Fatalf("%s: audit %s: %q", trial.Name(), audit.Verdict, audit.Problems)
	}
}

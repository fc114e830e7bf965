package bigtest

import (
	"encoding/json"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
)

// Job returns the job of the first unit of a trial: the core, or the one unit of an
// architecture that has a single process.
func Job(tb testing.TB, trial Trial) big.UnitJob {
	tb.Helper()
	layout, err := big.System{}.Layout(trial.variant(), trial.point(), 1)
	testset.Must(tb, err)
	var job big.UnitJob
	testset.Must(tb, json.Unmarshal([]byte(layout.Units[0].Args[0]), &job))
	return job
}

// RunWorkers plays a whole trial of a multithreaded architecture in this process, and fails the test unless
// its audit is valid.
func RunWorkers(tb testing.TB, newWorkers func(big.UnitJob) big.Workers, trial Trial) {
	tb.Helper()
	workers := newWorkers(Job(tb, trial))
	testset.Must(tb, workers.Gather())
	start := big.Clock()
	testset.Must(tb, workers.KickOff())
	testset.Must(tb, workers.AwaitFinish())
	end := big.Clock()
	testset.Must(tb, workers.Dismiss())
	account := workers.Account()
	account.Core.StartNs = start
	account.Core.EndNs = end
	data, err := json.Marshal(account)
	testset.Must(tb, err)
	report := lab.UnitReport{Unit: big.RoleAll, PID: account.PID, Data: data}
	audit := big.System{}.Audit(trial.variant(), trial.point(), []lab.UnitReport{report})
	if audit.Verdict != lab.AuditValid {
		tb.Fatalf("%s: audit %s: %q", trial.Name(), audit.Verdict, audit.Problems)
	}
}

package big

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/unit"
)

// Workers lets the lead unit of an architecture command its workers. The methods are called once each,
// in this order.
type Workers interface {
	// Gather returns when every worker has registered and waits for the start signal.
	Gather() error
	// KickOff sends every worker the start signal.
	KickOff() error
	// AwaitFinish returns when every worker has reached its limit.
	AwaitFinish() error
	// Dismiss makes every worker report and end. Until then all workers go on answering pings.
	Dismiss() error
	// Account returns the account of the lead unit. Its core lacks the times.
	Account() Account
}

// PlayUnit runs the unit of a job, given as JSON: a worker, by runWorker, or the lead unit of the workers
// that newWorkers returns.
func PlayUnit(
	channel *unit.Channel, argument string, newWorkers func(UnitJob) (Workers, error),
	runWorker func(UnitJob) (Account, error),
) error {
	var job UnitJob
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	if job.Role == RoleWorker {
		var account Account
		profile, err := unit.Profiled(func() (err error) {
			account, err = runWorker(job)
			return err
		})
		if err != nil {
			return err
		}
		return channel.ReportWithProfile(profile, account)
	}
	workers, err := newWorkers(job)
	if err != nil {
		return err
	}
	return lead(channel, workers)
}

// StopsAtOnce is the number of workers that a core dismisses concurrently, in architectures in which a
// worker acknowledges its dismissal. That happens after the finish: it affects no metric but the lifetime.
const StopsAtOnce = 32

// lead runs the lead unit over the control channel. In every architecture the clock is read just before the
// first start signal and just after the last finish. A profile covers the time between.
func lead(channel *unit.Channel, workers Workers) error {
	if err := workers.Gather(); err != nil {
		return err
	}
	if err := channel.Ready(); err != nil {
		return err
	}
	if err := channel.Await(lab.CommandStart); err != nil {
		return err
	}
	var startNs, endNs int64
	profile, err := unit.Profiled(func() error {
		startNs = Clock()
		err := workers.KickOff()
		if err == nil {
			err = workers.AwaitFinish()
		}
		endNs = Clock()
		if err != nil {
			return err
		}
		return channel.Finished(time.Duration(endNs - startNs))
	})
	if err != nil {
		return err
	}
	if err := channel.Await(lab.CommandStop); err != nil {
		return err
	}
	if err := workers.Dismiss(); err != nil {
		return err
	}
	account := workers.Account()
	account.Core.StartNs = startNs
	account.Core.EndNs = endNs
	return channel.ReportWithProfile(profile, account)
}

package big

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/unit"
)

// Workers let the lead unit of an architecture command its workers. The
// methods are called once each, in this order.
type Workers interface {
	// Gather returns when every worker is there and waits for the start signal.
	Gather() error
	// KickOff sends every worker the signal upon which it begins to ping.
	KickOff() error
	// AwaitFinish returns when every worker has reached its limit.
	AwaitFinish() error
	// Dismiss tells every worker to report and to end. Until then all workers
	// go on answering pings.
	Dismiss() error
	// Account is the lead unit's own account; the clock readings are in it.
	Account(startNs, endNs int64) Account
}

// PlayUnit plays the part of the unit that has a job: the lead's with the workers that are made
// for it, or a worker's.
func PlayUnit(
	channel *unit.Channel, argument string, newWorkers func(UnitJob) (Workers, error),
	runWorker func(UnitJob) (Account, error),
) error {
	var job UnitJob
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	if job.Role == RoleWorker {
		account, err := runWorker(job)
		if err != nil {
			return err
		}
		return channel.Report(account)
	}
	workers, err := newWorkers(job)
	if err != nil {
		return err
	}
	return Lead(channel, workers)
}

// StopsAtOnce is how many workers are told to end at a time, where each answers. That one
// ends while the next is told is no part of the work: of all metrics only the lifetime, to
// the last exit, has it.
const StopsAtOnce = 32

// Lead plays the lead unit's part of a trial over the control channel. The two
// clock readings, just before the first start signal and just after the last
// finish, are the same in every architecture.
func Lead(channel *unit.Channel, workers Workers) error {
	if err := workers.Gather(); err != nil {
		return err
	}
	if err := channel.Ready(); err != nil {
		return err
	}
	if err := channel.Await(lab.CommandStart); err != nil {
		return err
	}
	startNs := Clock()
	err := workers.KickOff()
	if err == nil {
		err = workers.AwaitFinish()
	}
	endNs := Clock()
	if err != nil {
		return err
	}
	if err := channel.Finished(time.Duration(endNs - startNs)); err != nil {
		return err
	}
	if err := channel.Await(lab.CommandStop); err != nil {
		return err
	}
	if err := workers.Dismiss(); err != nil {
		return err
	}
	return channel.Report(workers.Account(startNs, endNs))
}

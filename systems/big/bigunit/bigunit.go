// Package bigunit is Big's unit program: it selects the package of a unit's architecture. Package
// grpcservice, which is large, has a program of its own.
package bigunit

import (
	"fmt"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/httplean"
	"github.com/cleave-lab/cleave/systems/big/httpservice"
	"github.com/cleave-lab/cleave/systems/big/shm"
	"github.com/cleave-lab/cleave/systems/big/threads"
	"github.com/cleave-lab/cleave/systems/big/threadsfast"
	"github.com/cleave-lab/cleave/systems/big/udspersistent"
	"github.com/cleave-lab/cleave/systems/big/udsservice"
	"github.com/cleave-lab/cleave/unit"
)

// Run runs the unit of a job, given as JSON.
func Run(channel *unit.Channel, argument string) error {
	return big.PlayUnit(channel, argument, workersOf, runWorker)
}

// workersOf returns the workers of a job for the lead unit.
func workersOf(job big.UnitJob) (big.Workers, error) {
	switch job.Architecture {
	case big.Threads:
		return threads.NewWorkers(job), nil
	case big.ThreadsFast:
		return threadsfast.NewWorkers(job), nil
	case big.HTTP, big.HTTPLean:
		return httpservice.NewCore(job)
	case big.UDS:
		return udsservice.NewCore(job)
	case big.UDSPersistent:
		return udspersistent.NewCore(job)
	case big.SHM:
		return shm.NewCore(job)
	}
	return nil, fmt.Errorf("big has no architecture %q in this program", job.Architecture)
}

// runWorker runs the worker of a job to its end and returns its account.
func runWorker(job big.UnitJob) (big.Account, error) {
	switch job.Architecture {
	case big.HTTP:
		return httpservice.RunWorker(job)
	case big.HTTPLean:
		return httplean.RunWorker(job)
	case big.UDS:
		return udsservice.RunWorker(job)
	case big.UDSPersistent:
		return udspersistent.RunWorker(job)
	case big.SHM:
		return shm.RunWorker(job)
	}
	return big.Account{}, fmt.Errorf("big has no workers of architecture %q in this program", job.Architecture)
}

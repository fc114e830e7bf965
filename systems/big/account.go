package big

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Account is the report of a unit at the end of a job.
type Account struct {
	PID int `json:"pid"`
	// OwnAddressSpace is true when the unit has proved that no other worker
	// shares its memory; see claimAddressSpace.
	OwnAddressSpace bool            `json:"own_address_space"`
	Workers         []WorkerAccount `json:"workers,omitempty"`
	Core            *CoreAccount    `json:"core,omitempty"`
}

// WorkerAccount is the account of one worker.
type WorkerAccount struct {
	Number   int `json:"number"`
	Sent     int `json:"sent"`     // pings
	Received int `json:"received"` // pongs
	Answered int `json:"answered"` // pings of others
	// Targets has the number of pings sent to each neighbour, by index.
	Targets []uint32 `json:"targets"`
	// HalfNs and FinishNs are the times, by Clock, at which half of the pings were sent and all pongs
	// received.
	HalfNs   int64 `json:"half_ns"`
	FinishNs int64 `json:"finish_ns"`
}

// CoreAccount is the account of the core.
type CoreAccount struct {
	Registered int `json:"registered"` // workers
	Finished   int `json:"finished"`   // workers
	// StartNs and EndNs are the times, by Clock, of the first start signal and of the last finish.
	StartNs int64 `json:"start_ns"`
	EndNs   int64 `json:"end_ns"`
}

// Account returns the counts and times of the worker so far.
func (w *Worker) Account() WorkerAccount {
	return WorkerAccount{
		Number: w.number, Sent: w.sent, Received: w.received, Answered: w.answered,
		Targets: w.targets, HalfNs: w.halfNs, FinishNs: w.finishNs,
	}
}

// NewAccount returns the account of this process over the given workers.
func NewAccount(workers ...*Worker) Account {
	account := Account{PID: os.Getpid()}
	for _, w := range workers {
		account.Workers = append(account.Workers, w.Account())
	}
	return account
}

// PlayWorker has play run the job's worker to its end, and returns the account of this process. It may be
// called once per process, since it claims the address space for the worker.
func PlayWorker(job UnitJob, play func(rules *Worker) error) (Account, error) {
	own := claimAddressSpace()
	rules := job.NewWorker(job.Worker, Clock)
	if err := play(rules); err != nil {
		return Account{}, fmt.Errorf("worker %d: %w", job.Worker, err)
	}
	account := NewAccount(rules)
	account.OwnAddressSpace = own
	return account, nil
}

// Clock returns the host's monotonic time in nanoseconds. It is the same in all processes of a host, so that
// times of different workers can be compared.
func Clock() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0 // cannot fail for this clock
	}
	return now.Nano()
}

// claimedAddress is in the middle of the 47-bit user address space, far from the areas that Linux and Go use.
const claimedAddress = 0x3c1ea7e00000

// claimAddressSpace maps a private page at a fixed address, unless there is one, and reports whether it did.
// Two workers in one address space could not both succeed, so success proves that this worker has its own.
func claimAddressSpace() bool {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED_NOREPLACE
	address, _, errno := unix.Syscall6(unix.SYS_MMAP, claimedAddress, uintptr(os.Getpagesize()),
		unix.PROT_NONE, flags, ^uintptr(0), 0)
	return errno == 0 && address == claimedAddress
}

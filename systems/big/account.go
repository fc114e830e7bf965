package big

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Account is the report of a unit when the job is over.
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
	Sent     int `json:"sent"`
	Received int `json:"received"`
	Answered int `json:"answered"`
	// Targets has the number of pings sent to each neighbour, by index.
	Targets []uint32 `json:"targets"`
	// HalfNs and FinishNs are monotonic times of the host: half of the pings
	// sent, all pongs received.
	HalfNs   int64 `json:"half_ns"`
	FinishNs int64 `json:"finish_ns"`
}

// CoreAccount is the report of the core.
type CoreAccount struct {
	Registered int   `json:"registered"`
	Finished   int   `json:"finished"`
	StartNs    int64 `json:"start_ns"`
	EndNs      int64 `json:"end_ns"`
}

// Account returns what the worker has done so far.
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

// PlayWorker lets play drive the job's worker to its end and returns the account
// of this process. It is called once in the life of a process, since it claims
// the address space for this worker.
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

// Clock tells the host's monotonic time in nanoseconds. All processes of a host
// share it, so that times of different workers can be compared.
func Clock() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0 // cannot fail for this clock
	}
	return now.Nano()
}

// claimedAddress lies in the middle of the 47-bit user address space, far from
// where Linux and Go put anything of their own.
const claimedAddress = 0x3c1ea7e00000

// claimAddressSpace maps one private page at a fixed address and refuses to
// replace a page that is there. Two workers that shared an address space could
// not both succeed, so success proves that this worker has its own.
func claimAddressSpace() bool {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED_NOREPLACE
	address, _, errno := unix.Syscall6(unix.SYS_MMAP, claimedAddress, uintptr(os.Getpagesize()),
		unix.PROT_NONE, flags, ^uintptr(0), 0)
	return errno == 0 && address == claimedAddress
}

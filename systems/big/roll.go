package big

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Roll is the core's list of registered workers. It is not safe for concurrent use: a core that serves
// concurrently has a Reception, which guards it with a mutex as the study's core does.
type Roll struct {
	job       Job
	addresses []string // in the order of registration; sorted once all have registered
	finished  int
}

// NewRoll returns the empty roll of a job.
func NewRoll(job Job) *Roll { return &Roll{job: job} }

// Register adds a worker's address and reports whether all workers have registered. One more is an error.
func (r *Roll) Register(address string) (complete bool, err error) {
	if len(r.addresses) == r.job.Total() {
		return false, fmt.Errorf("worker %q registers, but all %d workers have registered", address, r.job.Total())
	}
	r.addresses = append(r.addresses, address)
	if complete = len(r.addresses) == r.job.Total(); complete {
		slices.SortFunc(r.addresses, compareAddresses)
	}
	return complete, nil
}

// compareAddresses compares hosts and ports by their numbers, and other addresses as texts.
func compareAddresses(a, b string) int {
	first, err := netip.ParseAddrPort(a)
	second, err2 := netip.ParseAddrPort(b)
	if err != nil || err2 != nil {
		return strings.Compare(a, b)
	}
	return first.Compare(second)
}

// Finish counts a worker that has reached its limit and reports whether it was
// the last one.
func (r *Roll) Finish() (last bool) {
	r.finished++
	return r.finished == r.job.Total()
}

// Account returns the account of the core's process, with the times of the first start signal and of the last
// finish, in nanoseconds of Clock.
func (r *Roll) Account(startNs, endNs int64) Account {
	account := NewAccount()
	account.Core = &CoreAccount{Registered: len(r.addresses), Finished: r.finished, StartNs: startNs,
		EndNs: endNs}
	return account
}

// Addresses returns the addresses of all workers, once all have registered, in ascending order. If the
// deployer assigns addresses in that order, it is the order of worker numbers.
func (r *Roll) Addresses() []string { return r.addresses }

// Neighbourhood returns the addresses of the workers of a neighbourhood, by index, once all have registered.
// It does not depend on the order of registration. Cores call it within the measured time, so it only slices.
func (r *Roll) Neighbourhood(number int) []string {
	return r.addresses[number*r.job.Workers : (number+1)*r.job.Workers]
}

//go:build linux

package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/load/queueing"
)

// knownQueue is a target whose capacity follows from theory: a queue with Poisson arrivals and one server
// with fixed (M/D/1) or exponential (M/M/1) service times.
type knownQueue struct {
	name        string
	exponential bool
	capacity    float64 // the rate at which the objective is just met, in operations per second
}

// The mean service time, and the objective of the search: the share of the operations that must end within
// the limit. The service time is long compared with the microseconds that the machine adds. The 90th
// percentile is more precise than the 99th for the same number of operations, so it adds little to the error
// of the search.
const (
	meanService  = 500 * time.Microsecond
	limitedShare = 0.9
	timeLimit    = 2500 * time.Microsecond
)

// knownQueues returns both queues with their capacities by theory.
func knownQueues() []knownQueue {
	service := meanService.Seconds()
	limit := timeLimit.Seconds()
	return []knownQueue{
		{"M/D/1", false, queueing.CapacityMD1(limitedShare, service, limit)},
		{"M/M/1", true, queueing.CapacityMM1(limitedShare, service, limit)},
	}
}

// capacity lets cleave search for the known capacities. It adds the relative errors to the samples.
func (p *plan) capacity(s samples) {
	for round := range p.searches {
		for _, q := range knownQueues() {
			found, err := p.search(q, strconv.Itoa(round+1))
			if err != nil {
				fmt.Fprintf(p.progress, "  capacity   %-16s skipped: %v\n", q.name, err)
				continue
			}
			off := found/q.capacity - 1
			fmt.Fprintf(p.progress, "  capacity   %-16s %.1f/s, truth %.1f/s, off by %+.1f %%\n", q.name, found,
				q.capacity, 100*off)
			s.add("capacity error, "+q.name, "cleave", math.Abs(off))
		}
	}
}

// searchCommand returns the command line of cleave for a search. The sender spins, because a sleeping
// sender wakes some microseconds late, and the delay would count as response time.
func (p *plan) searchCommand(seed string) []string {
	return []string{
		p.cleavePath(), "load", urlMark, "--search", "--objective",
		fmt.Sprintf("p%g<%v", 100*limitedShare, timeLimit),
		"--resolution", "1.01", "-r", "200", "--arrivals", "poisson", "--seed", seed, "-d", p.probe.String(),
		"--pacing", "spin", "--progress", "none", "--json", reportMark,
	}
}

// search runs one search and returns the capacity that it found, in operations per second.
func (p *plan) search(q knownQueue, seed string) (float64, error) {
	options := []string{"-service", meanService.String(), "-seed", seed}
	if q.exponential {
		options = append(options, "-exponential")
	}
	const most = 200 // loads, for the time limit: twice maxProbes of package search
	run, _, err := p.against(sceneCapacity, options, p.searchCommand(seed), most*p.probe+slack)
	if err != nil {
		return 0, err
	}
	found := run.report.Capacity
	if found == nil {
		return 0, errors.New("the report has no capacity")
	}
	if found.Rate == nil {
		return 0, fmt.Errorf("no capacity was found: %s", found.Reason)
	}
	return *found.Rate, nil
}

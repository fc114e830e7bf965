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

// stand is a server of known capacity: a queue with Poisson arrivals and one
// server with fixed (M/D/1) or exponential (M/M/1) times.
type stand struct {
	name        string
	exponential bool
	capacity    float64 // at which the objective is just met, operations per second
}

// The objective of the search, and the mean service time. Among equally many operations the 90th
// percentile is more precise than the 99th, so the error is that of the search. Half a millisecond is
// long compared with the microseconds that the machine adds.
const (
	standTime  = 500 * time.Microsecond
	standShare = 0.9
	standLimit = 2500 * time.Microsecond
)

// stands returns both servers with their capacities by theory.
func stands() []stand {
	service, limit := standTime.Seconds(), standLimit.Seconds()
	return []stand{
		{"M/D/1", false, queueing.CapacityMD1(standShare, service, limit)},
		{"M/M/1", true, queueing.CapacityMM1(standShare, service, limit)},
	}
}

// capacity lets cleave search for the known capacities and adds the errors to the samples.
func (p *plan) capacity(s samples) {
	for round := range p.searches {
		for _, stand := range stands() {
			found, err := p.search(stand, strconv.Itoa(round+1))
			if err != nil {
				fmt.Fprintf(p.progress, "  capacity   %-16s skipped: %v\n", stand.name, err)
				continue
			}
			off := found/stand.capacity - 1
			fmt.Fprintf(p.progress, "  capacity   %-16s %.1f/s, truth %.1f/s, off by %+.1f %%\n", stand.name, found,
				stand.capacity, 100*off)
			s.add("capacity error, "+stand.name, "cleave", math.Abs(off))
		}
	}
}

// searchCommand returns the command line of cleave for a search. Its sends spin, because a sleeping
// sender wakes some microseconds late, which would count as response time.
func (p *plan) searchCommand(seed string) []string {
	return []string{
		p.own(), "load", urlMark, "--search", "--objective",
		fmt.Sprintf("p%g<%v", 100*standShare, standLimit),
		"--resolution", "1.01", "-r", "200", "--arrivals", "poisson", "--seed", seed, "-d", p.probe.String(),
		"--pacing", "spin", "--progress", "none", "--json", reportMark,
	}
}

// search runs one search and returns the capacity that it found, in operations per second.
func (p *plan) search(stand stand, seed string) (float64, error) {
	options := []string{"-service", standTime.String(), "-seed", seed}
	if stand.exponential {
		options = append(options, "-exponential")
	}
	const most = 200 // loads: twice as many as a search plays
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

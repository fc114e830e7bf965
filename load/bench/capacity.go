//go:build linux

package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// stand is a server of known capacity: a queue with Poisson arrivals and one
// server with fixed (M/D/1) or exponential (M/M/1) times.
type stand struct {
	name        string
	exponential bool
	capacity    float64 // at which the objective is just met, operations per second
}

// The objective of the search, and the mean service time. 90 % and not 99: of the
// same number of operations it is known better, so that the error is the
// search's. Half a millisecond is long beside the microseconds of the machine.
const (
	standTime  = 500 * time.Microsecond
	standShare = 0.9
	standLimit = 2500 * time.Microsecond
)

// stands are both, with what theory says of them.
func stands() []stand {
	service, limit := standTime.Seconds(), standLimit.Seconds()
	return []stand{
		{"M/D/1", false, capacityMD1(standShare, service, limit)},
		{"M/M/1", true, capacityMM1(standShare, service, limit)},
	}
}

// capacityMM1 returns the rate at which a share of the response times of an M/M/1
// queue is at most limit: they are exponential with rate mu - lambda, so
//
//	lambda = mu + ln(1 - share) / limit
//
// service and limit in seconds, lambda and mu = 1/service per second.
func capacityMM1(share, service, limit float64) float64 {
	return 1/service + math.Log(1-share)/limit
}

// waitsMD1 returns the probability that an operation of an M/D/1 queue waits at most
// t before its service (Crommelin 1932; service time d, arrivals lambda):
//
//	P(W <= t) = (1 - lambda d) sum_{k=0}^{floor(t/d)} (-lambda (t - k d))^k / k! * e^(lambda (t - k d))
func waitsMD1(lambda, d, t float64) float64 {
	var sum float64
	for k := 0.0; k <= math.Floor(t/d+1e-9); k++ {
		x := lambda * (t - k*d)
		logFactorial, _ := math.Lgamma(k + 1)
		sum += math.Pow(-x, k) * math.Exp(x-logFactorial)
	}
	return (1 - lambda*d) * sum
}

// capacityMD1 returns the rate at which a share of the response times of an M/D/1
// queue is at most limit, by bisection.
func capacityMD1(share, service, limit float64) float64 {
	low, high := 0.0, 1/service
	for range 60 {
		middle := (low + high) / 2
		if waitsMD1(middle, service, limit-service) >= share {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// capacity lets our tool search for what is known.
func (p *plan) capacity(s samples) {
	for round := range p.searches {
		for _, stand := range stands() {
			found, err := p.search(stand, strconv.Itoa(round+1))
			if err != nil {
				fmt.Fprintf(p.story, "  capacity   %-16s skipped: %v\n", stand.name, err)
				continue
			}
			off := found/stand.capacity - 1
			fmt.Fprintf(p.story, "  capacity   %-16s %.1f/s, truth %.1f/s, off by %+.1f %%\n", stand.name, found,
				stand.capacity, 100*off)
			s.add("capacity error, "+stand.name, "cleave", math.Abs(off))
		}
	}
}

// search lets our tool search once. Its sends spin, so that the microseconds that
// a sleeper wakes late are not taken for the server's.
func (p *plan) search(stand stand, seed string) (float64, error) {
	options := []string{"-service", standTime.String(), "-seed", seed}
	if stand.exponential {
		options = append(options, "-exponential")
	}
	command := []string{
		p.tools[0].path, "load", urlMark, "--search", "--objective",
		fmt.Sprintf("p%g<%v", 100*standShare, standLimit),
		"--resolution", "1.01", "-r", "200", "--arrivals", "poisson", "--seed", seed, "-d", p.probe.String(),
		"--pacing", "spin", "--progress", "none", "--json", reportMark,
	}
	const most = 200 // loads: twice what a search plays
	run, _, err := p.against(sceneCapacity, options, command, most*p.probe+slack)
	if err != nil {
		return 0, err
	}
	if run.report.Capacity == nil || run.report.Capacity.Rate == nil {
		return 0, fmt.Errorf("no capacity was found: %s", run.report.Capacity.because())
	}
	return *run.report.Capacity.Rate, nil
}

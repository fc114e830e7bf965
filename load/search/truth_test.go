package search

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/schedule"
)

// simulation plays loads on a server of about 490/s in virtual time.
type simulation struct {
	poisson bool
	service func(*rand.Rand) time.Duration // of an operation
	limit   objective.Objective
	seed    uint64
	played  time.Duration // length of all loads so far
}

// serviceOf490 is the service time of a server of 490/s.
const serviceOf490 = time.Second / 490

// trial plays a load on a queue, first come first served. It samples the backlog every 100 ms.
func (s *simulation) trial(rate float64, length time.Duration) (record.Probe, error) {
	s.seed++
	plan, err := schedule.Constant(rate, length)
	if err != nil {
		return record.Probe{}, err
	}
	if s.poisson {
		plan = plan.Random(s.seed)
	}
	results := record.NewResults(record.Options{Operations: []string{"get"}, Window: length})
	random := rand.New(rand.NewPCG(s.seed, 2))
	const every = 100 * time.Millisecond
	backlog := make([]float64, length/every)
	change := func(at time.Duration, by float64) {
		if i := int(at / every); i < len(backlog) {
			backlog[i] += by
		}
	}
	var free, lost time.Duration
	var due, slow int64
	share, slowAt := s.lostBy()
	for arrivals := plan.Arrivals(); ; due++ {
		at, more := arrivals.Next()
		if !more {
			break
		}
		free = max(free, at) + s.service(random)
		change(at, 1)
		change(free, -1)
		results.Add(&record.Sample{Intended: at, Sent: at, Finished: free})
		if free-at > slowAt {
			slow++
		}
		if lost == 0 && float64(slow) > share*rate*length.Seconds()+1 {
			lost = free.Truncate(time.Second) + time.Second
		}
	}
	if s.played += length; lost > 0 && lost < length { // the trial was stopped early
		s.played -= length - lost
	}
	for i := range backlog[1:] {
		backlog[i+1] += backlog[i]
	}
	summary := results.Summarize(length, &due)
	pass, reasons := s.limit.Judge(&summary)
	if g := BacklogGrows(backlog, every, rate); g.Grows {
		pass = false
		reasons = append(reasons, "the backlog grows")
	}
	return record.Probe{Achieved: summary.AchievedRate, Pass: pass, Reasons: reasons,
		ResponseTime: summary.ResponseTime}, nil
}

// lostBy returns the share of slow operations from which on a trial can no longer pass, and the time from
// which on an operation is slow.
func (s *simulation) lostBy() (share float64, slow time.Duration) {
	if s.limit.Terms[0].Metric == "p50" {
		share = 0.5
	} else {
		share = 0.01
	}
	return share, time.Duration(s.limit.Terms[0].Limit * float64(time.Second))
}

// search looks for the capacity by trials of ten seconds.
func (s *simulation) search(t *testing.T, start float64) record.Capacity {
	t.Helper()
	const length = 10 * time.Second
	of := func(share float64) Prober {
		return func(_ context.Context, rate float64) (record.Probe, error) {
			return s.trial(rate, time.Duration(share*float64(length)))
		}
	}
	c, err := Run(t.Context(), Options{Start: start, Short: of(ShortShare), Confirm: of(3)}, of(1))
	testset.Must(t, err)
	return c
}

// truth returns the rate at which a load of ten minutes just meets the objective.
func (s *simulation) truth(t *testing.T) float64 {
	t.Helper()
	low, high := 300.0, 600.0
	for high > 1.001*low {
		middle := (low + high) / 2
		p, err := s.trial(middle, 10*time.Minute)
		testset.Must(t, err)
		if p.Pass {
			low = middle
		} else {
			high = middle
		}
	}
	s.played = 0
	return low
}

// noisy returns the service time of an operation on a host with other work.
func noisy(r *rand.Rand) time.Duration {
	service := time.Duration((0.5 + r.Float64()) * float64(serviceOf490) * 0.98)
	if r.IntN(500) == 0 {
		service += 10 * serviceOf490
	}
	return service
}

// TestSearchesFindTheTrueCapacitySoon: nine of ten searches for the capacity of a server of 490/s are within
// 3 % of the truth, whether they begin at a rate of the user's or at a quarter of the rate of a few users.
// They take two thirds of 190 s, the time that an earlier procedure took.
func TestSearchesFindTheTrueCapacitySoon(t *testing.T) {
	even := func(*rand.Rand) time.Duration { return serviceOf490 }
	for i, c := range []struct {
		name    string
		poisson bool
		service func(*rand.Rand) time.Duration
		limit   string
		within  float64
	}{
		{"constant, even", false, even, "p99<100ms", 0.03},
		{"poisson, noisy", true, noisy, "p99<200ms", 0.03},
		{"constant, noisy", false, noisy, "p99<200ms", 0.03},
		{"constant, noisy, strict", false, noisy, "p99<50ms", 0.03},
		{"constant, noisy, lenient", false, noisy, "p50<1s", 0.03},
		{"poisson, even", true, even, "p99<200ms", 0.03},
		// Of the same rate some loads of ten seconds have half of this p99, and some twice.
		{"poisson, strict", true, even, "p99<50ms", 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			if i >= 2 {
				testset.Need(t, "forty more searches take two seconds")
			}
			limit := objective.MustParse(c.limit)
			const searches = 40
			s := simulation{poisson: c.poisson, service: c.service, limit: limit.WithDefaults()}
			truth := s.truth(t)
			near := 0
			least := 0.0
			most := 0.0
			for i := range searches {
				start := []float64{100, 490. / 4}[i%2] * (0.9 + 0.2*float64(i)/searches)
				got := s.search(t, start)
				if got.Rate == nil {
					t.Fatalf("no capacity: %s", got.Reason)
				}
				off := *got.Rate/truth - 1
				if math.Abs(off) <= c.within {
					near++
				}
				least = min(least, off)
				most = max(most, off)
			}
			mean := s.played / searches
			t.Logf("%d of %d within %g %% of %.0f/s, off by %.1f to %+.1f %%, %v of load", near, searches,
				100*c.within, truth, 100*least, 100*most, mean)
			if near < searches*9/10 {
				t.Errorf("%d of %d are within %g %%", near, searches, 100*c.within)
			}
			if longest := 190 * time.Second * 2 / 3; mean > longest {
				t.Errorf("a search plays %v of load, at most %v are wanted", mean, longest)
			}
		})
	}
}

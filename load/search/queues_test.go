package search

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/queueing"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/schedule"
)

// queue is a single server with a first-come-first-served queue without end,
// played in virtual time.
type queue struct {
	service func(*rand.Rand) time.Duration
	n       int // operations of a trial
	limit   objective.Objective
	trials  uint64
}

// probe plays Poisson arrivals of a rate through the queue: an operation starts
// when it is due and the one before it is done (Lindley 1952).
func (q *queue) probe(_ context.Context, rate float64) (record.Probe, error) {
	q.trials++
	window := time.Duration(float64(q.n) / rate * 1e9)
	even, err := schedule.Constant(rate, window)
	if err != nil {
		return record.Probe{}, err
	}
	results := record.NewResults(record.Options{Operations: []string{"get"}, Window: window})
	random := rand.New(rand.NewPCG(q.trials, 1))
	plan := even.Random(q.trials)
	var free time.Duration
	var offered int64
	for arrivals := plan.Arrivals(); ; offered++ {
		due, ok := arrivals.Next()
		if !ok {
			break
		}
		free = max(free, due) + q.service(random)
		results.Add(&record.Sample{Intended: due, Sent: due, Finished: free})
	}
	s := results.Summarize(window, &offered)
	pass, reasons := q.limit.Judge(&s)
	return record.Probe{Achieved: s.AchievedRate, Pass: pass, Reasons: reasons, ResponseTime: s.ResponseTime},
		nil
}

// serviceTime is the mean service time of all queues.
const serviceTime = time.Millisecond

// exponential service makes an M/M/1 queue.
func exponential(r *rand.Rand) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(serviceTime))
}

// deterministic service makes an M/D/1 queue.
func deterministic(*rand.Rand) time.Duration { return serviceTime }

func TestCapacityOfKnownQueues(t *testing.T) {
	mean := serviceTime.Seconds()
	cases := []struct {
		name       string
		service    func(*rand.Rand) time.Duration
		objective  string
		truth      float64
		resolution float64
		within     float64
	}{
		{"M/M/1", exponential, "p99<10ms", queueing.CapacityMM1(0.99, mean, 0.010), 1.05, 0.05},
		{"M/D/1", deterministic, "p99<6ms", queueing.CapacityMD1(0.99, mean, 0.006), 1.05, 0.05},
		{"M/M/1, fine", exponential, "p99<10ms", queueing.CapacityMM1(0.99, mean, 0.010), 1.01, 0.02},
		{"M/D/1, fine", deterministic, "p99<6ms", queueing.CapacityMD1(0.99, mean, 0.006), 1.01, 0.02},
		{"M/M/1 by its median", exponential, "p50<2ms", queueing.CapacityMM1(0.5, mean, 0.002), 1.01, 0.02},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			limit := objective.MustParse(c.objective)
			q := queue{service: c.service, n: 100_000, limit: limit.WithDefaults()}
			got, err := Run(t.Context(), Options{Start: 50, Resolution: c.resolution, Objective: c.objective}, q.probe)
			testset.Must(t, err)
			if got.Rate == nil || got.High == nil || !got.Monotone {
				t.Fatalf("no capacity: %s", got.Reason)
			}
			if off := *got.Rate/c.truth - 1; math.Abs(off) > c.within {
				t.Errorf("capacity %g/s, truth %.1f/s: off by %.1f %%", *got.Rate, c.truth, 100*off)
			}
			t.Logf("capacity %g..%g/s, truth %.1f/s, %d probes", *got.Low, *got.High, c.truth, len(got.Probes))
		})
	}
}

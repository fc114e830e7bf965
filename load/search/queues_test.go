package search

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/load/objective"
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
	results, err := record.NewResults(record.Options{Operations: []string{"get"}, Window: window})
	if err != nil {
		return record.Probe{}, err
	}
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
		results.Add(record.Sample{Intended: due, Sent: due, Finished: free})
	}
	s := results.Summarize(window, &offered)
	pass, reasons := q.limit.Judge(&s)
	return record.Probe{Achieved: s.AchievedRate, Pass: pass, Reasons: reasons, ResponseTime: s.ResponseTime},
		nil
}

// serviceTime is the mean of all stand-ins.
const serviceTime = time.Millisecond

// exponential service makes an M/M/1 queue.
func exponential(r *rand.Rand) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(serviceTime))
}

// deterministic service makes an M/D/1 queue.
func deterministic(*rand.Rand) time.Duration { return serviceTime }

// capacityMM1 returns the rate at which a share p of the response times of an M/M/1
// queue is at most limit. They are exponential with rate mu - lambda, so
//
//	lambda = mu + ln(1 - p) / limit
func capacityMM1(p, limit float64) float64 {
	return 1/serviceTime.Seconds() + math.Log(1-p)/limit
}

// waitsMD1 returns the probability that an operation of an M/D/1 queue waits at most
// t before its service (Crommelin 1932; service d, arrivals lambda):
//
//	P(W <= t) = (1 - lambda d) sum_{k=0}^{floor(t/d)} (-lambda (t - k d))^k / k! * e^(lambda (t - k d))
func waitsMD1(lambda, d, t float64) float64 {
	var sum float64
	for k := 0.0; k <= math.Floor(t/d+1e-9); k++ {
		x := lambda * (t - k*d)
		logFactorial, _ := math.Lgamma(k + 1)
		term := math.Exp(x - logFactorial)
		if k > 0 {
			term *= math.Pow(x, k)
		}
		if int(k)%2 == 1 {
			term = -term
		}
		sum += term
	}
	return (1 - lambda*d) * sum
}

// capacityMD1 returns the rate at which a share p of the response times of an M/D/1
// queue is at most limit, by bisection.
func capacityMD1(p, limit float64) float64 {
	d := serviceTime.Seconds()
	low, high := 0.0, 1/d
	for range 60 {
		middle := (low + high) / 2
		if waitsMD1(middle, d, limit-d) >= p {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// TestFormulas holds the models against numbers from elsewhere.
func TestFormulas(t *testing.T) {
	// Response times of M/M/1 at half load, 1 ms: p99 = ln(100)/500 s.
	if got := capacityMM1(0.99, math.Log(100)/500); math.Abs(got-500) > 1e-9 {
		t.Errorf("M/M/1: %g/s, want 500/s", got)
	}
	// No wait: 1 - rho. Within one service: (1 - rho) e^rho.
	for _, c := range []struct{ t, want float64 }{{0, 0.4}, {0.0005, 0.4 * math.Exp(0.3)}} {
		if got := waitsMD1(600, 0.001, c.t); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("M/D/1: P(W <= %g) = %g, want %g", c.t, got, c.want)
		}
	}
	// The mean wait is rho d / (2 (1 - rho)) (Pollaczek and Khinchine): integrate the tail.
	const step = 0.000002
	var mean float64
	for at := step / 2; at < 0.015; at += step {
		mean += step * (1 - waitsMD1(600, 0.001, at))
	}
	if want := 0.6 * 0.001 / (2 * 0.4); math.Abs(mean-want) > 1e-3*want {
		t.Errorf("M/D/1: mean wait %g s, want %g s", mean, want)
	}
}

func TestCapacityOfKnownQueues(t *testing.T) {
	cases := []struct {
		name       string
		service    func(*rand.Rand) time.Duration
		objective  string
		truth      float64
		resolution float64
		within     float64
	}{
		{"M/M/1", exponential, "p99<10ms", capacityMM1(0.99, 0.010), 1.05, 0.05},
		{"M/D/1", deterministic, "p99<6ms", capacityMD1(0.99, 0.006), 1.05, 0.05},
		{"M/M/1, fine", exponential, "p99<10ms", capacityMM1(0.99, 0.010), 1.01, 0.02},
		{"M/D/1, fine", deterministic, "p99<6ms", capacityMD1(0.99, 0.006), 1.01, 0.02},
		{"M/M/1 by its median", exponential, "p50<2ms", capacityMM1(0.5, 0.002), 1.01, 0.02},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			limit, err := objective.Parse(c.objective)
			if err != nil {
				t.Fatal(err)
			}
			q := queue{service: c.service, n: 100_000, limit: limit.WithDefaults()}
			got, err := Run(t.Context(), Options{Start: 50, Resolution: c.resolution, Objective: c.objective}, q.probe)
			if err != nil {
				t.Fatal(err)
			}
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

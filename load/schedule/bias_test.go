package schedule

import (
	"math"
	"slices"
	"testing"
	"time"
)

// Delays that a host adds to a sleep, in milliseconds.
const (
	wakes    = 0.4  // from the end of the sleep to the answer
	occupied = 1.04 // processor time for receiving a request
)

// host returns the time of the answer to a request that came at a time and whose server sleeps for a while,
// in milliseconds. arrivals are all requests, and last is the index of the last one that came before the end
// of the sleep. phase is the offset of the host's clock ticks.
type host func(arrivals []float64, last int, came, sleep, phase float64) float64

// hosts returns hosts on which the end of a sleep depends on the clock, or on the arrivals of other requests.
func hosts() map[string]host {
	tick := func(length float64) host {
		return func(_ []float64, _ int, came, sleep, phase float64) float64 {
			return math.Ceil((came+sleep-phase)/length)*length + phase + wakes
		}
	}
	return map[string]host{
		// One processor: a sleeper that wakes while a request is being received has to wait.
		"collisions": func(arrivals []float64, last int, came, sleep, _ float64) float64 {
			return max(came+sleep+wakes, arrivals[last]+occupied)
		},
		// The runtime waits for whole milliseconds since it last woke up, as Go's does.
		"whole milliseconds": func(arrivals []float64, last int, came, sleep, _ float64) float64 {
			return arrivals[last] + math.Ceil(came+sleep-arrivals[last]-1e-6) + wakes
		},
		"ticks of 1 ms": tick(1),
		"ticks of 4 ms": tick(4),
	}
}

// median returns the median response time, in milliseconds, of a server that sleeps for each request.
func median(arrivals []float64, answered host, sleep, phase float64) float64 {
	var times []float64
	last := 0
	for _, came := range arrivals {
		for last+1 < len(arrivals) && arrivals[last+1] <= came+sleep+wakes+1e-6 {
			last++
		}
		if last+1 < len(arrivals) { // the load goes on
			times = append(times, answered(arrivals, last, came, sleep, phase)-came)
		}
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// ratios returns, for each sleep, the ratio of the median to that of a sleep of 20 ms. It is the mean over
// trials of arrivals by different seeds, each at another phase of the host's clock.
func ratios(t *testing.T, arrivals func(seed uint64) Schedule, answered host, sleeps []float64) []float64 {
	t.Helper()
	const trials = 100
	mean := make([]float64, len(sleeps))
	for trial := range uint64(trials) {
		var due []float64
		for walk := arrivals(trial).Arrivals(); ; {
			at, ok := walk.Next()
			if !ok {
				break
			}
			due = append(due, at.Seconds()*1e3)
		}
		phase := 4 * float64(trial) / trials
		base := median(due, answered, 20, phase)
		for i, sleep := range sleeps {
			mean[i] += median(due, answered, sleep, phase) / base / trials
		}
	}
	return mean
}

// TestJitteredArrivalsShiftNoTimes: evenly spaced arrivals give the wrong ratios that were measured with real
// servers (1.065, 1.255 and 1.956 with sleeps of 22, 26 and 40 ms; 1.048 with one in Go of 20.5 ms), because
// sleeps of whole intervals end when the next request comes. Jittered ones agree with Poisson arrivals, which
// sample the system at random times (Wolff 1982), on every kind of host.
func TestJitteredArrivalsShiftNoTimes(t *testing.T) {
	even := must(t)(Constant(100, 3*time.Second))
	sleeps := []float64{20.5, 22, 26, 40}
	constant := func(uint64) Schedule { return even }
	for name, answered := range hosts() {
		jittered := ratios(t, even.Jittered, answered, sleeps)
		poisson := ratios(t, even.Random, answered, sleeps)
		for i, sleep := range sleeps {
			if apart := math.Abs(jittered[i]/poisson[i] - 1); apart > 0.004 {
				t.Errorf("%s, %g ms: %.4f jittered, %.4f Poisson", name, sleep, jittered[i], poisson[i])
			}
		}
	}
	collisions := hosts()["collisions"]
	for i, ratio := range ratios(t, even.Jittered, collisions, sleeps) {
		if want := (sleeps[i] + wakes) / (20 + wakes); math.Abs(ratio/want-1) > 0.001 {
			t.Errorf("%g ms beside collisions: %.4f, want %.4f", sleeps[i], ratio, want)
		}
	}
	shifted := ratios(t, constant, collisions, sleeps)
	shifted[0] = ratios(t, constant, hosts()["whole milliseconds"], sleeps[:1])[0]
	for i, measured := range []float64{1.048, 1.065, 1.255, 1.956} {
		if math.Abs(shifted[i]/measured-1) > 0.004 {
			t.Errorf("%g ms, evenly spaced: %.4f, and measured was %.3f", sleeps[i], shifted[i], measured)
		}
	}
}

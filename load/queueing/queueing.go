// Package queueing computes capacities of queues with Poisson arrivals and one server by theory. Tests
// and benchmarks compare the results of capacity searches with them.
//
// Entry points: CapacityMM1, CapacityMD1.
package queueing

import "math"

// CapacityMM1 returns the rate at which a share of the response times of an M/M/1
// queue is at most limit: they are exponential with rate mu - lambda, so
//
//	lambda = mu + ln(1 - share) / limit
//
// service and limit in seconds, lambda and mu = 1/service per second.
func CapacityMM1(share, service, limit float64) float64 {
	return 1/service + math.Log(1-share)/limit
}

// waitsMD1 returns the probability that an operation of an M/D/1 queue waits at most
// t before its service (Crommelin 1932; service time d, arrivals lambda):
//
//	P(W <= t) = (1 - lambda d) sum_{k=0}^{floor(t/d)} (-lambda (t - k d))^k / k! * e^(lambda (t - k d))
func waitsMD1(lambda, d, t float64) float64 {
	var sum float64
	const rounding = 1e-9 // t/d may be a little less than the whole number that it stands for
	for k := 0.0; k <= math.Floor(t/d+rounding); k++ {
		x := lambda * (t - k*d)
		logFactorial, _ := math.Lgamma(k + 1)
		sum += math.Pow(-x, k) * math.Exp(x-logFactorial)
	}
	return (1 - lambda*d) * sum
}

// CapacityMD1 returns the rate at which a share of the response times of an M/D/1
// queue is at most limit, by bisection.
func CapacityMD1(share, service, limit float64) float64 {
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

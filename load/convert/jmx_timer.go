package convert

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pause returns what the timers in scope of a sampler wait before it.
func (p *testPlan) pause(scope []*element) (before time.Duration, throttles []*element) {
	for _, e := range scope {
		switch e.class {
		case "ConstantTimer":
			before += p.milliseconds(e, "ConstantTimer.delay")
		case "UniformRandomTimer":
			offset, spread := p.milliseconds(e, "ConstantTimer.delay"), p.milliseconds(e, "RandomTimer.range")
			p.meanPause(e, fmt.Sprintf("a pause between %v and %v", offset, offset+spread))
			before += offset + spread/2
		case "GaussianRandomTimer":
			offset, deviation := p.milliseconds(e, "ConstantTimer.delay"), p.milliseconds(e, "RandomTimer.range")
			p.meanPause(e, fmt.Sprintf("a pause around %v with deviation %v", offset, deviation))
			before += offset
		case "PoissonRandomTimer":
			offset, lambda := p.milliseconds(e, "ConstantTimer.delay"), p.milliseconds(e, "RandomTimer.range")
			p.meanPause(e, fmt.Sprintf("a pause of %v and a Poisson number around %v", offset, lambda))
			before += offset + lambda
		case "ConstantThroughputTimer", "PreciseThroughputTimer":
			throttles = append(throttles, e)
		default:
			continue
		}
		e.reached = true
	}
	return before, throttles
}

func (p *testPlan) meanPause(e *element, what string) {
	p.note(e.where(), what, "pauses are constant: its mean")
}

// milliseconds reads a time in ms, with or without fraction.
func (p *testPlan) milliseconds(e *element, property string) time.Duration {
	const longest = 24 * 3600 * 1000
	written := e.text(property)
	text, isConstant := p.constant(e, written)
	ms, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if written == "" {
		return 0
	}
	if !isConstant || err != nil || math.IsNaN(ms) {
		p.note(e.where(), property+" = "+written, "not a number that is known beforehand; no pause for it")
		return 0
	}
	return time.Duration(min(max(ms, 0), longest) * float64(time.Millisecond)).Round(time.Microsecond)
}

// groupRate returns the rate of flows that the throughput timers of a group ask for,
// or nil without any: the lowest, as each of them delays.
func (p *testPlan) groupRate(c *converted, groups []*converted) *open {
	var lowest *open
	for _, timer := range throttlesOf(c) {
		rate := p.timerRate(timer, c, groups)
		if rate != nil && (lowest == nil || rate.perMinute < lowest.perMinute) {
			lowest = rate
		}
	}
	if lowest != nil && lowest.duration == 0 {
		lowest.duration = c.duration
	}
	return lowest
}

// throttlesOf lists the throughput timers of a group, each once.
func throttlesOf(c *converted) []*element {
	var timers []*element
	for _, s := range c.steps {
		for _, timer := range s.throttles {
			if !slices.Contains(timers, timer) {
				timers = append(timers, timer)
			}
		}
	}
	return timers
}

// delays returns how often a timer delays in a flow.
func delays(c *converted, timer *element) float64 {
	n := 0.0
	for _, s := range c.steps {
		for _, t := range s.throttles {
			if t == timer {
				n++
			}
		}
	}
	return n
}

// timerRate turns samples per time, as a timer counts, into flows per minute.
func (p *testPlan) timerRate(timer *element, c *converted, groups []*converted) *open {
	samples, ok := p.decimal(timer, "throughput")
	if !ok {
		return nil
	}
	rate := &open{arrivals: "poisson"}
	share := usersShare(c, groups, timer)
	if timer.class == "PreciseThroughputTimer" {
		period := float64(max(1, p.number(timer, "throughputPeriod", 1)))
		samples *= 60 / period * share
		rate.duration = p.seconds(timer, "duration")
	} else {
		rate.arrivals = ""
		switch mode := p.number(timer, "calcMode", 0); mode {
		case 0: // this thread only
			samples *= float64(c.users)
		case 1, 3: // all active threads, in all groups
			samples *= share
		case 2, 4: // those of this group
		default:
			p.note(timer.where(), fmt.Sprintf("mode %d", mode), "unknown; taken as the rate of the whole thread group")
		}
	}
	rate.perMinute = roundWeight(samples / delays(c, timer))
	if !(rate.perMinute > 0) || math.IsInf(rate.perMinute, 0) {
		p.note(timer.where(), fmt.Sprintf("a throughput of %g per minute", samples),
			"not a rate that can be played")
		return nil
	}
	p.note(timer.where(), fmt.Sprintf("%s: %.6g requests per minute", timer.class, samples),
		fmt.Sprintf("an open loop of %.6g flows per minute (each delayed %g times): flows begin when they are "+
			"due, whatever the target does. "+
			"In JMeter the timer only delays its threads, so the rate is a limit and falls when the target is slow",
			rate.perMinute, delays(c, timer)))
	return rate
}

// usersShare returns the part of a timer's throughput that falls to a group, where
// the timer stands above several.
func usersShare(c *converted, groups []*converted, timer *element) float64 {
	users := 0
	for _, other := range groups {
		if slices.Contains(throttlesOf(other), timer) {
			users += other.users
		}
	}
	return float64(c.users) / float64(max(users, 1))
}

// decimal reads a positive number.
func (p *testPlan) decimal(e *element, property string) (float64, bool) {
	written := e.text(property)
	text, isConstant := p.constant(e, written)
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !isConstant || err != nil || !(n > 0) || math.IsInf(n, 0) {
		p.note(e.where(), property+" = "+written, "not a number above 0 that is known beforehand")
		return 0, false
	}
	return n, true
}

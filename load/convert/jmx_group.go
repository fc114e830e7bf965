package convert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/scenario"
)

// threads is the conversion of a thread group: its steps and its load.
type threads struct {
	*element
	steps   []scenario.Step
	before  []time.Duration   // pause before each step
	pending time.Duration     // pause before the next step
	timers  []*element        // throughput timers, once for each delay in a flow
	names   map[string]string // variables that steps so far have extracted, with their names in the scenario
	lost    int               // steps above the limit of a flow
	load    scenario.Load
	pace    float64 // flows per minute, by the throughput timers; 0: there are none
}

// concurrencyGroup is the thread group of a plugin by BlazeMeter that keeps a number of users.
const concurrencyGroup = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup"

// isGroup reports whether a class is a thread group that can be converted.
func isGroup(class string) bool { return class == "ThreadGroup" || class == concurrencyGroup }

// begin makes a group the one that is being converted. It forgets the values that constants had in the group
// before, whose variables they may contain.
func (p *testPlan) begin(g *threads) {
	p.group = g
	p.resolved = map[string]string{}
}

// threadGroup converts the steps and the users of a thread group.
func (p *testPlan) threadGroup(e *element) *threads {
	e.reached = true
	g := &threads{element: e, names: map[string]string{}}
	p.begin(g)
	users := "ThreadGroup.num_threads"
	ramp := "ThreadGroup.ramp_time"
	unit := time.Second
	if e.class == concurrencyGroup {
		users, ramp = "TargetLevel", "RampUp"
		if e.text("Unit") != "S" {
			unit = time.Minute
		}
	}
	g.load.Users = max(1, int(p.number(e, users, 1)))
	g.load.RampUp = p.span(e, ramp, unit)
	if e.class == concurrencyGroup {
		g.load.Duration = g.load.RampUp + p.span(e, "Hold", unit)
	} else {
		p.groupEnd(g)
	}
	if action := cmp.Or(e.text("ThreadGroup.on_sample_error"), "continue"); action != "startnextloop" {
		p.note(e.where(), "on error "+action,
			"a step that fails ends its flow, not the user or the test; the steps behind it are counted as skipped")
	}
	if e.text("ThreadGroup.same_user_on_next_iteration") != "false" {
		p.note(e.where(), "the same user in all iterations",
			"every flow begins as a new user, with a new connection and without cookies")
	}
	p.sequence(e.children)
	if len(g.steps) > 0 { // the pause after the last step precedes the first one
		g.before[0] += g.pending
	}
	return g
}

// groupEnd reads when a thread group ends: after a time, or after a number of iterations.
func (p *testPlan) groupEnd(g *threads) {
	duration := p.span(g.element, "ThreadGroup.duration", time.Second)
	delay := p.span(g.element, "ThreadGroup.delay", time.Second)
	if g.truth("ThreadGroup.scheduler") { // otherwise JMeter ignores both times
		g.load.Duration = duration
		if delay > 0 {
			p.note(g.where(), fmt.Sprintf("a startup delay of %v", time.Duration(delay)), "the load begins at once")
		}
	}
	main := g.find("ThreadGroup.main_controller")
	forever := main.truth("LoopController.continue_forever")
	loops := main.text("LoopController.loops")
	rounds, isConstant := p.constant(g.element, loops)
	n, err := strconv.Atoi(strings.TrimSpace(rounds))
	isNumber := isConstant && err == nil
	isLimit := n > 0 || n == 0 && !forever // a positive number counts in any case; -1 stands for no limit
	switch {
	case isNumber && isLimit, !isNumber && loops != "":
		p.note(g.where(), loops+" iterations per user", "a load ends after a time, not after iterations")
	case g.load.Duration == 0:
		p.note(g.where(), "an endless load", "a load ends after a time, which the command line gives")
	}
}

// merge makes flows and one load of all groups if their loads agree, otherwise of the first group only.
func (p *testPlan) merge(groups []*threads) {
	var kept []*threads
	for _, g := range groups {
		if g.lost > 0 {
			p.lose(g.where(), fmt.Sprintf("%d of its requests", g.lost),
				fmt.Sprintf("a flow has at most %d steps", maxSteps))
		}
		if len(g.steps) == 0 {
			p.note(g.where(), "the whole thread group", "none of its requests was converted")
			continue
		}
		p.setPace(g, groups)
		if len(kept) > 0 && !kept[0].agrees(g) {
			p.skip(g.element, "its load differs from that of "+kept[0].name+
				", and a scenario has one; import again and choose this group for a scenario of its own")
			continue
		}
		kept = append(kept, g)
	}
	if len(kept) == 0 {
		return
	}
	load, pace := kept[0].load, 0.0
	load.Users = 0
	for _, g := range kept {
		load.Users += g.load.Users
		pace += g.pace
		p.addFlow(g, len(groups) > 1)
	}
	switch first := kept[0]; {
	case pace > 0:
		p.note(first.where(), fmt.Sprintf("%d threads with a ramp-up of %v", first.load.Users,
			time.Duration(first.load.RampUp)),
			"flows begin by the rate, from the start; give the size of the pool of connections on the command line")
		load.Users = 0
		load.RampUp = 0
		load.Rate = strconv.FormatFloat(pace, 'f', -1, 64) + "/m"
	case len(kept) > 1:
		p.note(first.where(), "which user does what",
			"users draw their next flow by its weight; in JMeter each stays in its group, so groups with slow flows "+
				"make more of the load here")
	}
	p.file.Load = &load
}

// agrees reports whether two groups can share a load.
func (g *threads) agrees(other *threads) bool {
	isPaced := g.pace > 0
	switch {
	case isPaced != (other.pace > 0), g.load.Duration != other.load.Duration:
		return false
	case isPaced:
		return g.load.Arrivals == other.load.Arrivals
	}
	return g.load.RampUp == other.load.RampUp
}

// addFlow adds the steps of a group as a flow, with a weight if there are several groups.
func (p *testPlan) addFlow(g *threads, several bool) {
	flow := scenario.Flow{Name: g.name, Steps: g.steps}
	if several {
		flow.Weight = cmp.Or(g.pace, float64(g.load.Users))
	}
	for i := range g.steps {
		g.steps[i].Think = scenario.Duration(g.before[(i+1)%len(g.steps)])
	}
	p.file.Flows = append(p.file.Flows, flow)
}

// pause returns the pause by the timers in scope of a sampler, and the timers that limit its rate.
func (p *testPlan) pause(scope []*element) (before time.Duration, throttles []*element) {
	// The mean of a random timer is its offset plus this multiple of its range.
	random := map[string]float64{"ConstantTimer": 0, "UniformRandomTimer": 0.5, "GaussianRandomTimer": 0,
		"PoissonRandomTimer": 1}
	for _, e := range scope {
		if e.class == "ConstantThroughputTimer" || e.class == "PreciseThroughputTimer" {
			e.reached = true
			throttles = append(throttles, e)
		}
		share, pauses := random[e.class]
		if !pauses {
			continue
		}
		e.reached = true
		offset := time.Duration(p.span(e, "ConstantTimer.delay", time.Millisecond))
		spread := time.Duration(p.span(e, "RandomTimer.range", time.Millisecond))
		before += offset + time.Duration(share*float64(spread))
		if e.class != "ConstantTimer" {
			p.note(e.where(), fmt.Sprintf("%s with an offset of %v and a range of %v", e.class, offset, spread),
				"pauses are constant: its mean")
		}
	}
	return before, throttles
}

// setPace sets the rate of flows by the throughput timers of a group: the lowest one, since each of them
// delays.
func (p *testPlan) setPace(g *threads, groups []*threads) {
	ownEnd := g.load.Duration
	for i, timer := range g.timers {
		if slices.Contains(g.timers[:i], timer) {
			continue
		}
		pace, arrivals := p.timerPace(timer, g, groups)
		isLowest := g.pace == 0 || pace < g.pace
		if pace == 0 || !isLowest {
			continue
		}
		g.pace = pace
		g.load.Arrivals = arrivals
		g.load.Duration = ownEnd
		if arrivals != "" {
			g.load.Duration = cmp.Or(p.span(timer, "duration", time.Second), ownEnd)
		}
	}
}

// timerPace converts the samples per time of a timer to flows per minute; 0 for none.
func (p *testPlan) timerPace(timer *element, g *threads, groups []*threads) (pace float64, arrivals string) {
	samples := p.number(timer, "throughput", 0)
	covered, delays := 0, 0 // users of all groups that the timer delays; number of its delays in a flow
	for _, other := range groups {
		if slices.Contains(other.timers, timer) {
			covered += other.load.Users
		}
	}
	for _, t := range g.timers {
		if t == timer {
			delays++
		}
	}
	share := float64(g.load.Users) / float64(covered)
	if timer.class == "PreciseThroughputTimer" {
		samples = samples * 60 / max(1, p.number(timer, "throughputPeriod", 1)) * share
		arrivals = "poisson"
	} else {
		switch mode := p.number(timer, "calcMode", 0); mode {
		case 0: // this thread only
			samples *= float64(g.load.Users)
		case 1, 3: // all active threads, of all groups
			samples *= share
		case 2, 4: // those of this group
		default:
			p.note(timer.where(), fmt.Sprintf("mode %g", mode), "unknown; taken as the rate of the whole thread group")
		}
	}
	// Six digits, so that the file has 0.3 for 0.1+0.2.
	pace, err := strconv.ParseFloat(strconv.FormatFloat(samples/float64(delays), 'g', 6, 64), 64)
	if err != nil || !(pace > 0) || math.IsInf(pace, 0) {
		p.note(timer.where(), fmt.Sprintf("a throughput of %g per minute", samples), "not a number above 0")
		return 0, ""
	}
	p.note(timer.where(), fmt.Sprintf("%s: %.6g requests per minute", timer.class, samples),
		fmt.Sprintf("an open loop of %.6g flows per minute (each delayed %d times): flows begin when they are "+
			"due, whatever the target does. "+
			"In JMeter the timer only delays its threads, so the rate is a limit and falls when the target is slow",
			pace, delays))
	return pace, arrivals
}

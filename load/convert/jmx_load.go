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

// converted is a thread group: its steps and its load.
type converted struct {
	group    *element
	steps    []plannedStep
	users    int
	ramp     time.Duration
	duration time.Duration // 0 unknown
}

// concurrencyGroup is the thread group of a plugin by BlazeMeter that holds a number of users.
const concurrencyGroup = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup"

func isGroup(class string) bool { return class == "ThreadGroup" || class == concurrencyGroup }

// usersOf returns the property with the number of users of a thread group.
func usersOf(class string) string {
	if class == concurrencyGroup {
		return "TargetLevel"
	}
	return "ThreadGroup.num_threads"
}

// group converts a thread group; which load it has is decided when all are known.
func (p *testPlan) group(e *element) *converted {
	e.reached = true
	c := &converted{group: e, users: max(1, p.number(e, usersOf(e.class), 1))}
	if e.class == concurrencyGroup {
		p.holdsUsers(c)
		c.steps = p.sequence(e.children)
		return c
	}
	c.ramp = p.seconds(e, "ThreadGroup.ramp_time")
	p.groupEnd(c)
	switch action := e.text("ThreadGroup.on_sample_error"); action {
	case "startnextloop":
	case "", "continue":
		p.note(e.where(), "continue after a failed request",
			"a step that fails ends its flow; the steps behind it are counted as skipped")
	default:
		p.note(e.where(), "on error "+action, "a step that fails ends its flow, not the user or the test")
	}
	if e.text("ThreadGroup.same_user_on_next_iteration") != "false" {
		p.note(e.where(), "the same user in all iterations",
			"every flow begins as a new user, with a new connection and without cookies")
	}
	c.steps = p.sequence(e.children)
	return c
}

// holdsUsers reads the load of a concurrency thread group: users come for a time and are held
// for another.
func (p *testPlan) holdsUsers(c *converted) {
	e := c.group
	unit := time.Minute
	if e.text("Unit") == "S" {
		unit = time.Second
	}
	c.ramp = p.seconds(e, "RampUp") / time.Second * unit
	c.duration = c.ramp + p.seconds(e, "Hold")/time.Second*unit
	if action := e.text("ThreadGroup.on_sample_error"); action != "startnextloop" {
		p.note(e.where(), "on error "+cmp.Or(action, "continue"),
			"a step that fails ends its flow, not the user or the test")
	}
	p.note(e.where(), "the same user in all iterations",
		"every flow begins as a new user, with a new connection and without cookies")
}

// groupEnd reads when a thread group ends: after a time, or after rounds.
func (p *testPlan) groupEnd(c *converted) {
	e := c.group
	if e.truth("ThreadGroup.scheduler") {
		c.duration = p.seconds(e, "ThreadGroup.duration")
		if delay := p.seconds(e, "ThreadGroup.delay"); delay > 0 {
			p.note(e.where(), fmt.Sprintf("a startup delay of %v", delay), "the load begins at once")
		}
	} else {
		e.text("ThreadGroup.duration") // not in force
		e.text("ThreadGroup.delay")
	}
	main := collection(e.props, "ThreadGroup.main_controller")
	forever, loops := truth(main, "LoopController.continue_forever"), text(main, "LoopController.loops")
	rounds, isConstant := p.constant(e, loops)
	n, err := strconv.Atoi(strings.TrimSpace(rounds))
	switch {
	case isConstant && err == nil && n >= 0 && (!forever || n > 0):
		p.note(e.where(), fmt.Sprintf("%d iterations per user", n),
			"a load ends after a time, "+durationOr(c.duration, "which the command line gives"))
	case loops != "" && (!isConstant || err != nil):
		p.note(e.where(), "loops = "+loops, "a load ends after a time")
	case c.duration == 0:
		p.note(e.where(), "an endless load", "a load ends after a time, which the command line gives")
	}
}

func durationOr(d time.Duration, otherwise string) string {
	if d == 0 {
		return otherwise
	}
	return "here " + d.String()
}

// seconds reads a time in seconds.
func (p *testPlan) seconds(e *element, property string) time.Duration {
	const longest = 366 * 24 * 3600
	return time.Duration(min(max(p.number(e, property, 0), 0), longest)) * time.Second
}

// open is the rate of flows that throughput timers ask for.
type open struct {
	perMinute float64
	arrivals  string
	duration  time.Duration
}

// merge makes flows and one load of all groups: together where their loads
// agree, otherwise of the first only.
func (p *testPlan) merge(groups []*converted) {
	var rates []*open
	for _, c := range groups {
		c.steps = foldPauses(c.steps)
		switch n := len(c.steps); {
		case n == 0:
			p.note(c.group.where(), "the whole thread group", "none of its requests was converted")
		case n > maxSteps:
			p.lose(c.group.where(), fmt.Sprintf("%d of its requests", n-maxSteps),
				fmt.Sprintf("a flow has at most %d steps", maxSteps))
			c.steps = c.steps[:maxSteps]
		}
		rates = append(rates, p.groupRate(c, groups))
	}
	first := slices.IndexFunc(groups, func(c *converted) bool { return len(c.steps) > 0 })
	if first < 0 {
		return
	}
	load := &scenario.Load{}
	total, merged := 0.0, 0
	for i := first; i < len(groups); i++ {
		c, rate := groups[i], rates[i]
		if len(c.steps) == 0 {
			continue
		}
		if !agrees(groups[first], c, rates[first], rate) {
			p.skip(c.group, "its load differs from that of "+groups[first].group.name+
				", and a scenario has one; import again and choose this group for a scenario of its own")
			continue
		}
		weight := float64(c.users)
		if rate != nil {
			weight = rate.perMinute
		}
		total += weight
		merged++
		p.addFlow(c, weight, len(groups) > 1)
	}
	p.setLoad(load, groups[first], rates[first], total)
	if merged > 1 && rates[first] == nil {
		p.note(groups[first].group.where(), "which user does what",
			"users draw their next flow by its weight; in JMeter each stays in its group, so groups with slow flows "+
				"make more of the load here")
	}
	p.file.Load = load
}

// agrees reports whether two groups can share a load.
func agrees(a, b *converted, x, y *open) bool {
	if (x == nil) != (y == nil) {
		return false
	}
	if x != nil {
		return x.arrivals == y.arrivals && x.duration == y.duration
	}
	return a.ramp == b.ramp && a.duration == b.duration
}

func (p *testPlan) setLoad(load *scenario.Load, c *converted, rate *open, total float64) {
	if rate == nil {
		load.Users = int(total)
		load.RampUp, load.Duration = scenario.Duration(c.ramp), scenario.Duration(c.duration)
		return
	}
	load.Rate = strconv.FormatFloat(total, 'f', -1, 64) + "/m"
	load.Arrivals, load.Duration = rate.arrivals, scenario.Duration(rate.duration)
	p.note(c.group.where(), fmt.Sprintf("%d threads with a ramp-up of %v", c.users, c.ramp),
		"flows begin by the rate, from the start; give the size of the pool of connections on the command line")
}

// foldPauses moves the pauses of steps that send nothing to the step behind.
func foldPauses(steps []plannedStep) []plannedStep {
	var folded []plannedStep
	var pending plannedStep
	for _, s := range steps {
		s.before += pending.before
		s.throttles = slices.Concat(pending.throttles, s.throttles)
		if s.empty {
			pending = s
			continue
		}
		pending = plannedStep{}
		folded = append(folded, s)
	}
	if len(folded) > 0 { // behind the last step is before the first
		folded[0].before += pending.before
		folded[0].throttles = slices.Concat(pending.throttles, folded[0].throttles)
	}
	return folded
}

// addFlow adds the steps of a group as a flow, with a weight where there are several.
func (p *testPlan) addFlow(c *converted, weight float64, several bool) {
	flow := scenario.Flow{Name: c.group.name}
	if several {
		flow.Weight = weight
	}
	for i, s := range c.steps {
		s.step.Think = scenario.Duration(c.steps[(i+1)%len(c.steps)].before)
		flow.Steps = append(flow.Steps, s.step)
	}
	p.file.Flows = append(p.file.Flows, flow)
}

// roundWeight keeps six significant digits: 0.1+0.2 is 0.3 in a file.
func roundWeight(weight float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(weight, 'g', 6, 64), 64)
	if err != nil || math.IsNaN(rounded) {
		return weight
	}
	return rounded
}

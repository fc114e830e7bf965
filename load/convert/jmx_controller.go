package convert

import (
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/scenario"
)

// plannedStep is a step with what is known only when the flow is complete.
type plannedStep struct {
	step      scenario.Step
	where     string // of the sampler
	origin    string // scheme and host; "" where the plan names none
	before    time.Duration
	throttles []*element // throughput timers that cover it, once for each delay
	empty     bool       // sends nothing: a pause before the next step
}

// sequence converts elements that are played one after another.
func (p *testPlan) sequence(children []*element) []plannedStep {
	var steps []plannedStep
	for _, child := range children {
		switch {
		case !child.enabled:
		case isSampler(child.class):
			if step, ok := p.sampler(child); ok {
				steps = append(steps, step)
			}
		case isController(child.class):
			steps = append(steps, p.controller(child)...)
		}
	}
	return steps
}

// isController reports whether an element decides which requests below it are played.
func isController(class string) bool {
	return strings.HasSuffix(class, "Controller") || class == "InterleaveControl"
}

// playsOnce reports whether a controller plays everything below it in order, and what of it is lost.
func playsOnce(class string) (lost, why string, ok bool) {
	switch class {
	case "GenericController", "RecordingController", "LogicController":
		return "", "", true
	case "TransactionController":
		return "the time of the transaction", "steps are timed one by one; its requests are there", true
	case "CriticalSectionController":
		return "one user at a time", "flows do not wait for each other; its requests are there", true
	case "OnceOnlyController":
		return "only in a user's first iteration",
			"every flow is a new user, so its requests are in every flow", true
	}
	return "", "", false
}

// controller converts a controller that plays everything below it in order, and lists all others.
func (p *testPlan) controller(e *element) []plannedStep {
	lost, why, ok := playsOnce(e.class)
	if !ok {
		p.skip(e, "a controller that repeats or chooses is not converted: write its requests as steps of the "+
			"flow, or as flows with weights")
		return nil
	}
	e.reached = true
	if lost != "" {
		p.note(e.where(), lost, why)
	}
	return p.sequence(e.children)
}

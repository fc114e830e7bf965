package convert

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/scenario"
)

// Limits of what controllers may multiply.
const (
	maxVariants = 64   // flows of one thread group
	maxSteps    = 1000 // of all flows of one thread group, loops unrolled
)

// variant is one way through a thread group, with how often it is taken.
type variant struct {
	weight float64
	label  string // names of the choices that led here
	steps  []plannedStep
}

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
func (p *testPlan) sequence(children []*element) []variant {
	all := []variant{{weight: 1}}
	for i := 0; i < len(children); i++ {
		child := children[i]
		if !child.enabled {
			continue
		}
		switch {
		case child.class == "ThroughputController":
			run := throughputRun(children[i:])
			all = p.product(child, all, p.throughputControllers(run))
			i += len(run) - 1
		case isSampler(child.class):
			if step, ok := p.sampler(child); ok {
				all = p.product(child, all, []variant{{weight: 1, steps: []plannedStep{step}}})
			}
		case strings.HasSuffix(child.class, "Controller") || child.class == "InterleaveControl":
			all = p.product(child, all, p.controller(child))
		}
	}
	return all
}

// product plays what follows behind what was there.
func (p *testPlan) product(e *element, first, then []variant) []variant {
	then = joinEmpty(then)
	if countSteps(then) == 0 {
		return first
	}
	if len(first)*len(then) > maxVariants || len(then)*countSteps(first)+len(first)*countSteps(then) > maxSteps {
		p.note(e.where(), e.class, fmt.Sprintf("with it the group has more than %d ways through or %d steps",
			maxVariants, maxSteps))
		return first
	}
	var all []variant
	for _, a := range first {
		for _, b := range then {
			steps := append(a.steps[:len(a.steps):len(a.steps)], b.steps...)
			all = append(all, variant{a.weight * b.weight, joinLabels(a.label, b.label), steps})
		}
	}
	return all
}

// joinEmpty makes one of the variants that send nothing.
func joinEmpty(variants []variant) []variant {
	var joined []variant
	empty := -1
	for _, v := range variants {
		switch {
		case len(v.steps) > 0:
			joined = append(joined, v)
		case empty < 0:
			empty = len(joined)
			joined = append(joined, variant{weight: v.weight})
		default:
			joined[empty].weight += v.weight
		}
	}
	return joined
}

func countSteps(variants []variant) int {
	steps := 0
	for _, v := range variants {
		steps += len(v.steps)
	}
	return steps
}

func joinLabels(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// controller converts a controller other than a throughput controller.
func (p *testPlan) controller(e *element) []variant {
	switch e.class {
	case "GenericController", "RecordingController", "LogicController":
	case "TransactionController":
		e.text("TransactionController.includeTimers")
		e.text("TransactionController.parent")
		p.note(e.where(), "the time of the transaction", "steps are timed one by one; its requests are there")
	case "CriticalSectionController":
		p.note(e.where(), "one user at a time ("+e.text("CriticalSectionController.lockName")+")",
			"flows do not wait for each other; its requests are there")
	case "OnceOnlyController":
		p.note(e.where(), "only in a user's first iteration",
			"every flow is a new user, so its requests are in every flow")
	case "LoopController":
		return p.loop(e)
	case "RandomController", "InterleaveControl":
		return p.oneOf(e)
	case "IfController":
		return p.conditional(e)
	default:
		p.skip(e, "this controller has no counterpart; its requests are not in the scenario")
		return nil
	}
	e.reached = true
	return p.sequence(e.children)
}

// loop repeats what is below a loop controller.
func (p *testPlan) loop(e *element) []variant {
	e.reached = true
	endless := e.truth("LoopController.continue_forever") && e.text("LoopController.loops") == ""
	times := p.number(e, "LoopController.loops", 1)
	if endless || times < 0 {
		p.note(e.where(), "an endless loop", "its requests are in the flow once")
		times = 1
	}
	all := []variant{{weight: 1}}
	for i := range times {
		body := p.sequence(e.children)
		if countSteps(body) == 0 {
			break
		}
		grown := p.product(e, all, body)
		if countSteps(grown) == countSteps(all) {
			p.note(e.where(), fmt.Sprintf("%d rounds of the loop", times),
				fmt.Sprintf("only the first %d are unrolled", i))
			break
		}
		all = grown
	}
	return all
}

// conditional plays what is below an if controller in every flow, in none, or, where only the
// run tells whether its condition holds, in every second.
func (p *testPlan) conditional(e *element) []variant {
	e.reached = true
	if e.truth("IfController.evaluateAll") {
		p.note(e.where(), "its condition before each of its elements",
			"what is below it is played as a whole, or not")
	}
	holds, known := p.holds(e, e.text("IfController.condition"))
	if known && !holds {
		p.skip(e, "its condition never holds")
		return nil
	}
	all := p.sequence(e.children)
	if known {
		return all
	}
	if countSteps(all) == 0 {
		p.note(e.where(), "if "+e.text("IfController.condition"), "no request below it is in the scenario")
		return nil
	}
	p.note(e.where(), "if "+e.text("IfController.condition"),
		"whether that holds only the run tells, and a flow is chosen before: one half of the flows has its "+
			"requests; give them the weights that you know")
	for i := range all {
		all[i].weight /= 2
		all[i].label = joinLabels(e.name, all[i].label)
	}
	return append(all, variant{weight: 0.5})
}

// expression is a condition in a function that computes it.
var expression = regexp.MustCompile(`^\$\{__(?:jexl[23]?|groovy|javaScript)\((.*?),?\)\}$`)

// holds says whether a condition does, where that is known beforehand. A step that fails ends
// its flow, so the step before was right.
func (p *testPlan) holds(e *element, condition string) (holds, known bool) {
	condition = strings.TrimSpace(condition)
	if inside := expression.FindStringSubmatch(condition); inside != nil {
		condition = inside[1]
	}
	var text strings.Builder
	for _, part := range p.pieces(e, strings.ReplaceAll(condition, "${JMeterThread.last_sample_ok}", "true"),
		0) {
		if part.ref != "" || part.unset {
			return false, false
		}
		text.WriteString(part.text)
	}
	sides := strings.Split(text.String(), "==")
	for i := range sides {
		sides[i] = strings.Trim(strings.TrimSpace(sides[i]), `"'`)
		if strings.ContainsAny(sides[i], "\"'!=<>&|()$") {
			return false, false
		}
	}
	switch {
	case len(sides) == 2:
		return sides[0] == sides[1], true
	case len(sides) == 1 && (sides[0] == "true" || sides[0] == "false"):
		return sides[0] == "true", true
	}
	return false, false
}

// oneOf makes a way through for each child of a random or interleave controller.
func (p *testPlan) oneOf(e *element) []variant {
	e.reached = true
	if e.class == "InterleaveControl" {
		e.text("InterleaveControl.style")
		p.note(e.where(), "the children take turns", "drawn by chance here, each as often")
	}
	if e.text("InterleaveControl.style") == "1" {
		p.note(e.where(), "ignore sub-controller blocks",
			"a controller below it is one choice here, with all of its requests")
	}
	var all []variant
	for i := range e.children {
		for _, v := range p.sequence(e.children[i : i+1]) {
			if len(v.steps) > 0 {
				v.label = joinLabels(e.children[i].name, v.label)
				all = append(all, v)
			}
		}
	}
	for i := range all {
		all[i].weight /= float64(len(all))
	}
	return all
}

// throughputRun is the unbroken row of throughput controllers at the front.
func throughputRun(children []*element) []*element {
	n := 0
	for n < len(children) && (children[n].class == "ThroughputController" || !children[n].enabled) {
		n++
	}
	return children[:n]
}

// throughputControllers converts a row of them: as alternatives where their
// shares fit into one, which is how mixes are written, otherwise each by itself.
func (p *testPlan) throughputControllers(row []*element) []variant {
	shares, total := map[*element]float64{}, 0.0
	for _, e := range row {
		if !e.enabled {
			continue
		}
		share, ok := p.share(e)
		if !ok {
			continue
		}
		e.reached = true
		shares[e] = share
		total += share
	}
	const rounding = 1e-9
	if total > 1+rounding {
		return p.independent(row, shares)
	}
	var all []variant
	for _, e := range row {
		share, known := shares[e]
		if !known || share == 0 {
			continue
		}
		for _, v := range p.sequence(e.children) {
			all = append(all, variant{share * v.weight, joinLabels(e.name, v.label), v.steps})
		}
	}
	if len(shares) > 1 {
		p.note(row[0].parent.where(), "throughput controllers in a row",
			"a flow takes one of them by its share; JMeter decides for each by itself, in the mean the same")
	}
	if rest := 1 - total; rest > rounding && len(shares) > 0 {
		all = append(all, variant{weight: rest})
	}
	return all
}

// independent decides for each controller by itself.
func (p *testPlan) independent(row []*element, shares map[*element]float64) []variant {
	all := []variant{{weight: 1}}
	for _, e := range row {
		share, known := shares[e]
		if !known {
			continue
		}
		var choice []variant
		for _, v := range p.sequence(e.children) {
			choice = append(choice, variant{share * v.weight, joinLabels(e.name, v.label), v.steps})
		}
		if share < 1 {
			choice = append(choice, variant{weight: 1 - share})
		}
		all = p.product(e, all, choice)
	}
	return all
}

// share is how often a throughput controller plays, 0 to 1.
func (p *testPlan) share(e *element) (float64, bool) {
	if e.text("ThroughputController.style") != "1" {
		p.skip(e,
			"a fixed number of executions has no counterpart; write it as percent, or as a flow with a weight")
		return 0, false
	}
	e.truth("ThroughputController.perThread") // no difference for a share
	e.text("ThroughputController.maxThroughput")
	written := e.text("ThroughputController.percentThroughput")
	text, isConstant := p.constant(e, written)
	percent, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !isConstant || err != nil || math.IsNaN(percent) || percent < 0 {
		p.skip(e, "its share "+written+" is not a number that is known beforehand")
		return 0, false
	}
	return min(percent, 100) / 100, true
}

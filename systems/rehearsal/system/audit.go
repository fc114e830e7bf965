package system

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/rehearsal"
)

// The counts of an audit.
const (
	countAnswered = "answered"      // operations with a right answer
	countCalls    = "calls"         // calls that began to be played, including operations
	countLost     = "lost"          // calls that were made or answered, but not played to the end
	countMadeUp   = "made_up"       // calls that were played, but never made
	countOff      = "off_the_model" // calls that were made more or less often than the model says
)

// deviations is the tolerance of counts, in standard deviations. By chance, one in a billion differs by more.
const deviations = 6

// AuditLive implements lab.LiveAuditor: it compares the attempts of clients, the calls that units made and
// those that they played with each other and with the model. The counts of units survive kills (see
// rehearsalunit).
func (s System) AuditLive(_ context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	return s.base().Judge("system", p, left, func() (lab.Audit, error) {
		design, err := s.design(v)
		if err != nil {
			return lab.Audit{}, err
		}
		sum, err := accounts(left.Reports)
		if err == nil && len(sum.Calls) != len(design.Calls) {
			err = fmt.Errorf("units have reported %d calls of %d", len(sum.Calls), len(design.Calls))
		}
		if err != nil {
			return lab.Audit{}, err
		}
		j := judge{Findings: loaded.Findings{Counts: map[string]int64{}}, sum: sum.Calls,
			operations: scenarioNames(design.Model.Operations), attempts: map[string]*attempts{}}
		err = loaded.EachAttempt(left.Dir, j.addAttempt)
		for _, c := range design.Calls {
			j.checkCall(c)
		}
		rules := []string{countLost, countMadeUp, countOff}
		return j.Audit(rules, countAnswered, "no operation was answered"), err
	})
}

// accounts returns the sum of the reports of all units.
func accounts(reports []lab.UnitReport) (sum rehearsal.Account, err error) {
	units, err := hosting.Reports[rehearsal.Account](reports)
	for _, account := range units {
		if sum.Calls == nil {
			sum.Calls = make([]rehearsal.Tally, len(account.Calls))
		}
		for i, t := range account.Calls[:min(len(account.Calls), len(sum.Calls))] {
			sum.Calls[i].Made += t.Made
			sum.Calls[i].Served += t.Served
			sum.Calls[i].Done += t.Done
		}
		sum.Demanded += account.Demanded
		sum.SampledAsked += account.SampledAsked
		sum.SampledTook += account.SampledTook
	}
	return sum, err
}

// attempts counts the attempts of clients at an operation: all, and those with a right answer.
type attempts struct{ all, right int64 }

// judge holds the counts of a trial and the findings.
type judge struct {
	loaded.Findings
	sum        []rehearsal.Tally    // of all units, by the number of the call
	operations []string             // the names of the model's operations in the scenario
	attempts   map[string]*attempts // by the name of the operation in the scenario
	failed     bool                 // an attempt had no right answer: its calls may be incomplete
}

// addAttempt counts an attempt of the history.
func (j *judge) addAttempt(a loaded.Attempt[struct{}]) {
	n := j.attempts[a.Operation]
	if n == nil {
		n = &attempts{}
		j.attempts[a.Operation] = n
	}
	n.all++
	j.Ended(a.End, countAnswered)
	if a.End == loaded.EndedOK {
		n.right++
	} else {
		j.failed = true
	}
}

// checkCall compares the counts of a call with those of its caller, and with the model.
func (j *judge) checkCall(c *rehearsal.Call) {
	t := j.sum[c.Number]
	j.Counts[countCalls] += t.Served
	name := fmt.Sprintf("%s of %s (call %d)", c.Name, c.Component, c.Number)
	made, answered := t.Made, int64(0)
	if c.Caller == nil {
		if n := j.attempts[j.operations[c.Operation]]; n != nil {
			made, answered = n.all, n.right
		}
	}
	least := made // executions that must have been played to the end
	if j.failed {
		least = answered // calls of failed operations may be incomplete
	}
	if t.Served > made {
		j.Breach(countMadeUp, "%s was played %d times and made %d times", name, t.Served, made)
	}
	if t.Done < least {
		j.Breach(countLost, "%s was played to its end %d times, and %d were made or answered", name, t.Done, least)
	}
	if c.Caller == nil {
		return
	}
	callers := j.sum[c.Caller.Number]
	// A count of 2.3 is 2 calls, and a third one with the probability 0.3: the number of calls is binomial.
	part := c.Count - math.Floor(c.Count)
	tolerance := deviations * math.Sqrt(float64(callers.Served)*part*(1-part))
	low, high := float64(callers.Done)*c.Count-tolerance, float64(callers.Served)*c.Count+tolerance
	if n := float64(t.Made); n < low-0.5 || n > high+0.5 {
		j.Breach(countOff, "%s was made %d times by %d executions of its caller, each of which makes %g", name,
			t.Made, callers.Served, c.Count)
	}
}

// Measure implements lab.Measurer. The cost of the system excludes the generator.
func (s System) Measure(
	_ context.Context, v lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	found, load, err := s.base().Measure(metrics(), p, metered, left)
	if err != nil || loaded.Searches(p) {
		return found, err
	}
	loaded.AddCost(found.Values, metered, load.OK)
	design, err := s.design(v)
	if err != nil {
		return found, err
	}
	sum, err := accounts(left.Reports)
	if err != nil || len(sum.Calls) != len(design.Calls) {
		return found, err
	}
	begun := int64(0)
	for _, root := range design.Roots {
		begun += sum.Calls[root.Number].Served
	}
	if begun > 0 {
		found.Values[demanded] = sum.Demanded / float64(begun)
	}
	if sum.SampledAsked > 0 {
		found.Values[burnt] = sum.SampledTook / sum.SampledAsked
	}
	return found, nil
}

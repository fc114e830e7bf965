package system

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/rehearsal"
)

// What an audit counts.
const (
	countAnswered = "answered"      // operations, rightly
	countCalls    = "calls"         // begun, with operations
	countLost     = "lost"          // made, or answered, and not played to the end
	countMadeUp   = "made_up"       // played, and never made
	countOff      = "off_the_model" // calls that were made more or less often than the model says
)

// deviations is how many standard deviations a count may differ from the model. One count in a billion
// differs by more by chance.
const deviations = 6

// AuditLive implements lab.LiveAuditor: it compares what clients tried, what units made and what units played
// with each other, and with the model. The counts survive the death of a unit.
func (s System) AuditLive(_ context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	load, err := s.base().Report(left.Reports)
	if err != nil {
		return loaded.Unknown(err)
	}
	design, err := s.design(v)
	if err != nil {
		return loaded.Unknown(err)
	}
	sum, err := accounts(left.Reports)
	if err == nil && len(sum.Calls) != len(design.Calls) {
		err = fmt.Errorf("units have reported %d calls of %d", len(sum.Calls), len(design.Calls))
	}
	if err != nil {
		return loaded.Unknown(err)
	}
	j := judge{Findings: loaded.Findings{Counts: map[string]int64{}}, design: design, sum: sum.Calls,
		tried: map[string]*tried{}}
	if err := loaded.EachAttempt(filepath.Join(left.Dir, loaded.History), j.take); err != nil {
		return loaded.Unknown(err)
	}
	for _, c := range design.Calls {
		j.judge(c)
	}
	rules := []string{countLost, countMadeUp, countOff}
	return s.base().With(j.Audit(rules, countAnswered, "no operation was answered"), "system", p, load)
}

// accounts returns the sum of the reports of all units.
func accounts(reports []lab.UnitReport) (sum rehearsal.Account, err error) {
	for _, report := range reports {
		if report.Unit == lab.RoleGenerator {
			continue
		}
		var account rehearsal.Account
		if err := json.Unmarshal(report.Data, &account); err != nil {
			return sum, fmt.Errorf("read the report of %s: %w", report.Unit, err)
		}
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
	return sum, nil
}

// tried counts the attempts of clients at an operation.
type tried struct{ all, right int64 }

// judge holds the counts of a trial and the findings.
type judge struct {
	loaded.Findings
	design *rehearsal.Design
	sum    []rehearsal.Tally
	tried  map[string]*tried
	failed bool // an attempt was not answered rightly: its calls may be cut short
}

// take counts an attempt of the history.
func (j *judge) take(a loaded.Attempt[struct{}]) {
	of := j.tried[a.Operation]
	if of == nil {
		of = &tried{}
		j.tried[a.Operation] = of
	}
	of.all++
	j.Ended(a.End, countAnswered)
	if a.End == loaded.EndedOK {
		of.right++
	} else {
		j.failed = true
	}
}

// judge compares the counts of a call with those of its callers, and with the model.
func (j *judge) judge(c *rehearsal.Call) {
	t := j.sum[c.Number]
	j.Counts[countCalls] += t.Served
	what := fmt.Sprintf("%s of %s (call %d)", c.Name, c.Component, c.Number)
	made, answered := t.Made, int64(0)
	if c.Caller == nil {
		if of := j.tried[operation(j.design.Model.Operations[c.Operation].Name)]; of != nil {
			made, answered = of.all, of.right
		}
	}
	least := made // that must have been played
	if j.failed {
		least = answered
	}
	if t.Served > made {
		j.Breach(countMadeUp, "%s was played %d times and made %d times", what, t.Served, made)
	}
	if t.Done < least {
		j.Breach(countLost, "%s was played to its end %d times, and %d were made or answered", what, t.Done, least)
	}
	if c.Caller == nil {
		return
	}
	callers := j.sum[c.Caller.Number]
	part := c.Count - math.Floor(c.Count)
	tolerance := deviations * math.Sqrt(float64(callers.Served)*part*(1-part))
	low, high := float64(callers.Done)*c.Count-tolerance, float64(callers.Served)*c.Count+tolerance
	if n := float64(t.Made); n < low-0.5 || n > high+0.5 {
		j.Breach(countOff, "%s was made %d times by %d executions of its caller, each of which makes %g", what,
			t.Made, callers.Served, c.Count)
	}
}

// Measure implements lab.Measurer. All but the generator is the system's cost.
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

package predict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/report/figure"
)

// limits lists what the prediction does not model, what it assumes, and what it takes for known.
func (a Answer) limits() []string {
	q := a.Question
	generator := ", the load generator" // one more thing that is not modelled
	if takes := q.site(SharedStores, nil).generator; takes > 0 {
		generator = fmt.Sprintf("; the load generator shares the host and takes %s of CPU for an operation, as "+
			"when the system was measured", seconds(takes))
	}
	all := []string{
		"not modelled: caches that warm up, garbage collection beyond the metered one, locks, autoscalers, " +
			"timeouts and retries" + generator,
		fmt.Sprintf("all units and stores share one host with %s; replicas share their work evenly",
			cores(q.Cores)),
		"times of calls are drawn independently of each other, and waiting does not depend on the load" +
			a.storesAtRate(),
		a.ratedCPU(),
	}
	if a.Hop != nil {
		aside := ""
		if a.Hop.Aside > 0 {
			aside = fmt.Sprintf(" (%s of it nobody waits for)", seconds(a.Hop.Aside))
		}
		if cpu, known := a.Hop.cpuAtCapacity(); known {
			aside += fmt.Sprintf(", at the capacity %s,", seconds(cpu))
		}
		all = append(all, fmt.Sprintf("a new hop takes %s of CPU%s and %s on the way, whatever it carries: %s",
			seconds(a.Hop.CPU), aside, seconds(a.Hop.Wait), a.Hop.Source))
	}
	if stores := a.sharedStores(); len(stores) > 0 {
		all = append(all, "what was one transaction stays as cheap as one: "+strings.Join(stores, "; ")+
			"; a saga or two commits would cost more")
	}
	if !q.Change.Stores.Shared() {
		all = append(all, "stores of their own are as fast as the one that they are copies of: commits to one "+
			"disk at once do not slow each other")
	}
	highest := 0.0
	for _, c := range a.Checks {
		highest = max(highest, c.Utilization)
	}
	if len(a.Checks) > 0 {
		all = append(all, fmt.Sprintf("checked up to a utilisation of %s, taking the host of the measurements to "+
			"have %s as this one; beyond it nothing was measured", figure.Percent(highest), cores(q.MeasuredCores)))
	}
	if !slices.ContainsFunc(a.Checks, func(c Check) bool { return c.Tail.Measured > 0 }) {
		all = append(all, "no 99th percentile was measured: that of the answer is not checked")
	}
	if wider := q.Past.text(); wider != "" { // by how much past predictions make the intervals wider
		all = append(all, wider)
	}
	if n := guesses(q.Model); n > 0 {
		all = append(all, fmt.Sprintf("%d numbers of the model are guesses, which the intervals do not cover", n))
	}
	return all
}

// capacityLimits lists what the capacities of an answer lack.
func (a Answer) capacityLimits() []string {
	checks := func(m model.Measurement) bool { return m.Users > 0 && m.Placement != "" }
	if slices.ContainsFunc(a.Question.Model.Measured, checks) {
		return nil
	}
	return []string{"no capacity of another placement was measured: those of the answer are not checked"}
}

// storesAtRate says how long stores take at the rate of the question.
func (a Answer) storesAtRate() string {
	if math.Abs(math.Log(a.StoreFactorAtRate)) < 0.01 {
		return ""
	}
	return fmt.Sprintf(", but at stores: at this rate they take %.2f times the time of the model, so that the "+
		"system as it is responds as it was measured", a.StoreFactorAtRate)
}

// ratedCPU says where the CPU times at the rate of the question come from.
func (a Answer) ratedCPU() string {
	q := a.Question
	all := q.Model.RatedCPU()
	if len(all) < 2 {
		return "CPU times are those of the model at every rate: it was measured at one, if at any, and an idle " +
			"host takes more CPU time for the same work than a busy one"
	}
	first, last := all[0], all[len(all)-1]
	text := fmt.Sprintf("CPU times follow the rate as they did in the system as it is, %s an operation at %g/s "+
		"and %s at %g/s", seconds(first.Value), first.Rate, seconds(last.Value), last.Rate)
	switch {
	case model.SameRate(q.Rate, first.Rate) || model.SameRate(q.Rate, last.Rate):
	case q.Rate > last.Rate:
		text += ", and are taken to stay from there on: measure it at the rate that you ask for"
	case q.Rate < first.Rate:
		text += ", and are taken to be no higher below that: measure it at the rate that you ask for"
	}
	return text
}

// seconds returns a time as text, with its unit.
func seconds(s float64) string { return figure.Amount(s, "s") }

// sharedStores lists the stores that components of one unit use, where the change parts these components or
// their stores.
func (a Answer) sharedStores() (all []string) {
	users := map[string][]string{} // of each store, without repetition
	q := a.Question
	for i := range q.Model.Operations {
		q.Model.Operations[i].Call.Executions(func(c *model.Call, _ float64) {
			for _, v := range c.Visits {
				if !slices.Contains(users[v.Store], c.Component) {
					users[v.Store] = append(users[v.Store], c.Component)
				}
			}
		})
	}
	for _, s := range q.Model.Stores {
		for i, one := range users[s.Name] {
			for _, other := range users[s.Name][:i] {
				apart := unitOf(a.Units, one) != unitOf(a.Units, other) || q.Change.Stores == StorePerComponent
				if q.Model.UnitOf(one) == q.Model.UnitOf(other) && apart {
					all = append(all, fmt.Sprintf("%s and %s both use %s", other, one, s.Name))
				}
			}
		}
	}
	return all
}

// guesses counts the times of a model that somebody has guessed.
func guesses(m model.Model) (n int) {
	count := func(all ...model.Distribution) {
		for _, d := range all {
			if d.Mean > 0 && d.Source == model.Guess {
				n++
			}
		}
	}
	for i := range m.Operations {
		m.Operations[i].Call.Executions(func(c *model.Call, _ float64) {
			count(c.CPU, c.Wait, c.Background)
			if c.Hop != nil {
				count(c.Hop.CPU, c.Hop.Wait)
			}
			for _, v := range c.Visits {
				count(v.CPU, v.Wait)
			}
		})
	}
	return n
}

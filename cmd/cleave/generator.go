package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/agent"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// generator provides the load engine as a unit of experiments: this program, started
// as an agent.
type generator struct {
	program string
	limit   objective.Objective // zero: none
	secrets *secret.Vault       // the values behind the references of scenarios
	// maxSteal is the steal share of the processors above which a failed load of a search is repeated; 0: it is
	// not checked.
	maxSteal float64
}

var _ lab.Generator = generator{}

// newGenerator returns a generator for loads with an objective, such as "p99<50ms"; "" means none.
func newGenerator(objectiveText string) (generator, error) {
	own, _, err := programs()
	if err != nil {
		return generator{}, err
	}
	g := generator{program: own}
	if objectiveText != "" {
		g.limit, err = objective.Parse(objectiveText)
	}
	return g, err
}

// Unit implements lab.Generator.
func (g generator) Unit(job lab.LoadJob) (lab.UnitSpec, error) {
	work, err := agentJob(job)
	if err == nil {
		work.Spec.Scenario, err = fillScenario(g.secrets, work.Spec.Scenario)
	}
	if err != nil {
		return lab.UnitSpec{}, err
	}
	work.MaxSteal = g.maxSteal
	text, err := json.Marshal(work)
	if err != nil {
		return lab.UnitSpec{}, fmt.Errorf("encode the generator's job: %w", err)
	}
	const file = "job.json"
	return lab.UnitSpec{
		Name: lab.RoleGenerator, Role: lab.RoleGenerator,
		Runnable: lab.Runnable{
			Program: g.program, Args: []string{"agent", "--job", "@{dir}/" + file},
			Files: map[string][]byte{file: text},
		},
		Lifecycle: lab.Lifecycle{Rest: job.Rest()},
	}, nil
}

// agentJob returns the job for the load engine.
func agentJob(job lab.LoadJob) (agent.Job, error) {
	work := agent.Job{
		Schema: agent.Schema, Unit: job.Unit, Allow: job.Consent, Files: job.Files, Objective: job.Objective,
		Search: job.Search, History: job.History, Loaded: true,
		Resolution: job.Effort.Resolution, Votes: job.Effort.Votes,
		Await:  agent.Await{Path: job.Ready.Path, For: seconds(job.Ready.Timeout), Look: job.Look},
		Settle: agent.Await{Path: job.Settle.Path, For: seconds(job.Settle.Timeout)}, Between: job.Between,
		Warmup: seconds(job.WarmUp), WarmupLimit: seconds(job.WarmUpLimit),
	}
	if err := json.Unmarshal(job.Scenario, &work.Spec.Scenario); err != nil {
		return work, fmt.Errorf("scenario: %w", err)
	}
	s := &work.Spec
	s.Target = job.Target
	s.Lateness = seconds(job.Lateness)
	s.Loops = job.Client.Threads
	s.Connections = job.Client.Connections
	s.Timeout = seconds(job.Client.Timeout)
	s.Roots = job.Client.Roots
	s.TraceShare = job.Client.TraceShare
	if job.Client.HTTP2 {
		s.Protocol = trial.HTTP2
	}
	if job.Seed > 0 {
		s.Scenario.Seed = job.Seed
	}
	if own := s.Scenario.Load; own != nil {
		s.Load = *own
	}
	switch {
	case job.Rate > 0:
		s.Load = scenario.Load{Rate: strconv.FormatFloat(firstRate(job), 'g', -1, 64), Arrivals: job.Arrivals}
	case job.Count > 0:
		const file = "arrivals.txt"
		work.Files = map[string][]byte{}
		maps.Copy(work.Files, job.Files)
		work.Files[file] = arrivals(job.Count, job.Over)
		s.Load = scenario.Load{Replay: file}
		s.Connections = countConnections
	case job.Users > 0:
		s.Load = scenario.Load{Users: job.Users, Think: s.Load.Think,
			RampUp: cmp.Or(seconds(job.RampUp), s.Load.RampUp)}
	}
	if job.Duration > 0 {
		s.Load.Duration = seconds(job.Duration)
	}
	return work, nil
}

// firstRate returns the rate of a load, or the first rate of a search: a random one between the job's rate
// and twice that, determined by the seed and the variant. Searches double and bisect the rate. If they all
// began at the same rate, they would end on the same few rates, and capacities that differ by one step in
// every block would seem to have no error.
func firstRate(job lab.LoadJob) float64 {
	if !job.Search {
		return job.Rate
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(job.Variant)) // writes to a hash never fail
	random := rand.New(rand.NewPCG(job.Seed, name.Sum64()))
	scattered := job.Rate * math.Exp2(random.Float64())
	if scattered < 1 {
		return scattered // rounded, it could be 0
	}
	return math.Round(scattered*100) / 100
}

// arrivals returns the due times of flows in seconds, one per line: evenly spread over a time; or, if that is
// 0, all at 0, so that the number of connections limits the concurrent flows.
func arrivals(count int, over float64) []byte {
	if over <= 0 {
		return bytes.Repeat([]byte("0\n"), count)
	}
	var lines []byte
	for i := range count {
		lines = strconv.AppendFloat(lines, float64(i)*over/float64(count), 'f', 6, 64)
		lines = append(lines, '\n')
	}
	return lines
}

// countConnections is the number of concurrent flows of a load with a count.
const countConnections = 32

// seconds converts seconds to a duration of the load engine.
func seconds(s float64) scenario.Duration {
	return scenario.Duration(s * float64(time.Second))
}

// Read implements lab.Generator.
func (g generator) Read(report lab.UnitReport) (lab.LoadReport, error) {
	result, err := agent.ReadReport(report)
	if err != nil {
		return lab.LoadReport{}, err
	}
	s := &result.Outcome.Summary
	read := lab.LoadReport{
		Achieved: s.AchievedRate, Duration: s.Duration, Sent: s.Sent, OK: s.OK, Unsent: s.Unsent, Errors: s.Errors,
		Unchecked: s.Unchecked, Measures: loadMeasures(s), Spectra: result.Spectra(), Course: result.Course,
		Cohorts: result.Outcome.Cohorts,
		WarmUp:  result.WarmUp, Network: result.Network, Remarks: s.ErrorSamples.Sentences(),
	}
	if s.Capacity != nil {
		read.Search = searchOf(s.Capacity)
	}
	if stall := s.Stall(); stall != "" {
		read.Remarks = append(read.Remarks, stall)
	}
	if relief, relieved := reliefOf(result.Course, g.limit); relieved {
		read.Measures = append(read.Measures, lab.Measure{Quantity: lab.Relief, Value: relief})
	}
	if len(s.Operations) > 1 {
		for _, o := range s.Operations {
			read.Operations = append(read.Operations, outcomeOf(o))
		}
	}
	if s.OfferedRate != nil {
		read.Offered = *s.OfferedRate
	}
	_, read.Missed = g.limit.Judge(s)
	isHeld := read.Offered > 0 && loaded.Held(read) && len(read.Missed) == 0
	switch {
	case !s.Generator.Limited:
	case len(s.Generator.LimitedBy) == 0:
		return read, errors.New("the generator was the limit, but does not say why")
	case s.Generator.OnlyLate() && isHeld:
		read.Late = map[float64]string{}
		for _, moved := range s.Generator.Moved {
			read.Late[moved.Quantile] = s.Generator.LimitedBy[0]
		}
	default: // late sends delay the users of a closed loop, and may be why a rate was not held
		read.Limited = s.Generator.LimitedBy
	}
	return read, nil
}

// reliefOf returns the end of the last second whose 99th percentile was above the objective, or that had no
// answers, in seconds since the beginning of the load; 0 if there was none. relieved is false if that was the
// last second of the load, or the objective has no limit on times.
func reliefOf(course []lab.Slice, limit objective.Objective) (seconds float64, relieved bool) {
	longest := limit.LongestTime(0).Seconds()
	if longest == 0 || len(course) == 0 {
		return 0, false
	}
	for i, slice := range course {
		if slice.P99 != nil && *slice.P99 <= longest {
			continue
		}
		if i == len(course)-1 {
			return 0, false
		}
		seconds = slice.End
	}
	return seconds, true
}

// searchOf returns the record of a search.
func searchOf(c *record.Capacity) *lab.Search {
	search := &lab.Search{Reason: c.Reason}
	for _, p := range c.Probes {
		times := p.ResponseTime
		search.Loads = append(search.Loads, lab.SearchLoad{
			Rate: p.Rate, Pass: p.Pass, Longer: p.Confirms, Why: strings.Join(p.Reasons, "; "), Disturbed: p.Disturbed,
			Median: times.P50, P99: times.P99, Longest: times.Max,
		})
	}
	return search
}

// outcomeOf returns the record of one operation.
func outcomeOf(o record.Operation) lab.OperationOutcome {
	outcome := lab.OperationOutcome{Name: o.Name, Sent: o.Sent, OK: o.OK, Errors: o.Errors}
	if times := o.ResponseTime; times.P50 != nil {
		outcome.Median = *times.P50
		outcome.P99 = *times.P99
		outcome.Longest = *times.Max
	}
	return outcome
}

// loadMeasures returns the measured quantities of a summary.
func loadMeasures(s *record.Summary) []lab.Measure {
	var measures []lab.Measure
	add := func(quantity string, quantile float64, value *float64) {
		if value != nil {
			measures = append(measures, lab.Measure{Quantity: quantity, Quantile: quantile, Value: *value})
		}
	}
	addTimes := func(quantity string, times record.Percentiles) {
		add(quantity, 0, times.Mean)
		add(quantity, 0.5, times.P50)
		add(quantity, 0.9, times.P90)
		add(quantity, 0.95, times.P95)
		add(quantity, 0.99, times.P99)
		add(quantity, 0.999, times.P999)
		add(quantity, 1, times.Max)
	}
	addTimes(lab.ResponseTime, s.ResponseTime)
	addTimes(lab.ServiceTime, s.ServiceTime)
	add(lab.Transfer, 0, s.TransferRate)
	add(lab.SendLateness, 0.99, s.SendLateness.P99)
	sent := float64(s.Sent)
	add(lab.Requests, 0, &sent)
	if s.Sent > 0 {
		bad := float64(s.Errors[record.BadStatus.String()]+s.Errors[record.Rejected.String()]) / sent
		add(lab.BadStatus, 0, &bad)
	}
	if s.Duration > 0 {
		goodput := float64(s.OK) / s.Duration
		add(lab.Goodput, 0, &goodput)
	}
	if s.Capacity != nil {
		add(lab.Capacity, 0, s.Capacity.Rate)
	}
	return measures
}

// checkLoad checks a load before anything is played, and returns it with the secrets in
// place of their references. dir is the folder of the scenario's files.
func checkLoad(job lab.LoadJob, dir string, secrets *secret.Vault) (trial.Spec, error) {
	work, err := agentJob(job)
	if err == nil {
		work.Spec.Scenario, err = fillScenario(secrets, work.Spec.Scenario)
	}
	work.Spec.Dir = dir
	if err == nil {
		_, err = work.Spec.Check()
	}
	return work.Spec, err
}

package big

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// maxProblems is the number of problems of a kind that an audit lists. All are counted.
	maxProblems = 3
	// maxUniformityZ is the largest accepted deviation of the chi-square of the targets from its expectation, in
	// standard deviations. A uniform generator exceeds 5 in fewer than one of a million trials; a skewed or
	// too regular one does at once.
	maxUniformityZ = 5
)

// Audit implements lab.System. It checks the workers' accounts against the rules of the benchmark: every
// worker sent exactly its limit of pings and got as many pongs, every ping was answered by the pinged worker
// inside the neighbourhood, targets are uniform, and every worker was a process of its own.
func (System) Audit(v lab.Variant, p lab.Point, reports []lab.UnitReport) lab.Audit {
	a := auditor{job: jobAt(p, 0), workers: map[int]WorkerAccount{}, counts: map[string]int64{},
		figures: map[string]float64{}}
	chosen, err := familyNamed(v.Architecture)
	if err != nil {
		a.problem("architecture", "%v", err)
		return a.verdict()
	}
	a.job.SelfPings = chosen.KnobValue(v, knobSelf) == on
	for _, report := range reports {
		a.read(report)
	}
	if !a.complete() {
		return a.verdict()
	}
	a.checkWorkers()
	a.checkNeighbourhoods()
	a.checkUniformity()
	if !chosen.oneUnit {
		a.checkProcesses()
	}
	a.measureFairness()
	return a.verdict()
}

// auditor holds the accounts of a trial and the findings about them.
type auditor struct {
	job       Job
	workers   map[int]WorkerAccount // by number
	processes []Account             // units that host workers
	units     []string              // the names of these processes in messages
	core      *CoreAccount
	counts    map[string]int64
	problems  []string
	broken    int  // problems that make the trial invalid
	missing   bool // reports are missing: the verdict is unknown
	figures   map[string]float64
}

// problem counts a problem of a kind, and lists it if it is one of the first.
func (a *auditor) problem(kind, format string, args ...any) {
	a.broken++
	a.counts["broken "+kind]++
	if a.counts["broken "+kind] <= maxProblems {
		a.problems = append(a.problems, fmt.Sprintf(format, args...))
	}
}

// read adds the report of a unit.
func (a *auditor) read(report lab.UnitReport) {
	var account Account
	if err := json.Unmarshal(report.Data, &account); err != nil {
		a.problem("reports", "report of unit %s cannot be read: %v", report.Unit, err)
		return
	}
	if report.PID != 0 && account.PID != report.PID {
		a.problem("processes", "unit %s says it is process %d, the deployer started %d", report.Unit, account.PID,
			report.PID)
	}
	if account.Core != nil {
		a.core = account.Core
	}
	if len(account.Workers) > 0 {
		a.processes = append(a.processes, account)
		a.units = append(a.units, processName(report, account))
	}
	for _, w := range account.Workers {
		isOutside := w.Number < 0 || w.Number >= a.job.Total()
		if _, twice := a.workers[w.Number]; twice || isOutside {
			a.problem("reports", "unit %s reports worker %d twice or outside 0..%d", report.Unit, w.Number,
				a.job.Total()-1)
		}
		a.workers[w.Number] = w
	}
}

// complete reports whether all workers and the core have reported. Otherwise the trial cannot be judged.
func (a *auditor) complete() bool {
	a.counts["workers"] = int64(len(a.workers))
	if len(a.workers) != a.job.Total() || a.core == nil {
		a.missing = true
		a.problems = append(a.problems, fmt.Sprintf("%d of %d workers have reported, core reported: %t",
			len(a.workers), a.job.Total(), a.core != nil))
		return false
	}
	if a.core.Finished != a.job.Total() {
		a.problem("finish", "the core counted %d finished workers of %d", a.core.Finished, a.job.Total())
	}
	return true
}

// checkWorkers checks the counts of each worker, and their sums.
func (a *auditor) checkWorkers() {
	for number := range a.job.Total() {
		w := a.workers[number]
		a.counts["sent"] += int64(w.Sent)
		a.counts["received"] += int64(w.Received)
		a.counts["answered"] += int64(w.Answered)
		if w.Sent != a.job.Pings || w.Received != a.job.Pings {
			a.problem("limit", "worker %d sent %d pings and received %d pongs, want %d each", number, w.Sent,
				w.Received, a.job.Pings)
		}
		if len(w.Targets) != a.job.Workers {
			a.problem("reports", "worker %d reports %d neighbours, want %d", number, len(w.Targets), a.job.Workers)
			continue
		}
		if !a.job.SelfPings && w.Targets[a.job.Index(number)] != 0 {
			a.problem("self", "worker %d pinged itself %d times", number, w.Targets[a.job.Index(number)])
		}
	}
	total := a.job.RoundTrips()
	if a.counts["sent"] != total || a.counts["answered"] != total || a.counts["received"] != total {
		a.problem("conservation", "sent %d, answered %d, received %d: want %d each",
			a.counts["sent"], a.counts["answered"], a.counts["received"], total)
	}
}

// checkNeighbourhoods compares each worker's answers with the pings that its neighbours have sent it. If they
// match for every worker, no message has left or entered a neighbourhood.
func (a *auditor) checkNeighbourhoods() {
	for number := range a.job.Total() {
		first := a.job.Neighbourhood(number) * a.job.Workers
		pinged := 0
		for neighbour := first; neighbour < first+a.job.Workers; neighbour++ {
			if targets := a.workers[neighbour].Targets; len(targets) == a.job.Workers {
				pinged += int(targets[a.job.Index(number)])
			}
		}
		if answered := a.workers[number].Answered; answered != pinged {
			a.problem("neighbourhood", "worker %d answered %d pings, its neighbours sent it %d", number, answered,
				pinged)
		}
	}
}

// checkUniformity checks that the targets are uniform: it sums the chi-square statistics of all workers and
// converts the sum to a standard normal deviate (Wilson and Hilferty 1931).
func (a *auditor) checkUniformity() {
	choices := a.job.Workers
	if !a.job.SelfPings {
		choices--
	}
	if choices < 2 {
		return // a single choice is uniform
	}
	expected := float64(a.job.Pings) / float64(choices)
	sum := 0.0
	for number := range a.job.Total() {
		for neighbour, pings := range a.workers[number].Targets {
			if neighbour != a.job.Index(number) || a.job.SelfPings {
				difference := float64(pings) - expected
				sum += difference * difference / expected
			}
		}
	}
	df := float64(a.job.Total() * (choices - 1))
	variance := 2 / (9 * df)
	z := (math.Cbrt(sum/df) - (1 - variance)) / math.Sqrt(variance)
	a.figures["targets_chi_square_z"] = z
	if math.Abs(z) > maxUniformityZ {
		a.problem("uniformity", "targets are not uniform: chi-square %.1f on %.0f degrees of freedom (z = %.1f)",
			sum, df, z)
	}
}

// checkProcesses checks that every worker was a process of its own: one worker per account, distinct process
// ids, distinct address spaces.
func (a *auditor) checkProcesses() {
	seen := map[string]bool{}
	for i, process := range a.processes {
		name := a.units[i]
		if len(process.Workers) != 1 || seen[name] {
			a.problem("processes", "%s hosts %d workers or is reported twice", name, len(process.Workers))
		}
		if !process.OwnAddressSpace {
			a.problem("processes", "%s shares its address space with another worker", name)
		}
		seen[name] = true
	}
	a.counts["processes"] = int64(len(seen))
}

// processName returns a name that identifies the process of a unit: its process id on the host. In containers
// the deployer does not know that, and every unit sees the same one: there it is the name of the unit.
func processName(report lab.UnitReport, account Account) string {
	if report.PID == 0 {
		return "the process of unit " + report.Unit
	}
	return fmt.Sprintf("process %d", account.PID)
}

// measureFairness adds figures of the progress of workers, as shares of the elapsed time: when the first and
// the last one had sent half of their pings, and when they had finished.
func (a *auditor) measureFairness() {
	elapsed := float64(a.core.EndNs - a.core.StartNs)
	if elapsed <= 0 {
		a.problem("clock", "the core's clock ran %.0f ns from start to finish", elapsed)
		return
	}
	var half, finish []float64
	for _, w := range a.workers {
		half = append(half, float64(w.HalfNs-a.core.StartNs)/elapsed)
		finish = append(finish, float64(w.FinishNs-a.core.StartNs)/elapsed)
	}
	a.figures["first_half_share"] = slices.Min(half)
	a.figures["last_half_share"] = slices.Max(half)
	a.figures["first_finish_share"] = slices.Min(finish)
	a.figures["last_finish_share"] = slices.Max(finish)
}

// verdict returns the audit.
func (a *auditor) verdict() lab.Audit {
	verdict := lab.AuditValid
	switch {
	case a.broken > 0:
		verdict = lab.AuditInvalid
	case a.missing:
		verdict = lab.AuditUnknown
	}
	return lab.Audit{Verdict: verdict, Counts: a.counts, Problems: a.problems, Figures: a.figures}
}

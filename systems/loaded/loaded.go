// Package loaded holds the common parts of systems under load: the generator as a unit of the
// layout, the factors of points that set the load, the parts of audits and metrics that come from
// the generator's report, and the units with HAProxy, nginx and sidecars. Each system has its own
// scenario, front unit, and definition of a right answer.
//
// Entry points: Base; Base.Judge for its audits and Base.Measure for its metrics.
package loaded

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// History is the file to which the generator writes every attempt.
	History = "history.jsonl"
	// Longest is the time limit of a counted load, in seconds.
	Longest = 3600
	// MaxCount is the most operations of a counted load.
	MaxCount = 1_000_000
	// minute is the length of a minute, in seconds.
	minute = 60
)

// Over is the factor that spreads a counted load: its operations become due evenly over this number of
// seconds; 0: all are due at once.
const Over = "over"

// Base holds the load generator and the study's load of a system.
type Base struct {
	Generator lab.Generator
	Load      lab.Load
	// Counted is the name of the factor that sets a counted load: a number of operations, such as "orders".
	Counted string
}

// Parameters returns the factors that set the load of a trial. A point has one of the kinds of load: rate,
// per minute, users, search or counted. operations is the system's word for its operations, in the plural.
func (b Base) Parameters(operations string) []lab.Parameter {
	all := []lab.Parameter{
		{Name: lab.FactorRate, Summary: operations + " per second of an open loop", Max: 1e7, Optional: true},
		{Name: lab.FactorPerMinute, Summary: operations + " per minute of an open loop", Max: 6e8, Optional: true},
		{Name: lab.FactorUsers, Summary: "users of a closed loop", Max: 1e5, Optional: true},
		{Name: lab.FactorSearchFrom, Summary: operations +
			" per second at which the search for the capacity begins", Max: 1e7, Optional: true},
	}
	all = append(all, clientParameters()...)
	return append(all,
		lab.Parameter{Name: b.Counted, Summary: "number of " + operations + ", sent as fast as they are answered",
			Max: MaxCount, Optional: true},
		lab.Parameter{Name: Over, Summary: "seconds over which these " + operations +
			" become due, evenly (0: all at once)", Max: Longest, Optional: true},
	)
}

// CheckPoint returns the point of a counted load, spread over a number of seconds; see lab.Checkable.
func (b Base) CheckPoint(operations int, over float64) lab.Point {
	p := lab.Point{Name: b.Counted, Levels: map[string]float64{b.Counted: float64(operations)}}
	if over > 0 {
		p.Levels[Over] = math.Ceil(over) // this parameter is a whole number
	}
	return p
}

// Unit returns the unit of the generator. It sends the load of the point to the unit named front. The load
// begins when front answers GET /health with success, which it does when all units are ready. The job has the
// rest: scenario, files, target and seed.
func (b Base) Unit(job lab.LoadJob, p lab.Point, front string) (lab.UnitSpec, error) {
	load := b.Load // of the study, but with the system's scenario and files
	load.Scenario = job.Scenario
	load.Files = job.Files
	job.Load = load
	job.Unit = front
	job.History = History
	job.Ready = lab.ReadyCheck{Path: "/health", Timeout: minute}
	SetClient(&job, p)
	if err := b.SetLoad(&job, p); err != nil {
		return lab.UnitSpec{}, err
	}
	unit, err := b.Generator.Unit(job)
	unit.Name = lab.RoleGenerator
	unit.Role = lab.RoleGenerator
	unit.Peers = []string{front}
	unit.Cores = b.Load.Cores
	unit.Uses = []lab.Use{{To: front, How: "requests"}}
	return unit, err
}

// SetLoad sets the kind and the level of the load in a job to those of a point. It returns an error if the
// point sets no kind of load or several, or spreads a load that is not counted.
func (b Base) SetLoad(job *lab.LoadJob, p lab.Point) error {
	factor, level, err := p.Only(lab.FactorRate, lab.FactorPerMinute, lab.FactorUsers, lab.FactorSearchFrom,
		b.Counted)
	if err != nil {
		return err
	}
	over, isSpread := p.Level(Over)
	if isSpread && factor != b.Counted {
		return fmt.Errorf("point %s: %s spreads a number of operations, and has no effect on %s: leave it out", p,
			Over, factor)
	}
	switch factor {
	case lab.FactorRate:
		job.Rate = level
	case lab.FactorPerMinute:
		job.Rate = level / minute
	case lab.FactorUsers:
		job.Users = int(level)
	case lab.FactorSearchFrom:
		if job.Objective == "" {
			return fmt.Errorf("point %s searches for the capacity, but the study's load has no objective", p)
		}
		job.Rate = level
		job.Search = true
		job.Duration = cmp.Or(job.Effort.Duration, job.Duration) // of each probe: that of the effort, if any
	default:
		job.Count = int(level)
		job.Duration = Longest
		job.Over = over
	}
	return nil
}

// Report returns the report of the generator.
func (b Base) Report(reports []lab.UnitReport) (lab.LoadReport, error) {
	for _, r := range reports {
		if r.Unit == lab.RoleGenerator {
			return b.Generator.Read(r)
		}
	}
	return lab.LoadReport{}, errors.New("the generator has not sent a report")
}

// Searches reports whether a point searches for the capacity.
func Searches(p lab.Point) bool {
	_, search := p.Level(lab.FactorSearchFrom)
	return search
}

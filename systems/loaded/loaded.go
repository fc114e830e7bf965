// Package loaded holds what systems under load have in common: the generator as a unit of
// the layout, the factors that say how a trial is loaded, and what audits and metrics take from
// the generator's report. Each system says itself what is sent, which unit is in front, and which
// answers are right.
//
// Entry points: Base; With and Measured for what it has reported.
package loaded

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// History is the file in which the generator writes down every attempt.
	History = "history.jsonl"
	// Longest is the limit, in seconds, of a load that is counted.
	Longest = 3600
	// MaxCount bounds a load that is counted.
	MaxCount = 1_000_000
	// minute is the number of seconds in one.
	minute = 60
)

// Over is the factor of a counted load: the seconds over which its operations become due,
// evenly; 0: all are due at once.
const Over = "over"

// Base holds the load generator and the load of a system under load.
type Base struct {
	Generator lab.Generator
	Load      lab.Load
	// Counted names the factor of a load that is counted, such as "orders".
	Counted string
}

// Parameters returns the factors that say how a trial is loaded; a point sets one of them.
// operations is the system's name for its operations, in the plural.
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
		lab.Parameter{Name: b.Counted, Summary: "so many " + operations + ", as fast as they are answered",
			Max: MaxCount, Optional: true},
		lab.Parameter{Name: Over, Summary: "seconds over which these " + operations +
			" become due, evenly (0: all at once)", Max: Longest, Optional: true},
	)
}

// CheckPoint returns the point of a counted load; see lab.Checkable.
func (b Base) CheckPoint(operations int, over float64) lab.Point {
	p := lab.Point{Name: b.Counted, Levels: map[string]float64{b.Counted: float64(operations)}}
	if over > 0 {
		p.Levels[Over] = math.Ceil(over)
	}
	return p
}

// Unit returns the generator as a unit, which loads the unit in front as the point says. The
// job has what the base does not know: scenario, target, seed, when the system is ready.
func (b Base) Unit(job lab.LoadJob, p lab.Point, front string) (lab.UnitSpec, error) {
	scenario, files := job.Scenario, job.Files // the system's, not the study's
	job.Load, job.Unit, job.History = b.Load, front, History
	job.Scenario, job.Files = scenario, files
	SetClient(&job, p)
	if err := b.SetLoad(&job, p); err != nil {
		return lab.UnitSpec{}, err
	}
	unit, err := b.Generator.Unit(job)
	unit.Name, unit.Role, unit.Peers, unit.Cores = lab.RoleGenerator, lab.RoleGenerator, []string{front},
		b.Load.Cores
	unit.Uses = []lab.Use{{To: front, How: "requests"}}
	return unit, err
}

// SetLoad takes the load from the point.
func (b Base) SetLoad(job *lab.LoadJob, p lab.Point) error {
	factor, level, err := p.Only(lab.FactorRate, lab.FactorPerMinute, lab.FactorUsers, lab.FactorSearchFrom,
		b.Counted)
	if err != nil {
		return err
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
		job.Rate, job.Search = level, true
		job.Duration = cmp.Or(job.Effort.Duration, job.Duration)
	default:
		job.Count, job.Duration = int(level), Longest
		job.Over, _ = p.Level(Over)
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
	return lab.LoadReport{}, errors.New("the generator has handed in no report")
}

// Searches reports whether a point searches for the capacity.
func Searches(p lab.Point) bool {
	_, search := p.Level(lab.FactorSearchFrom)
	return search
}

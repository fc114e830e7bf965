// Package big is the Big message-passing benchmark: neighbourhoods of workers
// that ping random others of their own neighbourhood and answer every ping
// until all have finished (Rêgo 2021, after Östlund 2016 and the Savina suite).
//
// This package has the rules of one worker (Worker), the core's list of workers (Reception), the report of a
// unit (Account), the audit of these reports, and System, which describes the architectures and their units.
// The sub-packages implement the transport of pings, one per architecture; all of them run the same Worker.
package big

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/lines"
)

// Name is the name of the system in study files.
const Name = "big"

// The roles of units.
const (
	RoleAll    = "all" // the one unit of a multithreaded architecture
	RoleCore   = "core"
	RoleWorker = "worker"
)

// maxPings is the most pings per worker.
const maxPings = 10_000_000

// UnitJob is the job of one unit: the argument of its program, as JSON.
type UnitJob struct {
	Job
	Architecture string            `json:"architecture"`
	Knobs        map[string]string `json:"knobs,omitempty"` // all of the architecture, with their defaults
	Role         string            `json:"role"`
	Worker       int               `json:"worker"` // number of the worker, role worker only
}

// System describes Big to the lab. The zero value is ready for use.
type System struct{}

var (
	_ lab.System   = System{}
	_ lab.Profiled = System{}
)

// Profiling implements lab.Profiled.
func (System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"github.com/cleave-lab/cleave/systems/big"}}
}

// Describe implements lab.System.
func (System) Describe() lab.SystemInfo {
	info := lab.SystemInfo{
		Name:      Name,
		Summary:   "the Big benchmark: workers ping random neighbours and answer their pings",
		Operation: "round trip",
		Parameters: []lab.Parameter{
			{Name: "neighbourhoods", Summary: "groups of workers that know each other", Min: 1, Max: 1000},
			{Name: "workers", Summary: "workers per neighbourhood", Min: 2, Max: 500},
			{Name: "pings", Summary: "pings that each worker sends", Min: 1, Max: maxPings, Scaled: true},
		},
	}
	for _, f := range families() {
		info.Architectures = append(info.Architectures, f.Architecture)
	}
	return info
}

// Layout implements lab.System: a multithreaded architecture has one unit, the others have a core and a unit
// per worker.
func (System) Layout(v lab.Variant, p lab.Point, seed uint64) (lab.Layout, error) {
	chosen, err := familyNamed(v.Architecture)
	if err != nil {
		return lab.Layout{}, err
	}
	unit := UnitJob{Job: jobAt(p, seed), Architecture: v.Architecture, Knobs: map[string]string{}}
	for _, knob := range chosen.Knobs {
		unit.Knobs[knob.Name] = chosen.KnobValue(v, knob.Name)
	}
	unit.SelfPings = unit.Knobs[knobSelf] == on
	layout := chosen.layout(unit)
	layout.Code = lines.Of(append(chosen.packages, "systems/big", "systems/big/bigunit")...)
	return layout, nil
}

// Point returns the point of the job, under a name.
func (j Job) Point(name string) lab.Point {
	return lab.Point{Name: name, Levels: map[string]float64{
		"neighbourhoods": float64(j.Neighbourhoods), "workers": float64(j.Workers), "pings": float64(j.Pings)}}
}

// jobAt returns the job of a point.
func jobAt(p lab.Point, seed uint64) Job {
	level := func(factor string) int {
		value, _ := p.Level(factor)
		return int(value)
	}
	return Job{Neighbourhoods: level("neighbourhoods"), Workers: level("workers"), Pings: level("pings"),
		Seed: seed}
}

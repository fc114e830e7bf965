// Package system is a rehearsal as a system under test: which units a variant consists of, what work it is
// given, how a trial is audited and measured. It starts nothing and sends nothing.
//
// Entry points: System, with a generator, the load of the study and the text of a model.
package system

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/rehearsal"
)

// Operations is the factor of a load that is counted: so many are played, as fast as they are answered.
const Operations = "operations"

// System plays a model under the load of a study.
type System struct {
	loaded.Unplayed
	Generator lab.Generator
	Load      lab.Load
	Model     string // the text of a model file
}

var (
	_ lab.Measurer    = System{}
	_ lab.LiveAuditor = System{}
	_ lab.Checkable   = System{}
	_ lab.Explainable = System{}
	_ lab.Profiled    = System{}
)

// base returns what a rehearsal has in common with other systems under load.
func (s System) base() loaded.Base {
	return loaded.Base{Generator: s.Generator, Load: s.Load, Counted: Operations}
}

func (s System) design(v lab.Variant) (*rehearsal.Design, error) {
	m, err := model.Parse(rehearsal.ModelFile, []byte(s.Model))
	if err != nil {
		return nil, err
	}
	return rehearsal.New(m, v.Architecture, v.Knobs)
}

// Describe implements lab.System.
func (s System) Describe() lab.SystemInfo {
	return lab.SystemInfo{
		Name: rehearsal.Name, Operation: "operation",
		Summary: "a model of a system, played by units that use CPU time, wait, send bytes and make calls as " +
			"the model says",
		Architectures: rehearsal.Catalogue().All(), Parameters: s.base().Parameters(Operations),
		Metrics: metrics(), Restartable: true, Model: s.Model,
		Check: func(v lab.Variant) error {
			_, err := s.design(v)
			return err
		},
		Changes: rehearsal.Catalogue().Changes,
	}
}

const (
	// settleTimeout limits the wait for calls that nobody waits for, after the last answer, in seconds.
	settleTimeout = 300
	// descriptors is the most that one process has open.
	descriptors = 8192
)

// Layout implements lab.System.
func (s System) Layout(v lab.Variant, p lab.Point, seed uint64) (lab.Layout, error) {
	design, err := s.design(v)
	if err != nil {
		return lab.Layout{}, err
	}
	text, err := s.modelAt(p)
	if err != nil {
		return lab.Layout{}, err
	}
	layout := lab.Layout{Lead: lab.RoleGenerator, Descriptors: descriptors}
	for i, u := range design.Units {
		unit := kit.Unit(u.Name, rehearsal.Name,
			rehearsal.Job{Architecture: v.Architecture, Knobs: v.Knobs, Unit: u.Name, Pause: pause(p)})
		unit.Listens, unit.Scalable, unit.Limits.CPU = true, u.Store == nil && !keeps(design, i), u.Cores
		unit.Files = map[string][]byte{rehearsal.ModelFile: text}
		unit.Uses = []lab.Use{}
		if i != design.Front() {
			unit.Stage = 1
		}
		for other := range design.Units {
			if design.Calling(i, other) {
				unit.Peers = append(unit.Peers, design.Units[other].Name)
			}
			if design.Plays(i, other) {
				unit.Uses = append(unit.Uses, lab.Use{To: design.Units[other].Name, How: design.Binding})
			}
		}
		layout.Units = append(layout.Units, unit)
	}
	work := lab.LoadJob{Target: "http://rehearsal", Seed: seed, Variant: v.Name, Ready: loaded.Healthy(),
		Settle: lab.ReadyCheck{Path: rehearsal.SettledPath, Timeout: settleTimeout}}
	if work.Scenario, err = scenario(design); err != nil {
		return lab.Layout{}, err
	}
	generator, err := s.base().Unit(work, p, design.Units[design.Front()].Name)
	layout.Units = append(layout.Units, generator)
	return layout, err
}

// pause returns the time between two operations of a point's load, in seconds; 0 in a closed loop.
func pause(p lab.Point) float64 {
	if rate, paced := p.Rate(); paced {
		return 1 / rate
	}
	return 0
}

// modelAt returns the text of the model with the CPU times that it has under the load of a point, as far as
// they were measured.
func (s System) modelAt(p lab.Point) ([]byte, error) {
	m, err := model.Parse(rehearsal.ModelFile, []byte(s.Model))
	if err != nil {
		return nil, err
	}
	if rate, paced := p.Rate(); paced {
		m = m.AtRate(rate, m.RatedCPU())
	} else {
		m = m.AtCapacity()
	}
	var text bytes.Buffer
	err = m.Write(&text)
	return text.Bytes(), err
}

// keeps reports whether a unit commits to a store of its own, which replicas would not share.
func keeps(design *rehearsal.Design, unit int) bool {
	return slices.ContainsFunc(design.Model.Stores, func(s model.Store) bool {
		return design.Keeps(unit, s.Name)
	})
}

// object is JSON.
type object = map[string]any

// scenario returns what clients do, as cleave-scenario/1: the operations of the model by their weights.
func scenario(d *rehearsal.Design) (json.RawMessage, error) {
	var flows []object
	for i, root := range d.Roots {
		o := d.Model.Operations[i]
		flows = append(flows, object{"name": operation(o.Name), "weight": o.Weight, "steps": []object{{
			"name": operation(o.Name), "request": "PUT " + rehearsal.Path(i),
			"json":   json.RawMessage(rehearsal.Body(root.In)),
			"expect": object{"status": "200", "json": json.RawMessage(rehearsal.Body(root.Out))},
		}}})
	}
	return json.Marshal(object{"schema": "cleave-scenario/1", "name": rehearsal.Name, "cookies": false,
		"flows": flows})
}

// operation returns the name of an operation as scenarios take it: what they would fill in stands for itself.
func operation(name string) string { return strings.ReplaceAll(name, "$", "_") }

// metrics returns the metrics of a rehearsal, the headline first. docs/predicting.md defines them.
func metrics() []lab.Metric {
	words := loaded.Words{Operations: "operations", Flows: "operations", Cost: "units",
		Per: "operation answered rightly", Response: "response time"}
	all := append(words.ResponseTimes(0.5, 0.99, 0, 1), words.Goodput(), words.Capacity(), words.Errors(),
		words.AchievedShare(), words.CPU())
	all = append(all, loaded.ClientMetrics()...)
	return append(all, lab.Metric{Name: demanded, Title: "CPU time that the model asks for, per operation begun",
		Unit: "s", Better: lab.LowerIsBetter, Kind: lab.KindCost, Quantity: "demanded_cpu", Per: lab.PerOperation,
		Source: lab.FromSystem},
		lab.Metric{Name: burnt, Title: "CPU time that sampled burns took, as a share of what they were to take",
			Unit: "1", Better: lab.LowerIsBetter, Kind: lab.KindShare, Quantity: "burnt", Source: lab.FromSystem},
		words.PeakMemory())
}

// Names of metrics of units.
const (
	demanded = "demanded_cpu"
	burnt    = "burnt_share"
)

// Profiling implements lab.Profiled.
func (s System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"github.com/cleave-lab/cleave/systems/rehearsal"}}
}

// CheckPoint implements lab.Checkable.
func (s System) CheckPoint(operations int, over float64) lab.Point {
	return s.base().CheckPoint(operations, over)
}

// CheckTable implements lab.Checkable.
func (s System) CheckTable() lab.CheckTable {
	return loaded.CheckTable([]lab.CheckColumn{
		{Title: "answered", Count: countAnswered}, {Title: "calls", Count: countCalls},
		{Title: "lost", Count: countLost}, {Title: "made up", Count: countMadeUp},
		{Title: "off the model", Count: countOff}, {Title: "operations/s", Metric: lab.Goodput}},
		loaded.OutcomeColumns()[:2]...) // what was found done, no model says
}

// Explanation implements lab.Explainable. The rate is the lowest at which the model was measured, if any.
func (s System) Explanation() lab.Explanation {
	e := lab.Explanation{From: rehearsal.AsIs, To: rehearsal.Apart,
		Metrics: []string{"response_time_p50", loaded.CPUPerOperation, "response_time_p99"}}
	if m, err := model.Parse(rehearsal.ModelFile, []byte(s.Model)); err == nil {
		for _, of := range m.Measured {
			if of.Users == 0 { // at its capacity queues grow without end
				e.Rate = min(cmp.Or(e.Rate, of.Rate), of.Rate)
			}
		}
	}
	e.Rate = cmp.Or(e.Rate, usualRate)
	return e
}

// usualRate is the rate of models that were never measured, in operations per second.
const usualRate = 50

// Steps implements lab.Explainable: components leave their units one after another, then other knobs turn.
func (s System) Steps(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	before, after, err := rehearsal.Catalogue().Between(from, to)
	groups, errFrom := s.groups(from)
	wanted, errTo := s.groups(to)
	if err := errors.Join(err, errFrom, errTo); err != nil {
		return nil, nil, err
	}
	var steps []loaded.Step
	for _, group := range wanted {
		next := apart(groups, group)
		if placement := written(next); placement != written(groups) {
			steps = append(steps, loaded.Step{Name: strings.ReplaceAll(strings.Join(group, "-"), " ", "-") + "-apart",
				Sets: []loaded.Setting{{Name: rehearsal.KnobPlacement, Value: placement}}})
		}
		groups = next
	}
	if len(steps) > 0 { // the last step sets the placement as the other variant writes it
		steps[len(steps)-1].Sets[0].Value = after[rehearsal.KnobPlacement]
	}
	for _, k := range rehearsal.Catalogue().Knobs {
		steps = append(steps, loaded.Turn(k.Name, after[k.Name]))
	}
	from.System, from.Knobs = rehearsal.Name, before
	return loaded.Walk(from, to, steps)
}

// groups returns the groups of components that share a unit in a variant.
func (s System) groups(v lab.Variant) (all [][]string, err error) {
	d, err := s.design(v)
	if err != nil {
		return nil, err
	}
	for _, u := range d.Units {
		if u.Store == nil {
			all = append(all, u.Components)
		}
	}
	return all, nil
}

// apart returns groups after some of their components have left them for a group of their own.
func apart(groups [][]string, group []string) [][]string {
	var all [][]string
	for _, g := range groups {
		left := slices.DeleteFunc(slices.Clone(g), func(c string) bool { return slices.Contains(group, c) })
		if len(left) > 0 {
			all = append(all, left)
		}
	}
	return append(all, group)
}

// written returns groups as the placement knob takes them, each in a fixed order.
func written(groups [][]string) string {
	var texts []string
	for _, g := range groups {
		texts = append(texts, strings.Join(slices.Sorted(slices.Values(g)), "+"))
	}
	return strings.Join(slices.Sorted(slices.Values(texts)), ",")
}

// Package system describes a rehearsal as a system under test: the units of a variant, the load, the audit
// and the metrics of a trial. It starts nothing and sends nothing.
//
// Entry point: System, with a generator, the load of the study and the text of a model.
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

// Operations is the factor for the number of operations of a counted load.
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

// base returns the part that a rehearsal shares with other systems under load.
func (s System) base() loaded.Base {
	return loaded.Base{Generator: s.Generator, Load: s.Load, Counted: Operations}
}

// design returns the design of a variant.
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
	// settleTimeout limits the wait for asynchronous calls after the last answer, in seconds.
	settleTimeout = 300
	// descriptors is the limit of open files of each process.
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
		unit.Listens = true
		unit.Scalable = u.Store == nil && !hasDatabase(design, i)
		unit.Limits.CPU = u.Cores
		unit.Files = map[string][]byte{rehearsal.ModelFile: text}
		unit.Uses = []lab.Use{} // nil would stand for all peers and services
		if i != design.Front() {
			unit.Stage = 1 // the front stops first
		}
		for other := range design.Units {
			if design.NeedsAddress(i, other) {
				unit.Peers = append(unit.Peers, design.Units[other].Name)
			}
			if design.CallsUnit(i, other) {
				unit.Uses = append(unit.Uses, lab.Use{To: design.Units[other].Name, How: design.Binding})
			}
		}
		layout.Units = append(layout.Units, unit)
	}
	work := lab.LoadJob{Target: "http://rehearsal", Seed: seed, Variant: v.Name,
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

// modelAt returns the text of the model with the CPU times that were measured under a load like that of the
// point, if any.
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

// hasDatabase reports whether a unit commits to an embedded store. Replicas would not share it.
func hasDatabase(design *rehearsal.Design, unit int) bool {
	return slices.ContainsFunc(design.Model.Stores, func(s model.Store) bool {
		return design.CommitsTo(unit, s.Name)
	})
}

// object is a JSON object.
type object = map[string]any

// scenario returns the load of clients as cleave-scenario/1: the operations of the model by their weights.
func scenario(d *rehearsal.Design) (json.RawMessage, error) {
	var flows []object
	names := scenarioNames(d.Model.Operations)
	for i, root := range d.Roots {
		flows = append(flows, object{"name": names[i], "weight": d.Model.Operations[i].Weight, "steps": []object{{
			"name": names[i], "request": "PUT " + rehearsal.Path(i),
			"json":   json.RawMessage(rehearsal.Body(root.In)),
			"expect": object{"status": "200", "json": json.RawMessage(rehearsal.Body(root.Out))},
		}}})
	}
	return json.Marshal(object{"schema": "cleave-scenario/1", "name": rehearsal.Name, "cookies": false,
		"flows": flows})
}

// scenarioNames returns the names of operations in a scenario, which would expand a $ as a variable. No two
// are the same.
func scenarioNames(operations []model.Operation) (names []string) {
	for _, o := range operations {
		name := strings.ReplaceAll(o.Name, "$", "_")
		isName := func(other model.Operation) bool { return other.Name == name }
		for slices.Contains(names, name) || name != o.Name && slices.ContainsFunc(operations, isName) {
			name += "_"
		}
		names = append(names, name)
	}
	return names
}

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

// Names of the metrics that come from the reports of units.
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
		loaded.OutcomeColumns()[:2]...) // without the last: the audit cannot tell which attempts happened
}

// Explanation implements lab.Explainable. The rate is the lowest at which the model was measured; usualRate
// if there is none.
func (s System) Explanation() lab.Explanation {
	e := lab.Explanation{From: rehearsal.AsIs, To: rehearsal.Apart,
		Metrics: []string{"response_time_p50", loaded.CPUPerOperation, "response_time_p99"}}
	if m, err := model.Parse(rehearsal.ModelFile, []byte(s.Model)); err == nil {
		for _, measured := range m.Measured {
			if measured.Users == 0 { // otherwise it is a capacity: in an open load queues would grow without end
				e.Rate = min(cmp.Or(e.Rate, measured.Rate), measured.Rate)
			}
		}
	}
	e.Rate = cmp.Or(e.Rate, usualRate)
	return e
}

// usualRate is the rate of explanations of models that were never measured, in operations per second.
const usualRate = 50

// Steps implements lab.Explainable: groups of components leave their units, or join in one, one after the
// other; then the other knobs turn.
func (s System) Steps(from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	before, after, err := rehearsal.Catalogue().Between(from, to)
	groups, errFrom := s.groups(from)
	wanted, errTo := s.groups(to)
	if err := errors.Join(err, errFrom, errTo); err != nil {
		return nil, nil, err
	}
	var steps []loaded.Step
	for _, group := range wanted {
		next := moveApart(groups, group)
		if placement := formatGroups(next); placement != formatGroups(groups) {
			how := "-apart"
			if len(next) <= len(groups) { // components of several units have joined
				how = "-together"
			}
			steps = append(steps, loaded.Step{Name: strings.Join(group, "-") + how,
				Sets: []loaded.Setting{{Name: rehearsal.KnobPlacement, Value: placement}}})
		}
		groups = next
	}
	if len(steps) > 0 { // the last step takes the text of to, which may name the same groups in another order
		steps[len(steps)-1].Sets[0].Value = after[rehearsal.KnobPlacement]
	}
	for _, k := range rehearsal.Catalogue().Knobs {
		steps = append(steps, loaded.Turn(k.Name, after[k.Name]))
	}
	from.System = rehearsal.Name
	from.Knobs = before
	return loaded.Walk(from, to, steps, s.Describe().Check)
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

// moveApart returns groups after the components of group have left them and form the last one.
func moveApart(groups [][]string, group []string) [][]string {
	var all [][]string
	for _, g := range groups {
		isMoved := func(component string) bool { return slices.Contains(group, component) }
		left := slices.DeleteFunc(slices.Clone(g), isMoved)
		if len(left) > 0 {
			all = append(all, left)
		}
	}
	return append(all, group)
}

// formatGroups returns groups as a value of the placement knob, sorted, so that equal groups have equal
// texts.
func formatGroups(groups [][]string) string {
	var texts []string
	for _, g := range groups {
		components := slices.Sorted(slices.Values(g))
		texts = append(texts, strings.Join(components, "+"))
	}
	return strings.Join(slices.Sorted(slices.Values(texts)), ",")
}

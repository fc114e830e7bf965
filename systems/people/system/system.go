// Package system is people as a system under test: which units a variant consists of,
// what work it is given, how a trial is audited and measured. It starts nothing and
// sends nothing.
//
// Entry points: System, with a generator and the load of the study.
package system

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
	"github.com/cleave-lab/cleave/systems/people/seal"
)

// Factors of points, in addition to those of loaded.Base.
const (
	Records = "records" // number of records created and fetched: at full speed, or over loaded.Over seconds
	Case    = "case"    // the study's test case: 1 persons, 2 addresses, 3 profiles, 4 all of them
)

// everyKind is the test case of all kinds.
const everyKind = 4

// System is people under the load of a study.
type System struct {
	loaded.Unplayed
	Generator lab.Generator
	Load      lab.Load
	Spans     string // a folder for the spans of all trials; empty: they are not kept
}

var (
	_ lab.Measurer    = System{}
	_ lab.LiveAuditor = System{}
	_ lab.Checkable   = System{}
	_ lab.Explainable = System{}
	_ lab.Modelled    = System{}
	_ lab.Backed      = System{}
	_ lab.Profiled    = System{}
)

// base returns the part of people that all systems under load share.
func (s System) base() loaded.Base {
	return loaded.Base{Generator: s.Generator, Load: s.Load, Counted: Records}
}

// Describe implements lab.System.
func (s System) Describe() lab.SystemInfo {
	return lab.SystemInfo{
		Name: people.Name, Operation: "request",
		Summary: "persons, addresses and profiles: created and fetched, hashed and encrypted before they " +
			"are stored",
		Architectures: architecture.Catalogue().All(),
		Parameters: append(s.base().Parameters(Records), lab.Parameter{
			Name: Case, Summary: "test case: 1 persons, 2 addresses, 3 profiles, 4 all at once (4)", Min: 1,
			Max: everyKind, Optional: true,
		}),
		Metrics: metrics(), Restartable: true,
		Check: func(v lab.Variant) error {
			design, err := architecture.New(v.Architecture, v.Knobs)
			if err != nil {
				return err
			}
			if design.TwoHosts && v.Deployment == lab.DockerBridge {
				return fmt.Errorf("architecture %s: on a bridge each container has a network card of its own, and "+
					"there are no hosts: deploy with %s", v.Architecture, lab.DockerHost)
			}
			return nil
		},
		Changes: architecture.Catalogue().Changes,
	}
}

// descriptors is the limit on open files of a process: connections of clients, units and databases.
const descriptors = 8192

// Layout implements lab.System. Where there are two hosts, the gateway and the database
// are on one and all other units on the other; the generator is on the conductor's.
func (s System) Layout(v lab.Variant, p lab.Point, seed uint64) (lab.Layout, error) {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return lab.Layout{}, err
	}
	front, behind := "", ""
	if design.TwoHosts {
		front, behind = "front", "services"
	}
	database := lab.ServiceSpec{Name: peopleunit.ServiceDatabase, Kind: design.Store, Node: front,
		Holds: &lab.Holdings{Tables: tables(design)}}
	if design.Store == architecture.Cassandra && design.Periodic {
		database.Options = map[string]string{server.CommitLogSync: architecture.Periodic}
	}
	layout := lab.Layout{Lead: lab.RoleGenerator, Descriptors: descriptors,
		Services: []lab.ServiceSpec{database}, Code: code(design)}
	job := peopleunit.Job{Architecture: v.Architecture, Knobs: v.Knobs}
	prepare := kit.Unit("prepare", people.Name, job) // a job without a unit creates the tables
	prepare.Node = front
	layout.Prepare = []lab.UnitSpec{prepare}
	for i, u := range design.Units {
		job.Unit = u.Name
		unit := kit.Unit(u.Name, people.Name, job)
		unit.Listens = true
		unit.Scalable = true
		unit.Node = behind
		unit.Stage = 1
		unit.Files = map[string][]byte{peopleunit.KeyFile: hex.AppendEncode(nil, keyOf(seed))}
		if i == 0 { // it has the gateway, and ends first
			unit.Node = front
			unit.Stage = 0
			for _, other := range design.Units[1:] {
				unit.Peers = append(unit.Peers, other.Name)
				unit.Uses = append(unit.Uses, lab.Use{To: other.Name, How: design.Calls})
			}
		}
		if len(u.Components) > 0 {
			unit.Uses = append(unit.Uses, lab.Use{To: peopleunit.ServiceDatabase})
		}
		layout.Units = append(layout.Units, unit)
	}
	if err := kit.CheckBalancing(design.Balancing, v, layout.Units); err != nil {
		return lab.Layout{}, err
	}
	if err := hosting.Protect(layout.Units, design.Security); err != nil {
		return lab.Layout{}, err
	}
	if design.Sidecar != kit.NoSidecar {
		layout.Units = loaded.Sidecars(layout.Units, design.Calls == architecture.GRPC,
			design.Security != kit.Plain)
	}
	// The address of the front replaces the host of the target.
	work := lab.LoadJob{Target: "http://people", Seed: seed, Variant: v.Name}
	if work.Scenario, err = scenario(p); err != nil {
		return lab.Layout{}, err
	}
	generator, err := s.base().Unit(work, p, design.Front().Name)
	layout.Units = append(layout.Units, generator)
	return layout, err
}

// keyOf returns the key of a trial's records.
func keyOf(seed uint64) []byte {
	return kit.TrialKey("the records of a trial of people", seed)[:seal.KeySize]
}

// object is a JSON object.
type object = map[string]any

// scenario returns the scenario of the clients (cleave-scenario/1): each creates a record of a kind and
// fetches it, and must get the same record. In case 4 every kind is equally likely.
func scenario(p lab.Point) (json.RawMessage, error) {
	kinds := people.Kinds()
	if level, set := p.Level(Case); set && level != everyKind {
		if level < 1 || level > everyKind || level != float64(int(level)) {
			return nil, fmt.Errorf("point %s: there is no test case %g: use 1 to %d", p, level, everyKind)
		}
		kinds = kinds[int(level)-1 : int(level)]
	}
	var flows []object
	for _, kind := range kinds {
		record := object{}
		for _, property := range kind.Properties() {
			record[property] = valueOf(property, "${tag}")
		}
		flows = append(flows, object{"name": kind, "steps": []object{
			{
				"name": createOf(kind), "request": fmt.Sprintf("POST /%s", kind), "json": record,
				"expect": object{"status": "201"}, "extract": object{"id": object{"json": "id"}},
				"note": []string{"tag", "id"},
			},
			{"name": fetchOf(kind), "request": fmt.Sprintf("GET /%s/${id}", kind),
				"expect": object{"status": "200", "json": record}},
		}})
	}
	return json.Marshal(object{
		"schema": "cleave-scenario/1", "name": people.Name, "cookies": false,
		"values": object{"tag": object{"text": object{"length": tagLength}}}, "flows": flows,
	})
}

// tagLength is the number of letters and digits of a tag. It is so long that no two records of a trial have
// the same tag.
const tagLength = 16

// valueOf returns the value of a property in the record with a tag.
func valueOf(property, tag string) string { return property + " " + tag }

// The operations of the scenario.
func createOf(kind people.Kind) string { return "create " + string(kind) }
func fetchOf(kind people.Kind) string  { return "fetch " + string(kind) }

// CheckPoint implements lab.Checkable.
func (s System) CheckPoint(operations int, over float64) lab.Point {
	return s.base().CheckPoint(operations, over)
}

// CheckTable implements lab.Checkable.
func (s System) CheckTable() lab.CheckTable {
	return loaded.CheckTable([]lab.CheckColumn{
		{Title: "created", Count: countCreated}, {Title: "stored", Count: countStored},
		{Title: "lost", Count: countLost}, {Title: "changed", Count: countChanged},
		{Title: "doubled", Count: countDoubled}, {Title: "made up", Count: countMadeUp},
		{Title: "readable", Count: countReadable}, {Title: "requests/s", Metric: lab.Goodput}},
		loaded.OutcomeColumns()...)
}

// OnBackings implements lab.Backed.
func (s System) OnBackings(v lab.Variant, kinds []string) (map[string]string, error) {
	return architecture.Catalogue().OnBackings(v, kinds, architecture.KnobStore)
}

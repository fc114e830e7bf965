// Package system describes social as a system under test: the units of a variant, the load,
// the audit and the metrics of a trial. It starts nothing and sends nothing.
//
// Entry point: System, with a generator and the load of the study.
package system

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/socialunit"
	"github.com/cleave-lab/cleave/systems/social/thirdparty"
)

// Factors of points, in addition to those of loaded.Base.
const (
	Operations = "operations" // the number of operations of a counted load
	Users      = "population" // the number of users
	Links      = "links"      // the number of friendships: pairs of users who follow each other
	// Only selects the operation that is played: 1 read a home timeline, 2 read a user timeline, 3 compose a
	// post, 4 log in; 0 the mix.
	Only   = "only"
	Logins = "logins" // logins per hundred requests of the mix
)

// Levels of Only at which nobody reads.
const (
	onlyPosts  = 3
	onlyLogins = 4
)

// The size of the benchmark's data, used for points that do not set it.
const (
	defaultUsers = 962
	defaultLinks = 18_812
)

// System is social under the load of a study.
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

// base returns the part that social shares with other systems under load.
func (s System) base() loaded.Base {
	return loaded.Base{Generator: s.Generator, Load: s.Load, Counted: Operations}
}

// Describe implements lab.System.
func (s System) Describe() lab.SystemInfo {
	return lab.SystemInfo{
		Name: social.Name, Operation: "request",
		Summary: "a network of posts and timelines in the shape of DeathStarBench's: home timelines are " +
			"read, user timelines are read, posts are composed",
		Architectures: architecture.Catalogue().All(),
		Parameters: append(s.base().Parameters(Operations),
			lab.Parameter{Name: Users, Summary: fmt.Sprintf("users of the network (%d)", defaultUsers), Min: 20,
				Max: 100_000, Optional: true},
			lab.Parameter{Name: Links,
				Summary: fmt.Sprintf("links between them, each followed in both directions (%d)", defaultLinks), Min: 0,
				Max: 2e6, Optional: true},
			lab.Parameter{Name: Only, Summary: "0 the benchmark's mix, 1 only home timelines, 2 only user " +
				"timelines, 3 only posts, 4 only logins (0)", Max: 4, Optional: true},
			lab.Parameter{Name: Logins, Summary: "logins for a hundred requests of the mix; the load begins with " +
				"a token of each user (0)", Max: 100, Optional: true}),
		Metrics: metrics(), Restartable: true,
		Check: func(v lab.Variant) error {
			_, err := architecture.New(v.Architecture, v.Knobs)
			return err
		},
		Changes: architecture.Catalogue().Changes,
	}
}

const (
	// settleTimeout is the time, in seconds, in which announced posts must reach their timelines after the last
	// answer.
	settleTimeout = 300
	// descriptors is the limit of open files of each process.
	descriptors = 8192
	// answerTimeout is the time that nginx waits for an answer, in seconds.
	answerTimeout = 15
	unitNginx     = "nginx"
	// lastStage is the stage in which a unit stops that is not part of the system: after all of stage.
	lastStage = 3
)

// sizeOf returns the size of the population at a point. If the point does not set the links, each user has as
// many as in the benchmark's data, or fewer if there are too few users for that.
func sizeOf(p lab.Point) (users, links int) {
	users = defaultUsers
	if level, set := p.Level(Users); set {
		users = int(level)
	}
	links = min(defaultLinks*users/defaultUsers, population.MostLinks(users))
	if level, set := p.Level(Links); set {
		links = int(level)
	}
	return users, links
}

// Layout implements lab.System.
func (s System) Layout(v lab.Variant, p lab.Point, seed uint64) (lab.Layout, error) {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return lab.Layout{}, err
	}
	layout := lab.Layout{Lead: lab.RoleGenerator, Descriptors: descriptors,
		Services: services(design), Code: code(design)}
	job := socialunit.Job{Architecture: v.Architecture, Knobs: v.Knobs}
	filling := job
	filling.Users, filling.Links = sizeOf(p)
	if most := population.MostLinks(filling.Users); filling.Links > most {
		return lab.Layout{}, fmt.Errorf("point %s has %d %s: %d users can have up to %d", p, filling.Links, Links,
			filling.Users, most)
	}
	layout.Prepare = []lab.UnitSpec{kit.Unit("prepare", social.Name, filling)}
	for i, u := range design.Units {
		job.Unit = u.Name
		unit := kit.Unit(u.Name, social.Name, job)
		unit.Listens = true
		unit.Stage = stage(design, i)
		unit.Peers = design.Peers(u)
		unit.Scalable = design.Replicable(u)
		unit.Uses = uses(design, u, unit.Peers)
		if design.HasKey(u) {
			unit.Files = map[string][]byte{socialunit.KeyFile: key(seed)}
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
	if design.ThirdParty {
		layout.Units = withThirdParty(layout.Units, design, job)
	}
	front := design.Front().Name
	if design.Nginx {
		everything := loaded.Route{Path: "/", To: []string{front}}
		layout.Units = append(layout.Units, loaded.Nginx(unitNginx, answerTimeout, everything))
		front = unitNginx
	}
	work := lab.LoadJob{Target: "http://social", Seed: seed, Variant: v.Name}
	if work.Scenario, work.Files, err = scenario(p, seed); err != nil {
		return lab.Layout{}, err
	}
	if design.Broker != "" {
		work.Settle = lab.ReadyCheck{Path: socialunit.SettledPath, Timeout: settleTimeout}
	}
	generator, err := s.base().Unit(work, p, front)
	layout.Units = append(layout.Units, generator)
	return layout, err
}

// withThirdParty adds the third party. The unit with the component media calls it without a sidecar and
// without TLS: a service of another company has neither of ours.
func withThirdParty(units []lab.UnitSpec, design architecture.Design, job socialunit.Job) []lab.UnitSpec {
	for i, u := range design.Units {
		if design.AsksThirdParty(u) { // design and layout have the units in the same order
			units[i].Peers = append(slices.Clone(units[i].Peers), thirdparty.Name)
			units[i].Uses = append(slices.Clone(units[i].Uses), lab.Use{To: thirdparty.Name, How: architecture.HTTP})
		}
	}
	job.Unit = thirdparty.Name
	third := kit.Unit(thirdparty.Name, social.Name, job)
	third.Listens = true
	third.Stage = lastStage
	third.Uses = []lab.Use{}
	return append(units, third)
}

// uses returns the units and services that a unit calls, for the picture of the architecture.
func uses(design architecture.Design, u kit.Placed, peers []string) []lab.Use {
	used := []lab.Use{}
	for _, peer := range peers {
		used = append(used, lab.Use{To: peer, How: design.Calls})
	}
	if slices.ContainsFunc(u.Components, design.Keeps) {
		used = append(used, lab.Use{To: socialunit.ServiceDocuments})
	}
	if design.Cache && slices.Contains(u.Components, parts.PostsName) {
		used = append(used, lab.Use{To: socialunit.ServiceCache})
	}
	if design.NeedsBroker(u) {
		used = append(used, lab.Use{To: socialunit.ServiceBroker, How: "events"})
	}
	return used
}

// stage returns the stage in which a unit of a design stops, given its position: the front stops first. With
// a broker, the unit that fills home timelines stops before the units that it calls. It might also call
// components in the front, which has stopped; but once a load has settled, no post waits to be filled in.
func stage(design architecture.Design, unit int) int {
	switch {
	case unit == 0:
		return 0
	case design.Broker == "" || slices.Contains(design.Units[unit].Components, parts.HomeTimelinesName):
		return 1
	}
	return 2
}

// Profiling implements lab.Profiled.
func (s System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"github.com/cleave-lab/cleave/systems/social"}}
}

// CheckPoint implements lab.Checkable.
func (s System) CheckPoint(operations int, over float64) lab.Point {
	return s.base().CheckPoint(operations, over)
}

// CheckTable implements lab.Checkable.
func (s System) CheckTable() lab.CheckTable {
	return loaded.CheckTable([]lab.CheckColumn{
		{Title: "posted", Count: countPosted}, {Title: "delivered", Count: countDelivered},
		{Title: "lost", Count: countLost}, {Title: "misplaced", Count: countMisplaced},
		{Title: "made up", Count: countMadeUp}, {Title: "wrong reads", Count: countWrong},
		{Title: "incomplete reads", Count: countShort}, {Title: "requests/s", Metric: lab.Goodput}},
		loaded.OutcomeColumns()...)
}

// OnBackings implements lab.Backed.
func (s System) OnBackings(v lab.Variant, kinds []string) (map[string]string, error) {
	return architecture.Backed(v, kinds)
}

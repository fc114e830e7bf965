//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/predict"
)

// subject is a system with the placement that its model is made of, and the placements that are predicted.
type subject struct {
	system, architecture string
	// knobs are those of all its placements. Each component has a database of its own in all of them, so that
	// nothing but the placement changes: in people by a knob, in the others without one.
	knobs   map[string]string
	from    string  // the placement of the model
	calls   string  // what carries calls between its units
	rate    float64 // low for the system, in operations per second
	perFlow float64 // operations of a flow: the rates of its loads count flows
	targets []target
	within  time.Duration // the time limit for all its trials; three times as long with -long
}

// target is a placement, as the knob of that name has it.
type target struct {
	placement string
	merge     string // the units of the model that become one; empty: the groups of the placement are split off
}

// splits returns targets whose groups are split off.
func splits(placements ...string) (all []target) {
	for _, p := range placements {
		all = append(all, target{placement: p})
	}
	return all
}

// change returns the change that leads from the model to the target.
func (t target) change() predict.Change {
	if t.merge != "" {
		return predict.Change{Merge: strings.Split(t.merge, ","), Stores: predict.StorePerComponent}
	}
	return predict.Change{Split: predict.ParseGroups(t.placement), Stores: predict.StorePerComponent}
}

// flags returns the change as options of cleave rehearse.
func (t target) flags() []string {
	if t.merge != "" {
		return []string{"--merge", t.merge}
	}
	return []string{"--split", t.placement}
}

// String returns what the target changes, for tables and messages.
func (t target) String() string {
	if t.merge != "" {
		return t.merge + " together"
	}
	return t.placement
}

// subjects returns the systems in the order in which they are played.
func subjects() []subject {
	owned := map[string]string{"database": "own"}
	const contents = "compose+texts+media+unique-ids+short-urls"
	const others = "users,social-graph,posts,user-timelines,home-timelines"
	people := subject{system: "people", architecture: "monolith", knobs: owned, from: "together", calls: "http",
		rate: 40, perFlow: 2, within: 20 * time.Minute,
		targets: splits("persons,addresses,profiles", "persons", "persons,addresses", "addresses+profiles")}
	social := subject{system: "social", architecture: "monolith", from: "together", calls: "grpc", rate: 40,
		perFlow: 1, within: 20 * time.Minute,
		targets: splits(strings.ReplaceAll(contents, "+", ",")+","+others, contents,
			"posts+user-timelines+home-timelines")}
	peopleApart, socialApart := people, social
	peopleApart.from = "apart"
	peopleApart.targets = []target{
		{placement: "gateway+persons,addresses,profiles", merge: "gateway,persons"},
		{placement: "addresses+profiles,gateway,persons", merge: "addresses,profiles"},
		{placement: "together", merge: "gateway,persons,addresses,profiles"}}
	socialApart.from = "apart"
	socialApart.targets = []target{
		{placement: contents + "," + others, merge: strings.ReplaceAll(contents, "+", ",")},
		{placement: "posts+user-timelines+home-timelines,front,users,social-graph,compose,texts,media,unique-ids," +
			"short-urls", merge: "posts,user-timelines,home-timelines"}}
	return []subject{
		{system: "shop", architecture: "sync", from: "together", calls: "http", rate: 20, perFlow: 1,
			within: 40 * time.Minute,
			targets: splits("inventory", "payments", "catalog,customers", "inventory,payments",
				"catalog,customers,inventory,payments,shipping", "catalog", "customers",
				"shipping", "catalog+customers", "inventory+payments", "payments,shipping",
				"inventory+shipping,payments")},
		people, peopleApart, social, socialApart,
	}
}

// name returns the name of the subject, for files and tables.
func (s subject) name() string { return s.system + "-" + s.from }

// design returns the architecture of a placement as flags have it.
func (s subject) design(placement string) string {
	text := s.architecture + " placement=" + placement
	for _, knob := range slices.Sorted(maps.Keys(s.knobs)) {
		text += " " + knob + "=" + s.knobs[knob]
	}
	return text
}

// variant returns a placement as study files have it.
func (s subject) variant(placement string) string {
	text := fmt.Sprintf("{architecture: %s, knobs: {placement: %q", s.architecture, placement)
	for _, knob := range slices.Sorted(maps.Keys(s.knobs)) {
		text += fmt.Sprintf(", %s: %q", knob, s.knobs[knob])
	}
	return text + "}}"
}

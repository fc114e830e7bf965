// Package architecture defines how people can be built: which kinds of records share a unit
// with the gateway or with each other, what carries the calls between units, on how many
// hosts they are, and how and where records are kept. An architecture is data: a name for
// a set of knobs, each of which can also be turned alone. It starts nothing.
//
// Entry points: Catalogue, New.
package architecture

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/seal"
)

// The architectures, after section 4.1.2 of the study. Each of the study's A1 to A4 is one of them in a
// deployment.
const (
	Monolith         = "monolith"
	Services         = "services"
	ServicesTwoHosts = "services-two-hosts"
)

// The knobs.
const (
	KnobPlacement = "placement"
	KnobHosts     = "hosts"
	KnobCalls     = "calls"
	KnobFront     = "front"
	KnobStore     = "store"
	KnobCommitLog = "commit_log"
	KnobDatabase  = "database"
	KnobCipher    = "cipher"
	KnobPool      = "pool"
	KnobInFlight  = "in_flight"
)

// Values of knobs.
const (
	oneHost   = "one"
	twoHosts  = "two"
	HTTP      = "http"
	GRPC      = "grpc"
	stock     = "stock"
	Lean      = "lean"
	SQLite    = "sqlite"
	Cassandra = "cassandra"
	batch     = "batch"
	Periodic  = "periodic"
	shared    = "shared"
	own       = "own"
)

// The names of units.
const (
	UnitGateway = "gateway"
	UnitAll     = people.Name
)

// Design is one way to build people.
type Design struct {
	kit.Units // the first has the gateway; their components are kinds of records
	kit.Settings

	TwoHosts bool   // the gateway and the database on one host, all other units on another
	Calls    string // HTTP or GRPC; of no consequence in one unit
	Lean     bool   // the gateway serves clients with package leanhttp, not net/http
	Store    string // kind of the database
	Periodic bool   // Cassandra acknowledges before it has written
	Own      bool   // every kind of records has a database of its own
	Cipher   string
	Pool     int // connections to the database, and of the gateway to each other unit
	InFlight int // requests that are open at once, in the gateway and at a database
}

// knobs returns the knobs, each with its default first.
func knobs() []lab.Knob {
	return slices.Concat([]lab.Knob{
		{Name: KnobPlacement, Values: []string{kit.Apart, kit.Together}, Free: true,
			Summary: "apart, together, or groups such as gateway+persons,addresses+profiles (the rest: one unit)",
			Means:   map[string]string{kit.Together: "one process", kit.Apart: "a process per service"}},
		{Name: KnobHosts, Values: []string{oneHost, twoHosts},
			Summary: "one host, or one for gateway and database and another for the services (in docker-host)",
			Means:   map[string]string{oneHost: "one host", twoHosts: "two hosts"}},
		{Name: KnobCalls, Values: []string{HTTP, GRPC},
			Summary: "what carries calls between gateway and services: net/http with JSON, or grpc-go",
			Means:   map[string]string{HTTP: "calls over HTTP", GRPC: "calls over gRPC"}},
	}, kit.CallKnobs(), []lab.Knob{
		kit.Logging(), kit.Spans(kit.SpansOff, "requests"),
		{Name: KnobFront, Values: []string{stock, Lean},
			Summary: "what serves clients: net/http, or our own binding, which does less for each request",
			Means:   map[string]string{stock: "net/http", Lean: "our lean HTTP"}},
		{Name: KnobStore, Values: []string{SQLite, Cassandra}, Summary: "what keeps the records"},
		{Name: KnobCommitLog, Values: []string{batch, Periodic},
			Summary: "when Cassandra acknowledges a record: once it is on the disk, or before (Cassandra's own " +
				"default, which the study used)"},
		{Name: KnobDatabase, Values: []string{shared, own},
			Summary: "one database for all, or one (a keyspace, a file) for each kind of records",
			Means:   map[string]string{shared: "one database", own: "a database per service"}},
		{Name: KnobCipher, Values: []string{seal.GCM, seal.ECB},
			Summary: "mode of AES-128: gcm, or ecb, which the JVM takes where a program names none"},
		{Name: KnobPool, Values: []string{"8"}, Free: true,
			Summary: "connections to the database, and of the gateway to each service over HTTP, 1 to 1000"},
		{Name: KnobInFlight, Values: []string{"1024"}, Free: true,
			Summary: "requests that may be open at once: the gateway refuses more, a database client lets them " +
				"wait; 1 to 100000"},
	})
}

// Catalogue returns the architectures of people.
func Catalogue() kit.Catalogue {
	return kit.Catalogue{System: people.Name, Knobs: knobs(), Presets: []kit.Preset{
		{Name: Monolith, Summary: "gateway, persons, addresses and profiles in one unit",
			Settings: map[string]string{KnobPlacement: kit.Together}},
		{Name: Services, Summary: "a unit each for gateway, persons, addresses and profiles"},
		{Name: ServicesTwoHosts,
			Summary:  "the same, gateway and database on one host and the services on another",
			Settings: map[string]string{KnobHosts: twoHosts}},
	}}
}

// New returns the design of an architecture with some knobs turned.
func New(name string, turned map[string]string) (Design, error) {
	settings, err := Catalogue().Settings(name, turned)
	if err != nil {
		return Design{}, err
	}
	d := Design{
		TwoHosts: settings[KnobHosts] == twoHosts, Calls: settings[KnobCalls],
		Lean: settings[KnobFront] == Lean, Store: settings[KnobStore],
		Periodic: settings[KnobCommitLog] == Periodic, Own: settings[KnobDatabase] == own,
		Cipher: settings[KnobCipher],
	}
	var mistakes [6]error
	var kinds []string
	for _, kind := range people.Kinds() {
		kinds = append(kinds, string(kind))
	}
	d.Units, mistakes[0] = kit.PlaceBehind(settings[KnobPlacement], UnitGateway, UnitAll, kinds)
	d.Pool, mistakes[1] = kit.Number(settings, KnobPool, 1000)
	d.InFlight, mistakes[2] = kit.Number(settings, KnobInFlight, 100_000)
	mistakes[3] = kit.CheckCalls(settings, len(d.Units))
	d.Settings, mistakes[4] = kit.ReadSettings(settings)
	if d.TwoHosts && len(d.Units) == 1 {
		mistakes[5] = fmt.Errorf("%s is %s: one unit has no service for another host; turn %s too", KnobHosts,
			twoHosts, KnobPlacement)
	}
	if err := errors.Join(mistakes[:]...); err != nil {
		return Design{}, fmt.Errorf("architecture %s: %w", name, err)
	}
	return d, nil
}

// DatabaseOf returns the name of the database with the records of a kind.
func (d Design) DatabaseOf(kind people.Kind) string {
	if d.Own {
		return string(kind)
	}
	return people.Name
}

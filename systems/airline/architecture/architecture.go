// Package architecture holds the designs of the airline: its runtime, whether it is one unit or services, and
// features that were not usual at the time of the study. An architecture is data: a name for units, and knobs
// that can be turned alone. It starts nothing.
//
// Entry points: Catalogue, New.
package architecture

import (
	"fmt"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline/airlineunit"
	"github.com/cleave-lab/cleave/systems/kit"
)

// The architectures, after the study.
const (
	Monolith = "monolith"
	Services = "services"
)

// The knobs.
const (
	KnobRuntime  = "runtime"
	KnobStore    = "store"
	KnobSessions = "sessions"
	KnobPool     = "pool"
	KnobCalls    = "calls"
	KnobWorkers  = "workers"
)

// Values of knobs.
const (
	Go       = "go"
	Java     = "java"
	Node     = "node"
	Embedded = "embedded"
	Mongo    = "mongo"
	Ask      = "ask"
	Token    = "token"
	HTTP     = "http"
	GRPC     = "grpc"
	off      = "off"
	on       = "on"
	perCore  = "cores"
)

// maxWorkers bounds the processes of one unit.
const maxWorkers = 64

// Design is one way to build the airline.
type Design struct {
	kit.Settings // encoding and balancing are empty: the airline does not have these knobs
	Runtime      string
	Units        []string
	Store        string
	Token        bool   // units check a signed token themselves, and ask nobody
	Pool         bool   // units keep their connections to each other
	Calls        string // HTTP or GRPC, between units
	Workers      int    // processes of a unit of Node.js; 0: as many as it has cores
}

// knobs returns the knobs, each with its default first.
func knobs() []lab.Knob {
	all := []lab.Knob{
		{Name: KnobRuntime, Values: []string{Go, Java, Node},
			Summary: "in which of three implementations of the same interface"},
		{Name: KnobStore, Values: []string{Embedded, Mongo},
			Summary: "what keeps the data: a store in each unit, or a server of MongoDB's protocol"},
		{Name: KnobSessions, Values: []string{Ask, Token},
			Summary: "who checks a session: every unit asks auth for every request, as in the study, or checks a " +
				"signed token itself",
			Means: map[string]string{Ask: "asking auth every time", Token: "signed tokens"}},
	}
	all = append(all, ofCalls()...)
	all = append(all, kit.Sidecar())
	all = append(all, ofGo()...)
	return append(all, lab.Knob{Name: KnobWorkers, Values: []string{perCore, "1"}, Free: true,
		Summary: "processes of each unit of Node.js: one for each of the trial's cores, or a number from 1 to 64"})
}

// ofCalls returns the knobs for calls between units that other systems do not have.
func ofCalls() []lab.Knob {
	return []lab.Knob{
		{Name: KnobPool, Values: []string{off, on},
			Summary: "whether units keep their connections to each other; off, as in 2016: a new one for every call",
			Means:   map[string]string{off: "a connection for every call", on: "kept connections"}},
		{Name: KnobCalls, Values: []string{HTTP, GRPC},
			Summary: "how units call each other: HTTP with JSON, or gRPC, which keeps its connections (pool=on)",
			Means:   map[string]string{HTTP: "calls over HTTP", GRPC: "calls over gRPC"}},
	}
}

// ofGo returns the knobs that only the airline in Go has; the others have the defaults of these.
func ofGo() []lab.Knob {
	return []lab.Knob{kit.Security(), kit.Resilience(), kit.Logging(), kit.Spans(kit.SpansOff, "requests")}
}

// Catalogue returns the architectures of the airline.
func Catalogue() kit.Catalogue {
	return kit.Catalogue{System: "the airline", Knobs: knobs(), Presets: []kit.Preset{
		{Name: Monolith, Summary: "auth, customers, flights and bookings in one unit behind HAProxy"},
		{Name: Services, Summary: "a unit each for auth, customers, flights and bookings behind HAProxy; every " +
			"one asks auth"},
	}}
}

// New returns the design of an architecture with some knobs turned.
func New(name string, turned map[string]string) (Design, error) {
	settings, err := Catalogue().Settings(name, turned)
	if err != nil {
		return Design{}, err
	}
	d := Design{
		Runtime: settings[KnobRuntime], Units: []string{airlineunit.UnitMonolith}, Store: settings[KnobStore],
		Token: settings[KnobSessions] == Token, Pool: settings[KnobPool] == on, Calls: settings[KnobCalls],
	}
	if name == Services {
		d.Units = []string{airlineunit.UnitAuth, airlineunit.UnitCustomers, airlineunit.UnitFlights,
			airlineunit.UnitBookings}
	}
	for _, k := range ofGo() {
		if own := k.Values[0]; settings[k.Name] != own && d.Runtime != Go {
			return Design{}, fmt.Errorf("architecture %s: %s is %s, which the airline in %s does not have: turn "+
				"%s=%s, or %s=%s", name, k.Name, settings[k.Name], d.Runtime, KnobRuntime, Go, k.Name, own)
		}
	}
	if err := kit.CheckCalls(settings, len(d.Units), ofCalls()...); err != nil {
		return Design{}, fmt.Errorf("architecture %s: %w", name, err)
	}
	if d.Calls == GRPC && !d.Pool {
		return Design{}, fmt.Errorf("architecture %s: %s=%s keeps its connections: turn %s=%s, too", name,
			KnobCalls, GRPC, KnobPool, on)
	}
	if d.Settings, err = kit.ReadSettings(settings); err != nil {
		return Design{}, fmt.Errorf("architecture %s: %w", name, err)
	}
	if d.Workers, err = parseWorkers(settings[KnobWorkers], d.Runtime); err != nil {
		return Design{}, fmt.Errorf("architecture %s: %w", name, err)
	}
	return d, nil
}

// parseWorkers returns the value of KnobWorkers as a number: 0 for one process per core. Only units
// of Node.js have a number.
func parseWorkers(text, runtime string) (int, error) {
	if text == perCore {
		return 0, nil
	}
	workers, err := strconv.Atoi(text)
	if err != nil || workers < 1 || workers > maxWorkers {
		return 0, fmt.Errorf("%s is %q: use %s, or 1 to %d", KnobWorkers, text, perCore, maxWorkers)
	}
	if runtime != Node {
		return 0, fmt.Errorf("%s is %d, which only the airline in %s has: turn %s=%s, or leave it at %s",
			KnobWorkers, workers, Node, KnobRuntime, Node, perCore)
	}
	return workers, nil
}

// Booking returns the unit that keeps bookings.
func (d Design) Booking() string { return d.Units[len(d.Units)-1] }

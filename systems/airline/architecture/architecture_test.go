package architecture

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/systems/kit"
)

func TestArchitecturesAreUnits(t *testing.T) {
	for name, want := range map[string]string{Monolith: "monolith",
		Services: "auth customers flights bookings"} {
		d, err := New(name, nil)
		if err != nil || strings.Join(d.Units, " ") != want {
			t.Errorf("%s: %v, %v, want %s", name, d.Units, err, want)
		}
		if d.Runtime != Go || d.Store != Embedded || d.Token || d.Pool || d.Calls != HTTP || d.Workers != 0 {
			t.Errorf("%s without knobs is %+v", name, d)
		}
	}
	d, err := New(Services, map[string]string{KnobRuntime: Node, KnobSessions: Token, KnobPool: "on",
		KnobWorkers: "3", KnobStore: Mongo, KnobCalls: GRPC})
	if err != nil || d.Runtime != Node || !d.Token || !d.Pool || d.Calls != GRPC || d.Workers != 3 ||
		d.Store != Mongo {
		t.Errorf("%+v, %v", d, err)
	}
	if booking := d.Booking(); booking != "bookings" {
		t.Errorf("%s keeps the bookings", booking)
	}
}

func TestErrorsOfNew(t *testing.T) {
	for want, turned := range map[string]map[string]string{
		`runtime is "cobol": use one of go, java, node`:    {KnobRuntime: "cobol"},
		`there is no knob "wings"`:                         {"wings": "two"},
		`workers is "0": use cores, or 1 to 64`:            {KnobWorkers: "0"},
		`workers is "many": use cores, or 1 to 64`:         {KnobWorkers: "many"},
		`workers is 4, which only the airline in node has`: {KnobWorkers: "4"},
		`turn runtime=node, or leave it at cores`:          {KnobWorkers: "1", KnobRuntime: Java},
		`sessions is "": use one of ask, token`:            {KnobSessions: ""},
		`store is "paper": use one of embedded, mongo`:     {KnobStore: "paper"},
		`pool on has no effect`:                            {KnobPool: "on"},
		`calls grpc has no effect`:                         {KnobCalls: GRPC},
		`security is tls, which the airline in java`:       {kit.KnobSecurity: kit.TLS, KnobRuntime: Java},
		`resilience is breaker, which the airline in java`: {kit.KnobResilience: kit.Breaker, KnobRuntime: Java},
		`resilience breaker has no effect`:                 {kit.KnobResilience: kit.Breaker},
		`logging is requests, which the airline in node`:   {kit.KnobLogging: kit.LogRequests, KnobRuntime: Node},
		`spans is all, which the airline in java`:          {kit.KnobSpans: kit.SpansAll, KnobRuntime: Java},
		`spans is "2": use off, on, all, or a share`:       {kit.KnobSpans: "2"},
		`security tls has no effect`:                       {kit.KnobSecurity: kit.TLS},
	} {
		if _, err := New(Monolith, turned); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want it to say %s", turned, err, want)
		}
	}
	if _, err := New(Services, map[string]string{KnobCalls: GRPC}); err == nil ||
		!strings.Contains(err.Error(), "calls=grpc keeps its connections: turn pool=on, too") {
		t.Errorf("calls over gRPC without kept connections: %v", err)
	}
	if _, err := New("castle", nil); err == nil {
		t.Error("there is a castle")
	}
}

func TestAllArchitecturesHaveTheSameKnobs(t *testing.T) {
	var names [2][]string
	for i, a := range Catalogue().All() {
		for _, k := range a.Knobs {
			names[i] = append(names[i], k.Name+"="+k.Values[0])
		}
	}
	if len(names[0]) != 11 || !slices.Equal(names[0], names[1]) {
		t.Errorf("knobs %v", names)
	}
}

package architecture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/people"
)

func TestPlacements(t *testing.T) {
	for text, want := range map[string]string{
		"together": "people: persons addresses profiles",
		"apart": "gateway: , persons: persons, addresses: addresses, profiles: " +
			"profiles",
		"gateway+persons,addresses+profiles": "gateway: persons, addresses-profiles: addresses profiles",
		"addresses":                          "gateway: persons profiles, addresses: addresses",
		"persons,profiles":                   "gateway: addresses, persons: persons, profiles: profiles",
		"addresses+profiles,persons+gateway": "gateway: persons, addresses-profiles: addresses profiles",
		"profiles+persons+addresses,gateway": "gateway: , profiles-persons-addresses: profiles persons addresses",
		"gateway+profiles+persons+addresses": "people: profiles persons addresses",
	} {
		d, err := New(Services, map[string]string{KnobPlacement: text})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var units []string
		for _, u := range d.Units {
			units = append(units, u.Name+": "+strings.Trim(fmt.Sprint(u.Components), "[]"))
		}
		if got := strings.Join(units, ", "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		for _, kind := range people.Kinds() {
			if len(d.Hosting(string(kind)).Components) == 0 {
				t.Errorf("%s: nobody keeps %s", text, kind)
			}
		}
	}
}

func TestWhatCannotBeBuiltSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name  string
		knobs map[string]string
		want  string
	}{
		{"castle", nil, `no architecture "castle"`},
		{Monolith, map[string]string{"colour": "red"}, `no knob "colour"`},
		{Monolith, map[string]string{KnobCipher: "rot13"}, `cipher is "rot13": use one of gcm, ecb`},
		{Monolith, map[string]string{KnobPool: "0"}, `pool is "0"`},
		{Monolith, map[string]string{KnobInFlight: "many"}, `in_flight is "many"`},
		{Monolith, map[string]string{KnobHosts: "two"}, "no service for another host"},
		{Monolith, map[string]string{kit.KnobSecurity: kit.TLS}, "security tls has no effect"},
		{Services, map[string]string{KnobPlacement: "persons,persons"}, `puts persons into two units`},
		{Services, map[string]string{KnobPlacement: "cellar"}, `names "cellar"`},
	} {
		if _, err := New(c.name, c.knobs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.name, c.knobs, err, c.want)
		}
	}
}

func TestAnArchitecturesOwnValuesAreFirst(t *testing.T) {
	for _, a := range Catalogue().All() {
		d, err := New(a.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range a.Knobs {
			settings, err := Catalogue().Settings(a.Name, nil)
			if err != nil || k.Values[0] != settings[k.Name] {
				t.Errorf("%s: %s is listed as %s and set to %s", a.Name, k.Name, k.Values[0], settings[k.Name])
			}
		}
		if d.Pool != 8 || d.InFlight != 1024 || d.TwoHosts != (a.Name == ServicesTwoHosts) ||
			(len(d.Units) == 1) != (a.Name == Monolith) {
			t.Errorf("%s: %+v", a.Name, d)
		}
	}
	d, err := New(Services, map[string]string{KnobDatabase: own})
	if err != nil || d.DatabaseOf(people.Persons) != "persons" {
		t.Errorf("%+v, %v", d, err)
	}
}

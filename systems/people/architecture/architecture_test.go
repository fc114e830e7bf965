package architecture

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/people"
)

func TestErrorsOfNew(t *testing.T) {
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
		{Services, map[string]string{KnobPlacement: "persons,persons"}, `names persons twice`},
		{Services, map[string]string{KnobPlacement: "cellar"}, `names "cellar"`},
	} {
		if _, err := New(c.name, c.knobs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.name, c.knobs, err, c.want)
		}
	}
}

func TestDesigns(t *testing.T) {
	for name, units := range map[string]string{
		Monolith: "people", Services: "gateway persons addresses profiles",
		ServicesTwoHosts: "gateway persons addresses profiles"} {
		d, err := New(name, nil)
		if got := strings.Join(d.Names(), " "); err != nil || got != units || d.Pool != 8 || d.InFlight != 1024 ||
			d.TwoHosts != (name == ServicesTwoHosts) {
			t.Errorf("%s: %+v, %v, want the units %s", name, d, err, units)
		}
	}
	d, err := New(Services, map[string]string{KnobDatabase: own})
	if err != nil || d.DatabaseOf(people.Persons) != "persons" {
		t.Errorf("%+v, %v", d, err)
	}
}

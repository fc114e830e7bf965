package lab

import (
	"slices"
	"strings"
	"testing"
)

// street returns a layout of a shop: a proxy, a front with the peers bread and milk, a till that cannot be
// replicated, and a generator.
func street() Layout {
	return Layout{
		Lead: "generator", Services: []ServiceSpec{{Name: "database"}},
		Units: []UnitSpec{
			{
				Name: "proxy",
				Runnable: Runnable{
					Foreign: true,
					Files:   map[string][]byte{"conf": []byte("a {\n  server {address:front};\n}\n")},
				},
				Networking: Networking{Peers: []string{"front"}},
			},
			{
				Name: "front", Role: "front",
				Runnable:   Runnable{Env: []string{"MILK={address:milk}"}},
				Networking: Networking{Peers: []string{"bread", "milk"}},
				Placement:  Placement{Scalable: true},
			},
			{
				Name: "bread", Role: "bread",
				Networking: Networking{Reached: ReachDirect},
				Placement:  Placement{Scalable: true},
			},
			{Name: "milk", Role: "milk", Placement: Placement{Scalable: true}},
			{Name: "till", Role: "till"},
			{Name: "generator", Role: RoleGenerator, Networking: Networking{Peers: []string{"proxy"}}},
		},
	}
}

func unitNamed(t *testing.T, l Layout, name string) UnitSpec {
	t.Helper()
	i := slices.IndexFunc(l.Units, func(u UnitSpec) bool { return u.Name == name })
	if i < 0 {
		t.Fatalf("there is no unit %s", name)
	}
	return l.Units[i]
}

func TestReplicasAreUnitsThatTheirPeersKnow(t *testing.T) {
	before := street()
	l, err := Variant{Replicas: map[string]int{"front": 2, "milk": 3, "till": 1}}.Scale(before)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range l.Units {
		names = append(names, u.Name)
	}
	if got, want := strings.Join(names, " "),
		"proxy front front-2 bread milk milk-2 milk-3 till generator"; got != want {
		t.Errorf("units %s, want %s", got, want)
	}
	if last := unitNamed(t, l, "milk-3"); last.Group != "milk" || last.Role != "milk" {
		t.Errorf("milk-3 is of group %q and role %q", last.Group, last.Role)
	}
	for _, name := range []string{"front", "front-2"} {
		front := unitNamed(t, l, name)
		if got, want := strings.Join(front.Peers, " "), "bread milk milk-2 milk-3"; got != want {
			t.Errorf("%s has the peers %s, want %s", name, got, want)
		}
		all := "{address:milk},{address:milk-2},{address:milk-3}"
		if got, want := strings.Join(front.Env, " "), "MILK="+all+" CLEAVE_ADDRESS_MILK="+all; got != want {
			t.Errorf("%s has the environment %s, want %s", name, got, want)
		}
	}
	want := "a {\n  server {address:front};\n  server {address:front-2};\n}\n"
	if got := string(unitNamed(t, l, "proxy").Files["conf"]); got != want {
		t.Errorf("the proxy's file is %q, want %q", got, want)
	}
	if got := string(before.Units[0].Files["conf"]); strings.Contains(got, "front-2") ||
		len(before.Units[1].Peers) != 2 {
		t.Error("the layout that was scaled has changed")
	}
}

func TestLimitsOfOneCountBeforeThoseOfAll(t *testing.T) {
	l, err := Variant{
		Replicas: map[string]int{"milk": 2},
		Limits: map[string]Limits{AllUnits: {CPU: 0.2}, "milk": {CPU: 0.5, Memory: 64 << 20},
			"database": {CPU: 1}},
	}.Scale(street())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Limits{"front": {CPU: 0.2}, "proxy": {CPU: 0.2},
		"milk": {CPU: 0.5, Memory: 64 << 20}, "milk-2": {CPU: 0.5, Memory: 64 << 20}, "generator": {}} {
		if got := unitNamed(t, l, name).Limits; got != want {
			t.Errorf("%s is limited to %v, want %v", name, got, want)
		}
	}
	if got := l.Services[0].Limits.CPU; got != 1 {
		t.Errorf("the database is limited to %g processors, want 1", got)
	}
}

func TestTheGeneratorGetsTheNetworkBeforeTheSystem(t *testing.T) {
	v := Variant{Network: Network{Delay: 0.002, Rate: 12.5e6}}
	before := street()
	l, err := v.Scale(before)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`CLEAVE_NETWORK={"delay_seconds":0.002,"rate_bytes_per_second":12500000}`}
	for _, u := range l.Units {
		if hasNetwork := slices.Equal(u.Env, want); hasNetwork != (u.Role == RoleGenerator) {
			t.Errorf("%s has the environment %q", u.Name, u.Env)
		}
	}
	if got, want := v.Scaling(), "network before it: 2ms later, at most 12.5 MB/s"; got != want {
		t.Errorf("the scaling is %q, want %q", got, want)
	}
	if got, want := (Network{Rate: 1.25e9}).String(), "at most 1250 MB/s"; got != want {
		t.Errorf("a fast network is %q, want %q", got, want)
	}
	if got, want := (Limits{CPU: 0.5, Memory: 512 << 10}).String(), "0.5 processors, 0.5 MiB"; got != want {
		t.Errorf("small limits are %q, want %q", got, want)
	}
	if unitNamed(t, before, "generator").Env != nil {
		t.Error("the layout has changed")
	}
}

func TestScalingIsRefusedByName(t *testing.T) {
	taken := street()
	taken.Units = append(taken.Units, UnitSpec{Name: "milk-2"})
	for name, c := range map[string]struct {
		variant Variant
		layout  Layout
		want    string
	}{
		"of no unit": {Variant{Replicas: map[string]int{"beer": 2}}, street(),
			`there is no unit "beer"; what can be replicated: front, bread, milk`},
		"of one with state": {Variant{Replicas: map[string]int{"till": 2}}, street(),
			"the unit till keeps what others"},
		"too many": {Variant{Replicas: map[string]int{"milk": 21}}, street(),
			"milk is 21: use 1 to 20"},
		"none": {Variant{Replicas: map[string]int{"milk": 0}}, street(),
			"milk is 0: use 1 to 20"},
		"a name that is taken": {Variant{Replicas: map[string]int{"milk": 2}}, taken, "would be called milk-2"},
		"limits of nobody": {Variant{Limits: map[string]Limits{"beer": {CPU: 1}}}, street(),
			"no unit or backing service beer: use proxy, front, bread, milk, till, generator, database"},
		"a link of no host": {Variant{Hosts: map[string]Network{"cellar": {Rate: 1e6}}}, street(),
			"hosts: no unit of this variant is on cellar (nodes)"},
		"a link of a service": {Variant{Hosts: map[string]Network{"cellar": {Rate: 1e6}},
			Nodes: map[string]string{"milk": "dairy", "database": "cellar"}}, street(),
			"hosts: only backing services are on cellar (nodes), and its link cannot be changed: place a unit there"},
		"a network before a job": {Variant{Network: Network{Delay: 1}}, Layout{Units: []UnitSpec{{Name: "a"}}},
			"makes its own load"},
		"a faster network": {Variant{Network: Network{Delay: -1}}, street(), "its delay is -1 s"},
		"nothing can be scaled": {Variant{Replicas: map[string]int{"a": 2}}, Layout{Units: []UnitSpec{{Name: "a"}}},
			"no unit of this variant can be replicated"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.variant.Scale(c.layout); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestNodesAreThoseOfAllReplicas(t *testing.T) {
	v := Variant{Nodes: map[string]string{"milk": "dairy", "database": "cellar"},
		Replicas: map[string]int{"milk": 2}}
	l, err := v.Scale(street())
	if err != nil {
		t.Fatal(err)
	}
	for unit, want := range map[string]string{"milk": "dairy", "milk-2": "dairy", "bread": ""} {
		if got := unitNamed(t, l, unit).Node; got != want {
			t.Errorf("%s is on %q, want %q", unit, got, want)
		}
	}
	if got := l.Services[0].Node; got != "cellar" {
		t.Errorf("the database is on %q", got)
	}
	if _, err := (Variant{Nodes: map[string]string{"cheese": "dairy"}}).Scale(street()); err == nil ||
		!strings.Contains(err.Error(), "no unit or backing service cheese") {
		t.Errorf("error %v for a unit that is not there", err)
	}
	if got, want := v.Scaling(), "2 x milk; database on cellar; milk on dairy"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

package lab

import (
	"strings"
	"testing"
)

func TestScaledUnitsHaveReplicasOnStandby(t *testing.T) {
	v := Variant{Autoscale: map[string]Autoscale{"milk": {Max: 3, CPU: 0.5}},
		Limits: map[string]Limits{"milk": {CPU: 0.2}}}
	l, err := v.Scale(street())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ standby, scaled bool }{"milk": {false, true},
		"milk-2": {true, false}, "milk-3": {true, false}, "bread": {}} {
		if u := unitNamed(t, l, name); u.Standby != want.standby || (u.Autoscale != nil) != want.scaled ||
			want.standby && u.Limits.CPU != 0.2 {
			t.Errorf("%s: standby %v, scaled by %v, limits %v", name, u.Standby, u.Autoscale, u.Limits)
		}
	}
	all := "{address:milk},?{address:milk-2},?{address:milk-3}"
	if got, want := strings.Join(unitNamed(t, l, "front").Env, " "),
		"MILK="+all+" CLEAVE_ADDRESS_MILK="+all; got != want {
		t.Errorf("the environment is %s, want %s", got, want)
	}
	if got, want := v.Scaling(),
		"milk: 1 to 3 replicas at 50 % of its processors; milk: 0.2 processors"; got != want {
		t.Errorf("Scaling is %q, want %q", got, want)
	}
}

func TestWhatCannotBeScaledIsRefused(t *testing.T) {
	limits := map[string]Limits{AllUnits: {CPU: 0.2}}
	for name, c := range map[string]struct {
		v    Variant
		want string // part of the error
	}{
		"no limit": {Variant{Autoscale: map[string]Autoscale{"milk": {3, 0.5}}}, "no limit of processors"},
		"no such unit": {Variant{Autoscale: map[string]Autoscale{"beer": {3, 0.5}}, Limits: limits},
			`autoscale: there is no unit "beer"`},
		"a unit with data": {Variant{Autoscale: map[string]Autoscale{"till": {3, 0.5}}, Limits: limits},
			"autoscale: the unit till keeps what others"},
		"a proxy": {Variant{Autoscale: map[string]Autoscale{"proxy": {3, 0.5}}, Limits: limits},
			"the generator connects to proxy"},
		"one replica": {Variant{Autoscale: map[string]Autoscale{"milk": {1, 0.5}}, Limits: limits},
			"use 2 to 20"},
		"too many replicas": {Variant{Autoscale: map[string]Autoscale{"milk": {21, 0.5}}, Limits: limits},
			"autoscale: milk goes up to 21 replicas"},
		"a share above 1": {Variant{Autoscale: map[string]Autoscale{"milk": {3, 1.5}}, Limits: limits},
			"above 0 and up to 1"},
		"a fixed number, too": {Variant{Autoscale: map[string]Autoscale{"milk": {3, 0.5}},
			Replicas: map[string]int{"milk": 2}, Limits: limits}, "choose one"},
		"called at its own address": {Variant{Autoscale: map[string]Autoscale{"bread": {3, 0.5}}, Limits: limits},
			"shall be called at its direct address"},
	} {
		if _, err := c.v.Scale(street()); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "replicas: ") {
			t.Errorf("%s: %v, want %q, and not of the key replicas", name, err, c.want)
		}
	}
}

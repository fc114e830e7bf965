package study_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// faulty is the beginning of a study with faults. The faults themselves are to be appended, from line 10 on.
const faulty = `schema: cleave-study/1
name: faulty
title: A study with faults
system: shop
baseline: one
variants: {one: {architecture: apart}}
points: {p: {rate: 10}}
load: {duration: 20s}
faults:
`

// shops returns the system shop. If it is restartable, its units may be killed and restarted during the load,
// so studies of it may have faults.
func shops(restartable bool) map[string]lab.SystemInfo {
	return map[string]lab.SystemInfo{"shop": {
		Name: "shop", Architectures: []lab.Architecture{{Name: "apart"}}, Restartable: restartable,
		Parameters: []lab.Parameter{{Name: "rate", Max: 100}},
	}}
}

func TestFaultsOfAStudy(t *testing.T) {
	file := parsed(t, []byte(faulty+
		"  - {kill: orders, after: 2s, heal: 500ms}\n  - {kill: every-unit, after: 5s}\n  - {pause: broker, "+
		"after: 6s}\n  - {cut: views, after: 7s}\n  - {restart: views, after: 9s}\n  - {slow: views, after: 10s, "+
		"delay: 50ms, rate: 100KiB}\n  - {fill: broker, after: 12s}\n"), shops(true))
	want := []lab.Fault{
		{Target: "orders", Kind: lab.FaultKill, After: 2, Heal: 0.5},
		{Target: lab.EveryUnit, Kind: lab.FaultKill, After: 5, Heal: 1},
		{Target: "broker", Kind: lab.FaultPause, After: 6, Heal: 1},
		{Target: "views", Kind: lab.FaultCut, After: 7, Heal: 1},
		{Target: "views", Kind: lab.FaultRestart, After: 9},
		{Target: "views", Kind: lab.FaultSlow, After: 10, Heal: 1, Delay: 0.05, Rate: 100 << 10},
		{Target: "broker", Kind: lab.FaultFill, After: 12, Heal: 1},
	}
	if !slices.Equal(file.Study.Faults, want) {
		t.Errorf("faults %+v, want %+v", file.Study.Faults, want)
	}
}

func TestMistakesInFaults(t *testing.T) {
	for name, c := range map[string]struct {
		faults      string
		restartable bool
		want        []string
	}{
		"many": {
			"  - {kill: orders, after: soon}\n  - {kil: orders, after: 1s}\n  - {kill: orders, after: 20s}\n", true,
			[]string{
				`x.yaml:10: after is "soon", expected a time span`,
				`x.yaml:11: fault has no key "kil" (did you mean "kill"?)`,
				`x.yaml:11: fault needs one of the keys [kill restart pause cut slow fill drain update]`,
				`x.yaml:12: the fault of orders begins 20 s after the start of a load that lasts 20 s`,
			},
		},
		"two in one": {"  - {kill: orders, pause: orders, after: 1s}\n", true,
			[]string{"x.yaml:10: fault is both kill and pause: write two faults"}},
		"slow by nothing": {"  - {slow: orders, after: 1s}\n", true,
			[]string{"x.yaml:10: fault of orders: slow needs a delay, a rate or both"}},
		"slow by what": {"  - {slow: orders, after: 1s, rate: fast}\n", true,
			[]string{`x.yaml:10: rate is "fast", expected bytes per second`, "needs a delay"}},
		"a kill's delay": {"  - {kill: orders, after: 1s, delay: 1s}\n", true,
			[]string{"x.yaml:10: fault of orders: kill has a delay or a rate, which only slow has"}},
		"no list": {"  kill: orders\n", true, []string{"x.yaml:10: faults is a set of keys, expected a list"}},
		"too many": {strings.Repeat("  - {kill: orders, after: 1s}\n", 101), true,
			[]string{"x.yaml:10: 101 faults, at most 100 are allowed"}},
		"not for all": {"  - {kill: core, after: 1s}\n", false, []string{"x.yaml:10: shop takes no faults"}},
	} {
		_, err := study.Parse("x.yaml", []byte(faulty+c.faults), shops(c.restartable))
		var problems study.Problems
		if !errors.As(err, &problems) || len(problems) != len(c.want) {
			t.Errorf("%s: %v, want %d problems", name, err, len(c.want))
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

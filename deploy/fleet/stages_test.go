package fleet

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestStagesOfTheStart: foreign units that call others start last, and servers are in no stage.
func TestStagesOfTheStart(t *testing.T) {
	ready := func(context.Context, string) error { return nil }
	units := []lab.UnitSpec{
		{
			Name:       "proxy",
			Runnable:   lab.Runnable{Foreign: true},
			Networking: lab.Networking{Peers: []string{"front"}},
		}, {
			Name:       "front",
			Networking: lab.Networking{Peers: []string{"app"}},
		},
		{Name: "burner", Runnable: lab.Runnable{Foreign: true}},
		{
			Name:       "app",
			Runnable:   lab.Runnable{Foreign: true},
			Lifecycle:  lab.Lifecycle{Ready: ready},
			Networking: lab.Networking{Peers: []string{"database"}},
		},
		{
			Name:       "apart",
			Networking: lab.Networking{Reached: lab.ReachDirect},
		}, {
			Name:     "database",
			Runnable: lab.Runnable{Foreign: true, Server: &lab.Server{}},
		},
	}
	var got [][]string
	for _, stage := range Stages(units) {
		var names []string
		for _, spec := range stage {
			names = append(names, spec.Name)
		}
		got = append(got, names)
	}
	if want := [][]string{{"app", "apart"}, {"front", "burner"}, {"proxy"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the stages are %q, want %q", got, want)
	}
	if stages := Stages(units[1:2]); len(stages) != 1 {
		t.Errorf("one unit has %d stages", len(stages))
	}
}

// TestUnitsComeAfterThoseThatTheyName, wherever these stand in the layout.
func TestUnitsComeAfterThoseThatTheyName(t *testing.T) {
	healthy := lab.Readiness{Healthy: true}
	units := []lab.UnitSpec{
		{
			Name:      "web",
			Runnable:  lab.Runnable{Foreign: true},
			Lifecycle: lab.Lifecycle{Readiness: healthy, After: []string{"api", "init"}},
		},
		{
			Name:      "api",
			Runnable:  lab.Runnable{Foreign: true},
			Lifecycle: lab.Lifecycle{After: []string{"init"}},
		},
		{
			Name:      "init",
			Runnable:  lab.Runnable{Foreign: true},
			Lifecycle: lab.Lifecycle{Finishes: true, After: []string{"db"}},
		},
		{
			Name:      "db",
			Runnable:  lab.Runnable{Foreign: true},
			Lifecycle: lab.Lifecycle{Readiness: healthy},
		}, {
			Name:     "cache",
			Runnable: lab.Runnable{Foreign: true},
		},
	}
	var got [][]string
	for _, stage := range Stages(units) {
		var names []string
		for _, spec := range stage {
			names = append(names, spec.Name)
		}
		got = append(got, names)
	}
	if want := [][]string{{"db"}, {"init", "cache"}, {"api"}, {"web"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the stages are %q, want %q", got, want)
	}
	circle := []lab.UnitSpec{{
		Name:      "a",
		Lifecycle: lab.Lifecycle{After: []string{"b"}},
	}, {
		Name:      "b",
		Lifecycle: lab.Lifecycle{After: []string{"a"}},
	}}
	if stages := Stages(circle); len(slices.Concat(stages...)) != 2 { // a plan of somebody else's may have it
		t.Errorf("of a circle the stages are %v", stages)
	}
}

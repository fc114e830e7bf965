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
		{Name: "proxy", Foreign: true, Peers: []string{"front"}}, {Name: "front", Peers: []string{"app"}},
		{Name: "burner", Foreign: true},
		{Name: "app", Foreign: true, Ready: ready, Peers: []string{"database"}},
		{Name: "apart", Reached: lab.ReachDirect}, {Name: "database", Foreign: true, Server: &lab.Server{}},
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
		{Name: "web", Foreign: true, Readiness: healthy, After: []string{"api", "init"}},
		{Name: "api", Foreign: true, After: []string{"init"}},
		{Name: "init", Foreign: true, Finishes: true, After: []string{"db"}},
		{Name: "db", Foreign: true, Readiness: healthy}, {Name: "cache", Foreign: true},
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
	circle := []lab.UnitSpec{{Name: "a", After: []string{"b"}}, {Name: "b", After: []string{"a"}}}
	if stages := Stages(circle); len(slices.Concat(stages...)) != 2 { // a plan of somebody else's may have it
		t.Errorf("of a circle the stages are %v", stages)
	}
}

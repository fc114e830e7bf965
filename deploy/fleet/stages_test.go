package fleet

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// foreign returns a foreign unit.
func foreign(name string, lifecycle lab.Lifecycle, peers ...string) lab.UnitSpec {
	return lab.UnitSpec{Name: name, Runnable: lab.Runnable{Foreign: true}, Lifecycle: lifecycle,
		Networking: lab.Networking{Peers: peers}}
}

// TestStages checks that units that report readiness or are called at their own addresses (ReachDirect) start
// first, that foreign units that call others start last, that servers are in no stage, and that units start
// after those that they name in After, wherever these are in the layout.
func TestStages(t *testing.T) {
	visited := lab.Lifecycle{Ready: func(context.Context, string) error { return nil }}
	healthy := lab.Readiness{Healthy: true}
	database := foreign("database", lab.Lifecycle{})
	database.Server = &lab.Server{}
	front := lab.UnitSpec{Name: "front", Networking: lab.Networking{Peers: []string{"app"}}}
	for name, c := range map[string]struct {
		units []lab.UnitSpec
		want  string
	}{
		"by kind": {[]lab.UnitSpec{
			foreign("proxy", lab.Lifecycle{}, "front"), front, foreign("burner", lab.Lifecycle{}),
			foreign("app", visited, "database"),
			{Name: "apart", Networking: lab.Networking{Reached: lab.ReachDirect}}, database,
		}, "[[app apart] [front burner] [proxy]]"},
		"one unit": {[]lab.UnitSpec{front}, "[[front]]"},
		"by After": {[]lab.UnitSpec{
			foreign("web", lab.Lifecycle{Readiness: healthy, After: []string{"api", "init"}}),
			foreign("api", lab.Lifecycle{After: []string{"init"}}),
			foreign("init", lab.Lifecycle{Finishes: true, After: []string{"db"}}),
			foreign("db", lab.Lifecycle{Readiness: healthy}), foreign("cache", lab.Lifecycle{}),
		}, "[[db] [init cache] [api] [web]]"},
	} {
		var got [][]string
		for _, stage := range Stages(c.units) {
			var names []string
			for _, spec := range stage {
				names = append(names, spec.Name)
			}
			got = append(got, names)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: the stages are %v, want %s", name, got, c.want)
		}
	}
}

// TestStagesOfACycle checks that Stages ends if units start after each other, as in an invalid plan.
func TestStagesOfACycle(t *testing.T) {
	stages := Stages([]lab.UnitSpec{foreign("a", lab.Lifecycle{After: []string{"b"}}),
		foreign("b", lab.Lifecycle{After: []string{"a"}})})
	if len(slices.Concat(stages...)) != 2 {
		t.Errorf("the stages of a cycle are %v", stages)
	}
}

package supervise

import (
	"context"
	"reflect"
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

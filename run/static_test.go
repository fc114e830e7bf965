package run

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// layoutToCount returns a layout of our own units, of which one is on standby and one is the generator, a
// balancer, a database with a server and documents in files.
func layoutToCount() lab.Layout {
	ours := lab.Runnable{Args: []string{"{}"}, Env: []string{"A=1", "B=2"}}
	return lab.Layout{
		Services: []lab.ServiceSpec{{Name: "database", Holds: &lab.Holdings{Tables: []string{"a", "b"}}},
			{Name: "documents", Holds: &lab.Holdings{Tables: []string{"c"}, Queues: []string{"q"}}}},
		Units: []lab.UnitSpec{
			{Name: "shop-1", Role: "shop", Runnable: ours}, {Name: "shop-2", Role: "shop", Runnable: ours},
			{Name: "later", Role: "shop", Runnable: ours, Placement: lab.Placement{Standby: true}},
			{Name: "balancer", Role: "balancer", Runnable: lab.Runnable{Foreign: true,
				Files: map[string][]byte{"proxy.conf": []byte("# why\nlisten 80\n\n  to shop\n")}}},
			{Name: "generator", Role: lab.RoleGenerator, Runnable: ours},
		},
		Code: map[string]int{"shop": 300},
	}
}

func TestStaticCost(t *testing.T) {
	services := Services{"database": {Server: &lab.UnitSpec{Name: "database-server"}}, "documents": {}}
	played := Played{
		Used: lab.Metered{Processes: []lab.ProcessUsage{{Unit: "balancer", Name: "master", Processes: 1},
			{Unit: "balancer", Name: "worker", Processes: 2}, {Unit: "generator", Processes: 9}}},
		Platform: &lab.PlatformCost{Images: []lab.ProgramImage{{Program: "shop", Bytes: 7}}},
	}
	number := func(n int) *int { return &n }
	// Units: two shops, the balancer and the server. The server is no foreign unit here, so it counts as one
	// process.
	want := lab.StaticCost{Units: 4, Processes: number(6), Tables: number(3), Queues: number(1),
		ConfigurationLines: number(3 + 2), Images: played.Platform.Images, Code: map[string]int{"shop": 300},
		Unknown: map[string]string{}}
	if got := services.staticCost(setting{layout: layoutToCount()}, played); !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

// TestStaticCostOfUserImages checks that a variant of the user's images has only these, and none if the size
// of one is unknown.
func TestStaticCostOfUserImages(t *testing.T) {
	image := func(name string) lab.UnitSpec {
		return lab.UnitSpec{Name: name, Role: name, Runnable: lab.Runnable{Foreign: true, Image: name}}
	}
	layout := lab.Layout{Units: []lab.UnitSpec{image("cart:2"), image("cart:2"), image("store:1"),
		{Name: "generator", Role: lab.RoleGenerator}}}
	known := []lab.ProgramImage{{Program: "shop", Bytes: 7}, {Program: "cart:2", Bytes: 20},
		{Program: "store:1", Bytes: 30}}
	users := setting{layout: layout, variant: lab.Variant{External: &lab.ExternalSystem{Command: []string{"x"}}}}
	for name, test := range map[string]struct {
		known, want []lab.ProgramImage
		unknown     string
	}{
		"all are known":        {known, known[1:], ""},
		"one is not known":     {known[:2], nil, imageUnknown + "store:1"},
		"a cluster pulls them": {nil, nil, imageUnknown + "cart:2"},
	} {
		got := Services{}.staticCost(users, Played{Platform: &lab.PlatformCost{Images: test.known}})
		if !reflect.DeepEqual(got.Images, test.want) || got.Unknown["images"] != test.unknown {
			t.Errorf("%s: images %+v, unknown %q", name, got.Images, got.Unknown["images"])
		}
	}
}

// TestUnknownStaticCostHasAReason checks that parts that are unknown are absent, with the reason.
func TestUnknownStaticCostHasAReason(t *testing.T) {
	layout := layoutToCount()
	layout.Code = nil
	layout.Services[1].Holds = nil
	services := Services{"database": {Server: &lab.UnitSpec{Name: "database-server"}}, "documents": {}}
	for name, test := range map[string]struct {
		external *lab.ExternalSystem
		lines    int
		absent   []string
		counted  int // configuration lines; 0: not known
	}{
		"ours":         {nil, 0, []string{"tables", "queues", "processes", "images", "code"}, 5},
		"in files":     {&lab.ExternalSystem{Command: []string{"x"}}, 40, []string{"tables", "queues"}, 40},
		"runs already": {&lab.ExternalSystem{}, 0, []string{"processes", "configuration_lines"}, 0},
	} {
		layout.FileLines = test.lines
		got := services.staticCost(setting{variant: lab.Variant{External: test.external}, layout: layout}, Played{})
		for _, field := range test.absent {
			if got.Unknown[field] == "" {
				t.Errorf("%s: no reason for %s in %v", name, field, got.Unknown)
			}
		}
		if got.Processes != nil || got.Tables != nil || got.Queues != nil || got.Images != nil || got.Code != nil {
			t.Errorf("%s: something is known: %+v", name, *got)
		}
		switch lines := got.ConfigurationLines; {
		case test.counted == 0 && lines != nil:
			t.Errorf("%s: %d lines of configuration", name, *lines)
		case test.counted > 0 && (lines == nil || *lines != test.counted):
			t.Errorf("%s: lines of configuration are not %d", name, test.counted)
		}
		if why := got.Unknown["processes"]; test.counted > 0 && !strings.HasSuffix(why, "unit balancer") {
			t.Errorf("%s: processes are not known since %q", name, why)
		}
	}
}

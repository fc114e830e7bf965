package analysis

import (
	"reflect"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// parts returns the parts of a design of the made-up shop.
func (d design) parts() []lab.Part {
	link := func(to, how, what string, count float64) lab.Link {
		return lab.Link{To: to, How: how, Traffic: map[string]float64{what: count}}
	}
	statements := func(count float64) lab.Link { return link("database", "", "statements", count) }
	generator := func(front string) lab.Part {
		return lab.Part{Name: lab.RoleGenerator, Units: 1, Links: []lab.Link{{To: front, How: "requests"}}}
	}
	database := lab.Part{Name: "database", Units: 1, Service: "mariadb"}
	calls := func(count float64) []lab.Link {
		return []lab.Link{link("catalog", "http", "calls", count), link("customers", "http", "calls", count),
			link("inventory", "http", "calls", 2*count),
			link("payments", "http", "calls", count), link("shipping", "http", "calls", count)}
	}
	events := func(in, out float64) lab.Link {
		return lab.Link{To: "broker", How: "events", Traffic: map[string]float64{"messages in": in,
			"messages out": out}}
	}
	unit := func(name string, links ...lab.Link) lab.Part { return lab.Part{Name: name, Units: 1, Links: links} }
	switch d.name {
	case "sync":
		return []lab.Part{unit("catalog", statements(1)), unit("customers", statements(1)),
			unit("inventory", statements(5)), unit("orders", append(calls(1), statements(3))...),
			unit("payments", statements(2)), unit("shipping", statements(1)), generator("orders"), database}
	case "async":
		return []lab.Part{unit("catalog", statements(0)), unit("customers", statements(0)),
			unit("inventory", statements(16.9), events(2, 3.95)),
			unit("orders", append(calls(0), statements(14.2), events(1, 2))...),
			unit("payments", statements(7.2), events(1, 1)), unit("shipping", statements(6.2), events(1, 1)),
			unit("views", events(5, 0), lab.Link{To: "documents"}), generator("orders"), database,
			{Name: "broker", Units: 1, Service: "rabbitmq"}, {Name: "documents", Service: "sqlite", Embedded: true}}
	}
	return []lab.Part{unit("shop", statements(11)), generator("shop"), database}
}

func TestPicturesHaveMedians(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	for block, calls := range []float64{1, 9, 2} {
		trial := in.trial("one", point, block+1, map[string]float64{"cpu_per_operation": 0.004 * calls})
		trial.Metered = lab.Metered{Roles: map[string]lab.Usage{"orders": {CPUSeconds: 3, PeakMemoryBytes: 7}}}
		trial.Parts = []lab.Part{{Name: "orders", Units: 1,
			Links: []lab.Link{{To: "payments", How: "http", Traffic: map[string]float64{"calls": calls}}}}}
	}
	want := []lab.Picture{{Variant: "one", Point: point, Parts: []lab.PicturePart{{
		Part: lab.Part{Name: "orders", Units: 1,
			Links: []lab.Link{{To: "payments", How: "http", Traffic: map[string]float64{"calls": 2}}}},
		CPUPerOperation: 0.008, CPUShare: 1, PeakMemory: 7,
	}}}}
	if got := Analyse(in).Pictures; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if in.Trials[0].Parts[0].Links[0].Traffic["calls"] != 1 {
		t.Error("a trial's record was changed")
	}
}

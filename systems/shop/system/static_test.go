package system

import (
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// TestWhatEachArchitectureIsBuiltFrom: all architectures have counted code, and the code of a feature counts
// only where it is used.
func TestWhatEachArchitectureIsBuiltFrom(t *testing.T) {
	only := map[string]map[string]bool{
		"systems/shop/coordination/local":         {architecture.Monolith: true},
		"systems/shop/coordination/orchestrated":  {architecture.Sync: true, architecture.SyncGRPC: true},
		"systems/shop/coordination/choreographed": {architecture.Async: true},
		"binding/nethttp":                         {architecture.Sync: true, architecture.Async: true},
		"binding/grpcgo":                          {architecture.SyncGRPC: true},
		"backing/broker":                          {architecture.Async: true},
		"backing/document":                        {architecture.Async: true},
		"systems/shop/reference":                  {architecture.Async: true},
		"systems/shop/coordination/reacting":      {architecture.Async: true},
	}
	for _, name := range []string{architecture.Monolith, architecture.Sync, architecture.SyncGRPC,
		architecture.Async} {
		design, err := architecture.New(name, nil)
		testset.Must(t, err)
		lines := code(design)
		if lines["systems/shop/orders"] == 0 {
			t.Errorf("%s has no orders: %v", name, lines)
		}
		for part, architectures := range only {
			if has := lines[part] > 0; has != architectures[name] {
				t.Errorf("%s is built from %s: %t", name, part, has)
			}
		}
	}
	brokered, err := architecture.New(architecture.Sync,
		map[string]string{architecture.KnobCoordination: string(architecture.Brokered)})
	if err != nil || code(brokered)["systems/shop/coordination/brokered"] == 0 ||
		code(brokered)["systems/shop/coordination/choreographed"] > 0 {
		t.Errorf("a saga over the broker is built from %v (%v)", code(brokered), err)
	}
	kept, err := architecture.New(architecture.Sync, map[string]string{architecture.KnobViews: "cached"})
	if err != nil || code(kept)["systems/shop/cached"] == 0 {
		t.Errorf("a cache is built from %v (%v)", code(kept), err)
	}
	for _, a := range architecture.All() { // code panics at a package that kit/lines has not counted
		if design, err := architecture.New(a.Name, nil); err == nil {
			code(design)
		}
	}
}

func TestHoldingsOfServices(t *testing.T) {
	design, err := architecture.New(architecture.Async, nil)
	testset.Must(t, err)
	counts := map[string][2]int{}
	for _, service := range services(design) {
		counts[service.Name] = [2]int{len(service.Holds.Tables), len(service.Holds.Queues)}
	}
	if counts["database"][0] == 0 || counts["broker"] != [2]int{0, 6} || counts["documents"] != [2]int{2, 0} {
		t.Errorf("tables and queues: %v", counts)
	}
}

// TestAnORMIsInAProgramOfItsOwn: units that reach their tables by SQL run a program without the ORM.
func TestAnORMIsInAProgramOfItsOwn(t *testing.T) {
	for access, want := range map[string]string{"sql": "shop", "orm": "shop-orm"} {
		layout, _ := laidOut(t, variant(architecture.Monolith, map[string]string{architecture.KnobAccess: access}),
			map[string]float64{lab.FactorRate: 1})
		if got := layout.Units[0].Own; got != want {
			t.Errorf("%s: units of %s, want %s", access, got, want)
		}
	}
}

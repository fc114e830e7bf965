package system

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

func TestUsesOfUnits(t *testing.T) {
	for architecture, want := range map[string]map[string][]string{
		"monolith": {"shop": {"database"}},
		"sync": {"orders": {"catalog", "customers", "inventory", "payments", "shipping", "database"},
			"payments": {"database"}},
		"async": {"catalog": {"database", "broker"}, "customers": {"database"}, "payments": {"database", "broker"},
			"orderviews": {"broker", "documents"}},
	} {
		for unit, uses := range want {
			if got := usedBy(t, architecture, unit); !slices.Equal(got, uses) {
				t.Errorf("%s: %s uses %v, want %v", architecture, unit, got, uses)
			}
		}
	}
}

func usedBy(t *testing.T, name, unit string) (to []string) {
	t.Helper()
	design, err := architecture.New(name, nil)
	testset.Must(t, err)
	for _, u := range design.Units {
		if u.Name == unit {
			for _, use := range uses(design, u) {
				to = append(to, use.To)
			}
		}
	}
	return to
}

// TestTrafficIsPerOrder: calls are in the order of the callees, whatever that of the map.
func TestTrafficIsPerOrder(t *testing.T) {
	said, err := json.Marshal(assembly.Report{Kind: "orders",
		Messages: &assembly.Messages{Published: 5, Delivered: 20},
		Calls: map[string]int64{"shipping": 10, "payments": 30, "inventory": 20, "customers": 40,
			"catalog": 50}})
	testset.Must(t, err)
	reports := []lab.UnitReport{{Unit: lab.RoleGenerator, Data: []byte("[]")}, {Unit: "orders-2", Data: said}}
	got, err := traffic(reports, 10)
	testset.Must(t, err)
	want := []lab.Traffic{
		{From: "orders", To: "catalog", What: "calls", PerOperation: 5},
		{From: "orders", To: "customers", What: "calls", PerOperation: 4},
		{From: "orders", To: "inventory", What: "calls", PerOperation: 2},
		{From: "orders", To: "payments", What: "calls", PerOperation: 3},
		{From: "orders", To: "shipping", What: "calls", PerOperation: 1},
		{From: "orders", To: "broker", What: "messages out", PerOperation: 0.5},
		{From: "orders", To: "broker", What: "messages in", PerOperation: 2},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

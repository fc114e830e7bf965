//go:build linux

package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/social/parts"
)

// TestTargetsAreWhatIsPredicted: the change of each target makes the placement that is measured.
func TestTargetsAreWhatIsPredicted(t *testing.T) {
	components := map[string][]string{"people": {"gateway"}, "social": append(parts.Names(), "front"),
		"shop": {shop.ComponentOrders, shop.ComponentCustomers, shop.ComponentCatalog, shop.ComponentInventory,
			shop.ComponentPayments, shop.ComponentShipping}} // the front is a part of the orders
	for _, kind := range people.Kinds() {
		components["people"] = append(components["people"], string(kind))
	}
	placed := func(s subject, placement string) (units []model.Unit) {
		groups, err := kit.Place(placement, components[s.system])
		if err != nil {
			t.Fatalf("%s: %v", s.name(), err)
		}
		for _, group := range groups {
			units = append(units, model.Unit{Name: strings.Join(group, "+"), Components: group})
		}
		return units
	}
	spoken := func(units []model.Unit) string {
		var all []string
		for _, u := range units {
			all = append(all, strings.Join(slices.Sorted(slices.Values(u.Components)), "+"))
		}
		slices.Sort(all)
		return strings.Join(all, ",")
	}
	for _, s := range subjects() {
		for _, to := range s.targets {
			got, err := to.change().Apply(model.Model{Units: placed(s, s.from)})
			if want := spoken(placed(s, to.placement)); err != nil || spoken(got) != want {
				t.Errorf("%s, %s: predicted is %s (%v), measured %s", s.name(), to, spoken(got), err, want)
			}
		}
	}
}

// TestAPatternHasTheCallsOfItsTarget: its model can be rehearsed, and keeps its CPU time at every rate.
func TestAPatternHasTheCallsOfItsTarget(t *testing.T) {
	of, rates := pattern{calls: 5, units: 2}, []float64{20, 400}
	m, err := model.Parse("", []byte(of.model(rates)))
	if err != nil {
		t.Fatal(err)
	}
	split := predict.Change{Split: predict.ParseGroups(of.placement())}
	if calls, err := split.Crossings(m); err != nil || calls != 5 {
		t.Errorf("%g calls cross units (%v), want 5", calls, err)
	}
	for _, rate := range rates {
		if cpu := m.AtRate(rate, m.RatedCPU()).CPU(); math.Abs(cpu-350e-6) > 1e-9 {
			t.Errorf("an operation takes %g s at %g/s, want 350 us", cpu, rate)
		}
	}
}

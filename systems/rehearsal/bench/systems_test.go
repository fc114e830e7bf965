//go:build linux

package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
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
	textOf := func(units []model.Unit) string {
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
			if want := textOf(placed(s, to.placement)); err != nil || textOf(got) != want {
				t.Errorf("%s, %s: predicted is %s (%v), measured %s", s.name(), to, textOf(got), err, want)
			}
		}
	}
}

// TestAPatternHasTheCallsOfItsTarget: in the model of a pattern as many calls cross units as the pattern has.
// That model can be rehearsed at the rates of its measurements, with the CPU time that was measured there.
func TestAPatternHasTheCallsOfItsTarget(t *testing.T) {
	of := pattern{calls: 5, units: 2}
	rates := []float64{20, 400}
	path := "../testdata/shop.model.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	takes := func(us time.Duration) model.Distribution {
		return model.Distribution{Mean: us * time.Microsecond, Source: model.Guess}
	}
	m.Measured = []model.Measurement{{Rate: 20, CPU: takes(700), Time: takes(900)},
		{Rate: 401, CPU: takes(600), Time: takes(900)}, {Rate: 90, CPU: takes(1), Time: takes(1)},
		{Rate: 950, Users: 64, CPU: takes(500), Time: takes(900)}}
	path = filepath.Join(t.TempDir(), "pattern.model.yaml")
	if err = writeModel(of.model(m, rates), path); err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if m, err = model.Parse(path, text); err != nil {
		t.Fatal(err)
	}
	split := predict.Change{Split: predict.ParseGroups(of.placement())}
	if calls, err := split.Crossings(m); err != nil || math.Abs(calls-5) > 1e-9 {
		t.Errorf("%g calls cross units (%v), want 5", calls, err)
	}
	for rate, want := range map[float64]float64{20: 700e-6, 400: 600e-6} {
		if cpu := m.AtRate(rate, m.RatedCPU()).CPU(); math.Abs(cpu-want) > 1e-6 {
			t.Errorf("an operation takes %g s at %g/s, want %g s", cpu, rate, want)
		}
	}
	if cpu := m.AtCapacity().CPU(); math.Abs(cpu-500e-6) > 1e-6 {
		t.Errorf("an operation takes %g s at the capacity, want 500 us", cpu)
	}
	var placed []float64
	for _, is := range m.Measured {
		if is.Placement == of.placement() {
			placed = append(placed, is.Rate)
		}
	}
	if !slices.Equal(placed, []float64{20, 401}) {
		t.Errorf("the callees apart are rehearsed at %v/s, want 20 and 401", placed)
	}
}

// TestAnUnknownSystem is refused: otherwise bench would leave it out, and end without an error.
func TestAnUnknownSystem(t *testing.T) {
	if _, _, err := chosen("shop,peeple", false); err == nil || !strings.Contains(err.Error(),
		`no system "peeple" for -systems; there are: people, shop, social`) {
		t.Errorf("a system that is not there: %v", err)
	}
	if all, _, err := chosen("people,social", false); err != nil || len(all) != 4 {
		t.Errorf("two systems: %d subjects, %v", len(all), err)
	}
}

// TestAFailedRunIsNotComplete: its folder is not used. A run may only be incomplete because its context has
// ended. A script stands in for cleave.
func TestAFailedRunIsNotComplete(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "cleave")
	testset.Must(t, os.WriteFile(program, []byte("#!/bin/sh\nwhile [ \"$1\" != --results ]; do shift; done\n"+
		"mkdir -p \"$2/truth/latest\"\necho a disk is full\nexit 1\n"), 0o700))
	p := player{cleave: program, results: dir}
	if _, err := p.folder(t.Context(), "truth", "run", "truth.yaml"); err == nil ||
		!strings.Contains(err.Error(), "a disk is full") {
		t.Errorf("a failed run: %v", err)
	}
}

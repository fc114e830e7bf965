package system

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/audit"
)

// TestPricesChangeBeforeOrders of the same product, and what clients were told of them reaches the audit.
func TestPricesChangeBeforeOrders(t *testing.T) {
	g := &generator{}
	levels := map[string]float64{Orders: 100, Cancelled: 20, Repriced: 10}
	if _, err := (System{Generator: g}).Layout(variant(architecture.Sync, nil), point(levels), 1); err != nil {
		t.Fatal(err)
	}
	var scenario struct {
		Flows []struct {
			Name   string
			Weight float64
			Steps  []struct{ Name, Request string }
		}
	}
	if err := json.Unmarshal(g.job.Scenario, &scenario); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, flow := range scenario.Flows {
		sum += flow.Weight
	}
	last := scenario.Flows[len(scenario.Flows)-1]
	if sum != 200 || last.Weight != 20 || len(last.Steps) != 2 || last.Steps[0].Name != repricing ||
		last.Steps[0].Request != "PUT /products/${product}/price" || last.Steps[1].Name != creating {
		t.Errorf("%+v, want ten of a hundred orders after a change of the price", scenario.Flows)
	}
	levels[Repriced] = 80
	if _, err := (System{Generator: g}).Layout(variant(architecture.Sync, nil), point(levels), 1); err == nil ||
		!strings.Contains(err.Error(), "leave 10 percent") {
		t.Errorf("%v, want more changes and cancellations than orders refused", err)
	}
	told := history([]attempt{{Operation: repricing, End: "ok",
		Noted: noted{Product: 3, Price: 250, Version: "2"}}}, architecture.FromTables)
	if told[0].Operation != audit.OperationPrice || *told[0].Price != (audit.Price{Product: 3, Version: 2,
		Cents: 250}) {
		t.Errorf("%+v, want the price that the client was told", told[0])
	}
}

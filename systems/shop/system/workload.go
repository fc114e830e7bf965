package system

import (
	"encoding/json"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// popularity is the exponent of the Zipf distribution of products: a few are in
// most orders, as in any shop.
const popularity = 0.8

// object is JSON.
type object = map[string]any

// workload is the scenario of clients who order, as cleave-scenario/1: one order
// of one or two lines, by a customer chosen evenly, of popular products. An order
// is right when it is confirmed; where the answer comes before the order is done,
// when it was accepted.
func workload(filled shop.Seed, d architecture.Design) (json.RawMessage, error) {
	state := shop.StateConfirmed
	if d.Coordination == architecture.Choreographed {
		state = shop.StatePending
	}
	order := func(lines ...object) object {
		return object{
			"name": operation, "request": "POST /orders", "headers": object{"Idempotency-Key": "${key}"},
			"json":    object{"customerId": "${customer}", "lines": lines},
			"expect":  object{"status": "2xx", "json": object{"state": string(state)}},
			"extract": object{"order": object{"json": "orderId"}},
			"note":    []string{"key", "order"},
		}
	}
	line := func(product string) object {
		return object{"productId": "${" + product + "}", "quantity": "${quantity}"}
	}
	flows := []object{{"name": "one line", "weight": 1, "steps": []object{order(line("product"))}}}
	if half := filled.Products / 2; half > 0 { // the two products of an order differ
		flows = append(flows, object{"name": "two lines", "weight": 1, "steps": []object{order(line("left"), line("right"))}})
	}
	half := max(filled.Products/2, 1)
	return json.Marshal(object{
		"schema": "cleave-scenario/1", "name": "orders", "cookies": false,
		"values": object{
			"key":      object{"uuid": object{}},
			"customer": object{"integer": object{"from": 1, "to": filled.Customers}},
			"product":  object{"zipf": object{"from": 1, "to": filled.Products, "exponent": popularity}},
			"left":     object{"zipf": object{"from": 1, "to": half, "exponent": popularity}},
			"right":    object{"zipf": object{"from": half + 1, "to": max(filled.Products, half+1), "exponent": popularity}},
			"quantity": object{"integer": object{"from": 1, "to": 3}},
		},
		"flows": flows,
	})
}

// operation is what the workload calls the creation of an order.
const operation = "create order"

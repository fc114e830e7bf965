package system

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// popularity is the exponent of the Zipf distribution of products: a few are in
// most orders, as in any shop.
const popularity = 0.8

// object is a JSON object.
type object = map[string]any

// workload returns the scenario of clients, as cleave-scenario/1: orders of one or two
// lines, by a customer chosen evenly, of popular products. An order is answered rightly
// if it is confirmed, or accepted if the answer comes before it is final. At a point
// some orders may be cancelled, and read again, and before some their product may get
// another price. After each the page of the order may be read, several times.
// Long because it is one table of flows.
func workload(p lab.Point, filled shop.Seed, d architecture.Design) (json.RawMessage, error) {
	cancelled, _ := p.Level(Cancelled)
	repriced, _ := p.Level(Repriced)
	plain := 100 - cancelled - repriced
	if plain < least {
		return nil, fmt.Errorf("point %s has %s %g and %s %g: leave %d percent of orders without both", p.Name,
			Cancelled, cancelled, Repriced, repriced, least)
	}
	right := object{"status": "2xx", "json": object{"state": string(shop.StateConfirmed)}}
	switch {
	case d.OverBroker():
		right = object{"status": "2xx", "json": object{"state": string(shop.StatePending)}}
	case cancelled > 0:
		right = object{"status": "2xx", "body": []string{`re:"state": ?"(confirmed|rejected)"`}}
	}
	order := func(products ...string) object {
		note, lines := []string{"key", "order", "state", "customer", "quantity"}, []object{}
		for _, product := range products {
			note = append(note, product)
			lines = append(lines, object{"productId": "${" + product + "}", "quantity": "${quantity}"})
		}
		return object{
			"name": creating, "request": "POST /orders", "headers": object{"Idempotency-Key": "${key}"},
			"json":    object{"customerId": "${customer}", "lines": lines},
			"expect":  right,
			"extract": object{"order": object{"json": "orderId"}, "state": object{"json": "state"}},
			"note":    note,
		}
	}
	reads, _ := p.Level(Reads)
	if reads != math.Trunc(reads) {
		return nil, fmt.Errorf("point %s has %s %g: expected a whole number", p.Name, Reads, reads)
	}
	flow := func(name, product string, weight float64, steps ...object) object {
		if _, counted := p.Level(Orders); reads > 0 && !counted {
			steps[len(steps)-1]["think"] = regret
		}
		for range int(reads) {
			steps = append(steps, looking(product, d))
		}
		return object{"name": name, "weight": weight, "steps": steps}
	}
	flows := []object{flow("one line", "product", plain, order("product"))}
	if half := filled.Products / 2; half > 0 { // the two products of an order differ
		flows = append(flows, flow("two lines", "left", plain, order("left", "right")))
	}
	plainFlows := float64(len(flows)) // each has the weight of all plain orders
	if cancelled > 0 {
		regretted := order("product")
		regretted["think"] = regret
		cancel, read := of(cancelling, "POST /orders/${order}/cancel", "200, 202, 409"),
			of(reading, "GET /orders/${order}", found(d))
		steps := []object{regretted, cancel, read}
		if orders, counted := p.Level(Orders); counted && d.OverBroker() {
			again := maps.Clone(read)
			again["think"] = secondThought(d, orders)
			steps = []object{regretted, cancel, again, cancel, read}
		}
		flows = append(flows, flow("regretted", "product", plainFlows*cancelled, steps...))
	}
	if repriced > 0 {
		flows = append(flows, flow("repriced", "product", plainFlows*repriced, changing(), order("product")))
	}
	return json.Marshal(object{"schema": "cleave-scenario/1", "name": "orders", "cookies": false,
		"values": values(filled), "flows": flows})
}

// changing returns the step that gives a product another price.
func changing() object {
	return object{
		"name": repricing, "request": "PUT /products/${product}/price", "json": object{"priceCents": "${price}"},
		"expect": object{"status": "200"}, "extract": object{"version": object{"json": "version"}},
		"note": []string{"product", "price", "version"},
	}
}

// found returns the status of reading an order after it was made.
func found(d architecture.Design) string {
	if d.Views == architecture.FromDocuments {
		return "200, 404" // the read model may not have heard of the order yet
	}
	return "200"
}

// looking returns the step that reads the page of an order, and notes the price of its first product.
func looking(product string, d architecture.Design) object {
	step := of(paging, "GET /orders/${order}/page", found(d))
	step["extract"].(object)["shown"] = object{"regexp": `(?s)(?:^.*?"priceCents": ?|^)([0-9]*)`}
	step["note"] = []string{"order", "state", "shown", product}
	return step
}

// values returns the values from which orders are made.
func values(filled shop.Seed) object {
	popular := func(from, to int64) object {
		return object{"zipf": object{"from": from, "to": to, "exponent": popularity}}
	}
	half := max(filled.Products/2, 1)
	return object{
		"key":      object{"uuid": object{}},
		"customer": object{"integer": object{"from": 1, "to": filled.Customers}},
		"product":  popular(1, filled.Products),
		"left":     popular(1, half),
		"right":    popular(half+1, max(filled.Products, half+1)),
		"price":    object{"integer": object{"from": 100, "to": 19_999}}, // as the seed's
		"quantity": object{"integer": object{"from": 1, "to": 3}},
	}
}

// least is the least percentage of orders that are neither cancelled nor come after a change of a price.
const least = 10

// regret is how long a customer waits before cancelling or reading an order: long enough for most orders to
// be final. An order that is not final cannot be cancelled.
const regret = "300ms"

// secondThought returns after how long customers try again to cancel. If many orders come at once, and are
// accepted before they are final, it is when half of them should be final.
func secondThought(d architecture.Design, orders float64) string {
	backlog := 5 * time.Millisecond // half of what an order takes on a slow host
	if d.Coordination == architecture.Brokered {
		backlog *= 2 // nearly twice as many messages
	}
	return min(time.Second+time.Duration(orders)*backlog, time.Minute).String()
}

// of returns a step with an order that was made. It notes the order's state, or "" if the answer has
// none.
func of(name, request, status string) object {
	return object{
		"name": name, "request": request, "expect": object{"status": status},
		"extract": object{"state": object{"regexp": `(?s)(?:^.*?"state": ?"|^)([a-z]*)`}},
		"note":    []string{"order", "state"},
	}
}

// mostReads is the most reads of the page of an order: a flow has few steps.
const mostReads = 99

// The names of the workload's steps.
const (
	creating, cancelling, reading = "create order", "cancel order", "read order"
	paging, repricing             = "read page", "change price"
)

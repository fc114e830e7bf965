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

// popularity is the exponent of the Zipf distribution of products: a few products are ordered much more often
// than the others, as in any shop.
const popularity = 0.8

// object is a JSON object.
type object = map[string]any

// workload returns the scenario of clients, as cleave-scenario/1. Orders have one or two lines. Customers are
// chosen uniformly, products by popularity. If the design answers before an order is final, the right answer
// is a pending order. Otherwise it is a confirmed order or, if the point has cancellations, a rejected one:
// checks have cancellations, and run out of stock. The point sets the share of orders that are cancelled and
// then read, the share whose product gets another price first, and the number of reads of each order's page.
// Long because it is one table of flows.
func workload(p lab.Point, filled shop.Seed, d architecture.Design) (json.RawMessage, error) {
	cancelled, _ := p.Level(Cancelled)
	repriced, _ := p.Level(Repriced)
	plain := 100 - cancelled - repriced
	if plain < minPlain {
		return nil, fmt.Errorf("point %s has %s %g and %s %g: leave %d percent of orders without both", p.Name,
			Cancelled, cancelled, Repriced, repriced, minPlain)
	}
	right := object{"status": "2xx", "json": object{"state": string(shop.StateConfirmed)}}
	switch {
	case d.OverBroker():
		right = object{"status": "2xx", "json": object{"state": string(shop.StatePending)}}
	case cancelled > 0:
		right = object{"status": "2xx", "body": []string{`re:"state": ?"(confirmed|rejected)"`}}
	}
	order := func(products ...string) object {
		note := []string{"key", "order", "state", "customer", "quantity"}
		lines := []object{}
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
	// flow returns a flow of steps and of reads of the order's page. If the point sets the number of orders,
	// there is no pause before the reads: requests follow as fast as answers come.
	flow := func(name, product string, weight float64, steps ...object) object {
		if _, counted := p.Level(Orders); reads > 0 && !counted {
			steps[len(steps)-1]["think"] = thinkTime
		}
		for range int(reads) {
			steps = append(steps, pageStep(product, d))
		}
		return object{"name": name, "weight": weight, "steps": steps}
	}
	flows := []object{flow("one line", "product", plain, order("product"))}
	if half := filled.Products / 2; half > 0 { // an order of two lines needs two products
		flows = append(flows, flow("two lines", "left", plain, order("left", "right")))
	}
	plainFlows := float64(len(flows)) // each has the weight plain: the other weights are scaled alike
	if cancelled > 0 {
		regretted := order("product")
		regretted["think"] = thinkTime
		cancel := orderStep(cancelling, "POST /orders/${order}/cancel", "200, 202, 409")
		read := orderStep(reading, "GET /orders/${order}", readStatus(d))
		steps := []object{regretted, cancel, read}
		if orders, counted := p.Level(Orders); counted && d.OverBroker() {
			again := maps.Clone(read)
			again["think"] = retryDelay(d, orders)
			steps = []object{regretted, cancel, again, cancel, read}
		}
		flows = append(flows, flow("regretted", "product", plainFlows*cancelled, steps...))
	}
	if repriced > 0 {
		flows = append(flows, flow("repriced", "product", plainFlows*repriced, repriceStep(), order("product")))
	}
	return json.Marshal(object{"schema": "cleave-scenario/1", "name": "orders", "cookies": false,
		"values": values(filled), "flows": flows})
}

// repriceStep returns the step that gives a product another price.
func repriceStep() object {
	return object{
		"name": repricing, "request": "PUT /products/${product}/price", "json": object{"priceCents": "${price}"},
		"expect": object{"status": "200"}, "extract": object{"version": object{"json": "version"}},
		"note": []string{"product", "price", "version"},
	}
}

// readStatus returns the right statuses for reading an order after it was made.
func readStatus(d architecture.Design) string {
	if d.Views == architecture.FromDocuments {
		return "200, 404" // the read model may not have the order yet
	}
	return "200"
}

// pageStep returns the step that reads the page of an order, and notes the price of its first product.
func pageStep(product string, d architecture.Design) object {
	step := orderStep(paging, "GET /orders/${order}/page", readStatus(d))
	extract := step["extract"].(object)
	extract["shown"] = object{"regexp": `(?s)(?:^.*?"priceCents": ?|^)([0-9]*)`}
	step["note"] = []string{"order", "state", "shown", product}
	return step
}

// values returns the variables of the scenario, from which orders are made.
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
		"price":    object{"integer": object{"from": 100, "to": 19_999}}, // like the prices of the seed
		"quantity": object{"integer": object{"from": 1, "to": 3}},
	}
}

// minPlain is the least percentage of orders that are neither cancelled nor come after a change of a price.
const minPlain = 10

// thinkTime is the time that a customer waits before cancelling or reading an order: long enough for most
// orders to be final. An order that is not final cannot be cancelled.
const thinkTime = "300ms"

// retryDelay returns the time after which customers try again to cancel. If many orders come at once, and are
// accepted before they are final, half of them should be final by then.
func retryDelay(d architecture.Design, orders float64) string {
	backlog := 5 * time.Millisecond // half of what an order takes on a slow host
	if d.Coordination == architecture.Brokered {
		backlog *= 2 // nearly twice as many messages
	}
	return min(time.Second+time.Duration(orders)*backlog, time.Minute).String()
}

// orderStep returns a step about the order that its flow has created. The step notes the order's state, or ""
// if the answer has none.
func orderStep(name, request, status string) object {
	return object{
		"name": name, "request": request, "expect": object{"status": status},
		"extract": object{"state": object{"regexp": `(?s)(?:^.*?"state": ?"|^)([a-z]*)`}},
		"note":    []string{"order", "state"},
	}
}

// mostReads is the most reads of the page of an order: 99 of 100 requests are reads then. Each read is a step
// of the flow, and a scenario allows 1000 steps in each flow.
const mostReads = 99

// The names of the workload's steps.
const (
	creating, cancelling, reading = "create order", "cancel order", "read order"
	paging, repricing             = "read page", "change price"
)

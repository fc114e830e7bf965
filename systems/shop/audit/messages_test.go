package audit

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// inbox returns the inbox of a component that takes some types.
func inbox(takes []string, had ...string) Inbox {
	box := Inbox{Takes: takes, Had: map[string]bool{}}
	for _, id := range had {
		box.Had[id] = true
	}
	return box
}

// goodEvents returns the flawless trial in a design with events and read models. Order
// C was rejected by the stock.
func goodEvents() Input {
	in := good()
	in.Inboxes = map[string]Inbox{
		"inventory": inbox([]string{placed, refusedMoney, confirmed, cancelled},
			"A/order.placed", "B/order.placed", "C/order.placed", "A/order.confirmed", "B/order.confirmed",
			"B/order.cancelled"),
		"payments": inbox([]string{reserved, cancelled}, "A/stock.reserved", "B/stock.reserved",
			"B/order.cancelled"),
		"shipping": inbox([]string{captured, cancelled}, "A/payment.captured", "B/payment.captured",
			"B/order.cancelled"),
		"orders": inbox([]string{refusedStock, refusedMoney, shipped}, "A/order.shipped", "B/order.shipped",
			"C/stock.refused"),
	}
	in.Views = &Views{
		Orders: map[string]OrderView{
			"A": {Customer: "1", Key: "a", TotalCents: 300, State: "confirmed", Version: 2,
				Lines: []LineView{{1, "thing 1", 2, 100}, {2, "thing 2", 1, 100}}},
			"B": {Customer: "2", Key: "b", TotalCents: 100, State: "cancelled", Version: 3,
				Lines: []LineView{{1, "thing 1", 1, 100}}},
			"C": {Customer: "2", Key: "c", State: "rejected", Version: 2, Lines: []LineView{{9, "", 1, 0}},
				Rejection: Rejection{"unknown-product", "there is no product 9"}},
		},
		Stock: map[int64]StockView{1: {8, 0, 2, 7}, 2: {9, 0, 1, 3}},
	}
	return in
}

func TestGoodEventsAreValid(t *testing.T) {
	atOnce := func(in *Input) { // an order without a price is sent to no component but the read models
		delete(in.Inboxes["inventory"].Had, "C/order.placed")
		delete(in.Inboxes["orders"].Had, "C/stock.refused")
	}
	byMoney := func(in *Input) {
		delete(in.Inboxes["orders"].Had, "C/stock.refused")
		for consumer, id := range map[string]string{"inventory": "C/payment.declined",
			"payments": "C/stock.reserved", "orders": "C/payment.declined"} {
			in.Inboxes[consumer].Had[id] = true
		}
	}
	for name, change := range map[string]func(in *Input){"by the stock": func(*Input) {}, "at once": atOnce,
		"by the payments": byMoney} {
		t.Run("rejected "+name, func(t *testing.T) {
			in := goodEvents()
			change(&in)
			expectVerdict(t, in, lab.AuditValid, "")
		})
	}
}

// TestBadEventsAreFound spoils that trial in one way each. Long because it is a table.
func TestBadEventsAreFound(t *testing.T) {
	view := func(in *Input, id string, change func(*OrderView)) {
		v := in.Views.Orders[id]
		change(&v)
		in.Views.Orders[id] = v
	}
	for _, c := range []struct {
		name    string
		spoil   func(in *Input)
		problem string
	}{
		{"an order is not shown", func(in *Input) { delete(in.Views.Orders, "B") },
			"I9: order B is not in the read model"},
		{"an old state is shown", func(in *Input) { view(in, "B", func(v *OrderView) { v.State = "confirmed" }) },
			"I9: the read model says of order B"},
		{"an old version is shown", func(in *Input) { view(in, "B", func(v *OrderView) { v.Version = 1 }) },
			"I9: the read model says of order B"},
		{"a line is missing", func(in *Input) { view(in, "A", func(v *OrderView) { v.Lines = v.Lines[:1] }) },
			"I9: the read model says of order A"},
		{"the total is another", func(in *Input) { view(in, "A", func(v *OrderView) { v.TotalCents++ }) },
			"I9: the read model says of order A"},
		{"an order is made up", func(in *Input) { in.Views.Orders["Z"] = OrderView{} },
			"I9: the read model has order Z"},
		{"old stock is shown", func(in *Input) { in.Views.Stock[1] = StockView{8, 2, 0, 7} },
			"I9: the read model says of product 1"},
		{"a product is not shown", func(in *Input) { delete(in.Views.Stock, 2) },
			"I9: product 2 is not in the read model"},
		{"a product is made up", func(in *Input) { in.Views.Stock[3] = StockView{} },
			"I9: the read model has 3 products"},
		{"a change that nobody was told", func(in *Input) {
			delete(in.Inboxes["payments"].Had, "B/order.cancelled")
		}, "I10: order B is cancelled, and payments was never told order.cancelled"},
		{"a step without its cause", func(in *Input) { delete(in.Inboxes["shipping"].Had, "A/payment.captured") },
			"I10: order A is confirmed, and shipping was never told"},
		{"told what never happened", func(in *Input) { in.Inboxes["payments"].Had["A/order.cancelled"] = true },
			"I10: order A is confirmed, and payments was told order.cancelled"},
		{"stuck, as its step was never told", func(in *Input) {
			in.State.Orders["A"].State = "pending"
			in.State.Orders["A"].Journal = "pending10"
			delete(in.Inboxes["orders"].Had, "A/order.shipped")
		}, "I10: order A is pending, and orders was never told order.shipped"},
		{"stuck, as its placing was never told", func(in *Input) {
			in.State.Orders["A"].State = "pending"
			in.State.Orders["A"].Journal = "pending10"
			delete(in.State.Reservations, "A")
			delete(in.State.Payments, "A")
			delete(in.State.Shipments, "A")
			delete(in.Inboxes["inventory"].Had, "A/order.placed")
		}, "I10: order A is pending, and inventory was never told order.placed"},
		{"told of no order", func(in *Input) { in.Inboxes["orders"].Had["Z/order.shipped"] = true },
			`I10: orders was told "Z/order.shipped"`},
		{"refused twice", func(in *Input) { in.Inboxes["orders"].Had["C/payment.declined"] = true },
			"I10: order C is rejected, and"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := goodEvents()
			c.spoil(&in)
			expectVerdict(t, in, lab.AuditInvalid, c.problem)
		})
	}
}

// TestWithoutADrain: messages and orders under way break no rule in a trial that was not drained.
func TestWithoutADrain(t *testing.T) {
	in := goodEvents()
	in.Drained = false
	in.Views = &Views{}
	clear(in.Inboxes["orders"].Had)
	expectVerdict(t, in, lab.AuditValid, "")
}

package audit

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// goodCommands returns the flawless trial in a design whose orders drive their sagas over the broker. Order C
// was rejected by the stock.
func goodCommands() Input {
	in := good()
	in.Coordination = Brokered
	in.Sagas = map[string]string{"A": "confirmed", "B": "undone", "C": "rejected"}
	in.Inboxes = map[string]Inbox{
		"inventory": inbox([]string{reserve, commit, release, giveBack}, "A/reserve.stock", "B/reserve.stock",
			"C/reserve.stock", "A/commit.stock", "B/commit.stock", "B/return.stock"),
		"payments": inbox([]string{capture, refund}, "A/capture.payment", "B/capture.payment", "B/refund.payment"),
		"shipping": inbox([]string{ship, recall}, "A/ship.order", "B/ship.order", "B/recall.order"),
		"orders": inbox([]string{reserved, refusedStock, captured, refusedMoney, committed, shipped, released,
			recalled, returned, repaid}, "A/stock.reserved", "B/stock.reserved", "C/stock.refused",
			"A/payment.captured", "B/payment.captured", "A/stock.committed", "B/stock.committed",
			"A/order.shipped", "B/order.shipped", "B/order.recalled", "B/stock.returned", "B/payment.refunded"),
	}
	return in
}

func TestGoodCommandsAreValid(t *testing.T) {
	for name, change := range map[string]func(in *Input){
		"by the stock": func(*Input) {},
		"at once": func(in *Input) {
			delete(in.Sagas, "C")
			delete(in.Inboxes["inventory"].Had, "C/reserve.stock")
			delete(in.Inboxes["orders"].Had, "C/stock.refused")
		},
		"by the payments": func(in *Input) {
			delete(in.Inboxes["orders"].Had, "C/stock.refused")
			for _, message := range [][2]string{{"orders", reserved}, {"payments", capture}, {"orders", refusedMoney},
				{"inventory", release}, {"orders", released}} {
				in.Inboxes[message[0]].Had["C/"+message[1]] = true
			}
		},
	} {
		t.Run("rejected "+name, func(t *testing.T) {
			in := goodCommands()
			change(&in)
			expectVerdict(t, in, lab.AuditValid, "")
		})
	}
}

// TestBadCommandsAreFound spoils the trial of goodCommands in one way each.
func TestBadCommandsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(in *Input)
		problem string
	}{
		"a reply was not taken in": {func(in *Input) { delete(in.Inboxes["orders"].Had, "A/stock.committed") },
			"I10: order A is confirmed, and orders was never told stock.committed"},
		"undone without a command": {func(in *Input) { delete(in.Inboxes["payments"].Had, "B/refund.payment") },
			"I10: order B is cancelled, and payments was never told refund.payment"},
		"a command too many": {func(in *Input) { in.Inboxes["shipping"].Had["A/recall.order"] = true },
			"I10: order A is confirmed, and shipping was told recall.order"},
		"stuck, as its first command never arrived": {func(in *Input) {
			in.State.Orders["A"].State = "pending"
			in.State.Orders["A"].Journal = "pending10"
			delete(in.State.Reservations, "A")
			delete(in.State.Payments, "A")
			delete(in.State.Shipments, "A")
			delete(in.Inboxes["inventory"].Had, "A/reserve.stock")
		}, "I10: order A is pending, and inventory was never told reserve.stock"},
		"a saga is left": {func(in *Input) { in.Sagas["B"] = "refunding" },
			"I4: order B is cancelled, and its saga is still refunding"},
		"a saga ended otherwise": {func(in *Input) { in.Sagas["A"] = "rejected" },
			"I8: order A is confirmed, and its saga is rejected"},
		"a saga is missing": {func(in *Input) { delete(in.Sagas, "A") },
			"I8: order A is confirmed and has no saga"},
		"a saga of nothing": {func(in *Input) { in.Sagas["Z"] = "confirmed" },
			"I7: there is a saga that is confirmed for order Z, which is not on record"},
	} {
		t.Run(name, func(t *testing.T) {
			in := goodCommands()
			c.spoil(&in)
			expectVerdict(t, in, lab.AuditInvalid, c.problem)
		})
	}
}

package audit

import (
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/systems/shop"
)

// The states of a step's row if its order is confirmed, cancelled or rejected. A rejected order may also have
// no row, or the row of a cancelled one.
const (
	reservationDone, reservationUndone, reservationRejected = "committed", "restocked", "released"
	paymentDone, paymentUndone, paymentRejected             = "captured", "refunded", "voided"
	shipmentDone, shipmentUndone                            = "shipped", "recalled"
)

// checkOrders judges each order by itself: rules 2, 4, 5, 6, 7.
func (j *judge) checkOrders() {
	for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
		order := j.State.Orders[id]
		j.checkDoubled(order)
		if !j.open(order) {
			j.checkReservation(order)
			j.checkPayment(order)
			j.checkShipment(order)
		}
	}
}

// checkDoubled finds what an order has more than once: rule 2.
func (j *judge) checkDoubled(order *Order) {
	if n := len(j.State.Payments[order.ID]); n > 1 {
		j.breach(2, "order %s has %d payments", order.ID, n)
	}
	if n := len(j.State.Shipments[order.ID]); n > 1 {
		j.breach(2, "order %s has %d shipments", order.ID, n)
	}
	reserved := map[int64]int{}
	for _, line := range j.State.Reservations[order.ID] {
		if reserved[line.Product]++; reserved[line.Product] == 2 {
			j.breach(2, "order %s has product %d reserved twice", order.ID, line.Product)
		}
	}
}

// expect judges the state of one step of a final order: rule 7. rejected are the
// states that a step of a rejected order may have.
func (j *judge) expect(order *Order, step string, states []string, done, undone string, rejected ...string) {
	allowed := rejected
	switch order.State {
	case shop.StateConfirmed:
		allowed = []string{done}
	case shop.StateCancelled:
		allowed = []string{undone}
	}
	if len(states) == 0 && order.State != shop.StateRejected {
		j.breach(7, "order %s is %s and has no %s", order.ID, order.State, step)
	}
	for _, state := range states {
		if !slices.Contains(allowed, state) {
			j.breach(7, "order %s is %s and its %s is %s", order.ID, order.State, step, state)
			return
		}
	}
}

// each returns the results of a function for all rows.
func each[R, V any](rows []R, of func(R) V) []V {
	all := make([]V, len(rows))
	for i, row := range rows {
		all[i] = of(row)
	}
	return all
}

// checkReservation compares the lines of an order with its reservation.
func (j *judge) checkReservation(order *Order) {
	rows := j.State.Reservations[order.ID]
	states := each(rows, func(r Line) string { return r.State })
	j.expect(order, "reservation", states, reservationDone, reservationUndone, reservationRejected,
		reservationUndone)
	if order.State == shop.StateRejected {
		return
	}
	want, got := quantities(j.State.Lines[order.ID]), quantities(rows)
	if !maps.Equal(want, got) {
		j.breach(6, "order %s has lines %v and reservations %v (quantities by product)", order.ID, want, got)
	}
}

func quantities(lines []Line) map[int64]int64 {
	sums := map[int64]int64{}
	for _, line := range lines {
		sums[line.Product] += line.Quantity
	}
	return sums
}

// checkPayment compares an order with its payment: rules 5 and 7.
func (j *judge) checkPayment(order *Order) {
	rows := j.State.Payments[order.ID]
	states := each(rows, func(r Payment) string { return r.State })
	j.expect(order, "payment", states, paymentDone, paymentUndone, paymentRejected, paymentUndone)
	if order.State == shop.StateRejected {
		return
	}
	total := int64(0)
	for _, line := range j.State.Lines[order.ID] {
		total += line.Quantity * line.PriceCents
	}
	if total != order.TotalCents {
		j.breach(5, "order %s has a total of %d cents and lines of %d", order.ID, order.TotalCents, total)
	}
	for _, row := range rows {
		if row.AmountCents != order.TotalCents || row.Customer != order.Customer {
			j.breach(5, "order %s of customer %d for %d cents was paid by %d with %d",
				order.ID, order.Customer, order.TotalCents, row.Customer, row.AmountCents)
		}
	}
}

func (j *judge) checkShipment(order *Order) {
	states := each(j.State.Shipments[order.ID], func(r Shipment) string { return r.State })
	j.expect(order, "shipment", states, shipmentDone, shipmentUndone, shipmentUndone)
}

// checkOrphans finds steps of orders that are not on record: rule 7. One that was
// undone or forbidden before it came does no harm.
func (j *judge) checkOrphans() {
	for _, id := range slices.Sorted(maps.Keys(j.State.Reservations)) {
		for _, row := range j.State.Reservations[id] {
			j.orphan(id, "reservation", row.State, reservationRejected, reservationUndone)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.State.Payments)) {
		for _, row := range j.State.Payments[id] {
			j.orphan(id, "payment", row.State, paymentRejected, paymentUndone)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.State.Shipments)) {
		for _, row := range j.State.Shipments[id] {
			j.orphan(id, "shipment", row.State, shipmentUndone)
		}
	}
}

func (j *judge) orphan(id, step, state string, harmless ...string) {
	if j.State.Orders[id] != nil || slices.Contains(harmless, state) {
		return
	}
	j.counts["orphans"]++
	j.breach(7, "there is a %s that is %s for order %s, which is not on record", step, state, id)
}

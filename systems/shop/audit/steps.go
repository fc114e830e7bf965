package audit

import (
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/systems/shop"
)

// stepKind describes the rows of one kind of step.
type stepKind struct {
	done, undone string // their state if the order is confirmed, or cancelled
	// harmless are the states in which they have moved nothing, or what they moved is back: if the order is
	// rejected or not on record.
	harmless []string
	// causes holds the event that a row has caused, by the first entry of its journal.
	causes map[string]string
}

// stepKinds holds the kinds of steps, by the names of their rows.
var stepKinds = map[string]stepKind{
	"reservation": {"committed", "restocked", []string{"released", "restocked"},
		map[string]string{"reserved": reserved, "released": refusedStock}},
	"payment": {"captured", "refunded", []string{"voided", "refunded"},
		map[string]string{"captured": captured, "voided": refusedMoney}},
	"shipment": {"shipped", "recalled", []string{"recalled"}, map[string]string{"shipped": shipped}},
}

// stepsOf returns the rows of the steps of an order.
func (s *State) stepsOf(id string) (all []row) {
	for _, r := range s.Reservations[id] {
		all = append(all, row{"reservation", r.State, r.Journal, r.Product == 0 && r.Quantity == 0})
	}
	for _, r := range s.Payments[id] {
		all = append(all, row{"payment", r.State, r.Journal, r.Customer == 0 && r.AmountCents == 0})
	}
	for _, r := range s.Shipments[id] {
		all = append(all, row{"shipment", r.State, r.Journal, r.Recipient == ""})
	}
	return all
}

// checkOrders judges each order by itself: rules 2, 4, 5, 6, 7.
func (j *judge) checkOrders() {
	kinds := slices.Sorted(maps.Keys(stepKinds))
	for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
		order := j.State.Orders[id]
		j.checkDoubled(order)
		if j.open(order) {
			continue
		}
		rows := j.State.stepsOf(id)
		for _, what := range kinds {
			j.checkStates(order, what, rows)
		}
		if order.State != shop.StateRejected {
			j.checkReservation(order)
			j.checkPayment(order)
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

// checkStates judges the states of one kind of steps among the rows of a final order: rule 7.
func (j *judge) checkStates(order *Order, what string, rows []row) {
	kind, found := stepKinds[what], false
	allowed := kind.harmless
	switch order.State {
	case shop.StateConfirmed:
		allowed = []string{kind.done}
	case shop.StateCancelled:
		allowed = []string{kind.undone}
	}
	for _, r := range rows {
		if r.what != what {
			continue
		}
		found = true
		if !slices.Contains(allowed, r.state) {
			j.breach(7, "order %s is %s and its %s is %s", order.ID, order.State, what, r.state)
			return
		}
	}
	if !found && order.State != shop.StateRejected {
		j.breach(7, "order %s is %s and has no %s", order.ID, order.State, what)
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

// checkReservation compares the lines of an order with its reservation: rule 6.
func (j *judge) checkReservation(order *Order) {
	want := quantities(j.State.Lines[order.ID])
	got := quantities(j.State.Reservations[order.ID])
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

// checkPayment compares an order with its payment: rule 5.
func (j *judge) checkPayment(order *Order) {
	total := int64(0)
	for _, line := range j.State.Lines[order.ID] {
		total += line.Quantity * line.PriceCents
	}
	if total != order.TotalCents {
		j.breach(5, "order %s has a total of %d cents and lines of %d", order.ID, order.TotalCents, total)
	}
	for _, row := range j.State.Payments[order.ID] {
		if row.AmountCents != order.TotalCents || row.Customer != order.Customer {
			j.breach(5, "order %s of customer %d for %d cents was paid by %d with %d",
				order.ID, order.Customer, order.TotalCents, row.Customer, row.AmountCents)
		}
	}
}

// checkOrphans finds steps of orders that are not on record: rule 7. One that was
// undone or forbidden before it came does no harm.
func (j *judge) checkOrphans() {
	for _, id := range j.ordersWithRows() {
		if j.State.Orders[id] != nil {
			continue
		}
		for _, r := range j.State.stepsOf(id) {
			if !slices.Contains(stepKinds[r.what].harmless, r.state) {
				j.orphan(id, r.what, r.state)
			}
		}
	}
}

// orphan notes something that belongs to an order, if the order is not on record.
func (j *judge) orphan(id, what, state string) {
	if j.State.Orders[id] == nil {
		j.counts["orphans"]++
		j.breach(7, "there is a %s that is %s for order %s, which is not on record", what, state, id)
	}
}

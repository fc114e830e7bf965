package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
)

// ReadSagas returns the states, by order, of the sagas that the orders drive over the broker.
func ReadSagas(ctx context.Context, db *database.DB) (map[string]string, error) {
	sagas := map[string]string{}
	err := db.Each(ctx, func(row database.Row) error {
		var order, state string
		err := row.Scan(&order, &state)
		sagas[order] = state
		return err
	}, "SELECT order_id, state FROM sagas")
	if err != nil {
		return nil, fmt.Errorf("audit the sagas: %w", err)
	}
	return sagas, nil
}

// checkSagas compares the end of each order's saga with the order: rule 4 where it has not ended, else
// rule 8. An order that was rejected at once has none.
func (j *judge) checkSagas() {
	if j.Coordination != Brokered {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
		state := j.State.Orders[id].State
		saga, begun := j.Sagas[id]
		right := string(state)
		if state == shop.StateCancelled {
			right = "undone"
		}
		switch {
		case !state.Final(): // it is stuck itself
		case !begun && state == shop.StateRejected:
		case !begun:
			j.breach(8, "order %s is %s and has no saga", id, state)
		case !slices.Contains([]string{"confirmed", "rejected", "undone"}, saga):
			j.stuck("order %s is %s, and its saga is still %s", id, state, saga)
		case saga != right:
			j.breach(8, "order %s is %s, and its saga is %s", id, state, saga)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.Sagas)) {
		j.orphan(id, "saga", j.Sagas[id])
	}
}

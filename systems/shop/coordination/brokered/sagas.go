package brokered

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The states of a saga: the command that has no reply yet, or its end.
const (
	reserving, charging, committing, shipping = "reserving", "charging", "committing", "shipping"
	releasing                                 = "releasing"
	recalling, restocking, refunding          = "recalling", "restocking", "refunding"

	confirmed, rejected, undone = "confirmed", "rejected", "undone"
)

// sagas keeps the state of the saga of each order.
type sagas struct {
	db     *database.DB
	ledger steps.Ledger
}

func newSagas(db *database.DB) sagas {
	table := steps.NewTable(db, "sagas").Of(steps.Most, "order_id", "state", "journal")
	return sagas{db, steps.NewLedger(db, table, "saga")}
}

// saga is a row of the record.
type saga struct{ order, state, journal string }

// Values implements steps.Row.
func (s saga) Values(to []any) []any { return append(to, s.order, s.state, s.journal) }

// begin writes down that orders wait for their reservations.
func (s sagas) begin(ctx context.Context, begun []string) error {
	rows := make([]steps.Row, len(begun))
	entry := steps.Entry(reserving)
	for i, order := range begun {
		rows[i] = saga{order, reserving, entry}
	}
	fresh, err := s.ledger.Begin(ctx, rows, nil, false)
	if err == nil && !fresh {
		err = rpc.Problemf(rpc.Internal, "an order of %v has a saga already", begun)
	}
	return err
}

// undo moves the saga of a confirmed order on to its compensations.
func (s sagas) undo(ctx context.Context, order string) error {
	moved, err := s.ledger.Move(ctx, []string{order}, confirmed, recalling)
	if err == nil && moved != 1 {
		err = rpc.Problemf(rpc.Internal, "order %s is confirmed, and its saga is not", order)
	}
	return err
}

// move returns the step from one state to the next. For a saga in any other state it is a Conflict: the saga
// does not wait for the reply.
func (s sagas) move(from, to string) steps.Step[*shoppb.StepRequest] {
	return func(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
		return steps.DoStatement(ctx, s.db, "move the saga of", all,
			func(ctx context.Context, all []*shoppb.StepRequest, readFirst bool) ([]steps.Outcome, error) {
				outcomes, _, err := s.ledger.AdvanceAll(ctx, steps.IDs(all), readFirst, from, to,
					func(order, _ string) steps.Outcome {
						return steps.Outcome{Err: rpc.Problemf(shop.Conflict, "the saga of order %s is not %s", order, from)}
					})
				return outcomes, err
			})
	}
}

// confirm returns the step that ends sagas and makes their orders confirmed.
func (s sagas) confirm(book *orders.Book) steps.Step[*shoppb.StepRequest] {
	move := s.move(shipping, confirmed)
	return func(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
		outcomes, err := move(ctx, all)
		if err != nil {
			return nil, err
		}
		var ended []*shoppb.StepRequest
		for i, outcome := range outcomes {
			if outcome.Err == nil {
				ended = append(ended, all[i])
			}
		}
		if len(ended) == 0 {
			return outcomes, nil
		}
		confirmations, err := book.ConfirmAll(ctx, ended)
		for _, confirmation := range confirmations {
			if err == nil {
				err = confirmation.Err
			}
		}
		if err != nil {
			return nil, fmt.Errorf("confirm orders whose sagas have ended: %w", err)
		}
		return outcomes, nil
	}
}

// CountUnderway returns the number of sagas that have not ended, also of orders that are cancelled already.
func CountUnderway(ctx context.Context, db *database.DB) (count int64, err error) {
	_, err = db.One(ctx, []any{&count}, "SELECT COUNT(*) FROM sagas WHERE state NOT IN (?, ?, ?)",
		confirmed, rejected, undone)
	return count, err
}

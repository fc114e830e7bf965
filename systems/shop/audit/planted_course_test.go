package audit_test

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/orchestrated"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The faults below leave every row in its right state, and stock and money right. Only the order of the
// entries in the journals reveals them.

// drive makes a saga carry the orders; wrap, unless nil, puts a fault around it.
func (b *bench) drive(wrap func(orders.Coordinator) orders.Coordinator) {
	b.coordination = audit.Orchestrated
	b.coordinator = func(orders.Coordinator) orders.Coordinator {
		saga := orchestrated.New(b.db, b.book,
			coordination.Asked{Catalog: b.components.Catalog, Customers: b.components.Customers}, b.components, false)
		if wrap == nil {
			return saga
		}
		return wrap(saga)
	}
}

// undoesForward takes the compensations of a cancelled order in the order of its
// steps.
type undoesForward struct {
	orders.Coordinator
	book       *orders.Book
	components shop.Parts
}

func (m undoesForward) Cancel(ctx context.Context, id string) (*shoppb.Order, error) {
	saga, moved, err := m.book.BeginCancel(ctx, id, 1)
	if err != nil || !moved {
		return nil, err
	}
	step := &shoppb.StepRequest{OrderId: id}
	if _, err := m.components.Payments.Refund(ctx, step); err != nil {
		return nil, err
	}
	if _, err := m.components.Inventory.Restock(ctx, step); err != nil {
		return nil, err
	}
	if _, err := m.components.Shipping.Recall(ctx, step); err != nil {
		return nil, err
	}
	if err := m.book.EndCancel(ctx, saga); err != nil {
		return nil, err
	}
	return m.book.Get(ctx, id)
}

// latecomer ships once more after the recall, as if a late message asked for it, and recalls that, too.
type latecomer struct {
	shop.Shipping
	ledger steps.Ledger
}

func (m latecomer) Recall(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	if _, err := m.Shipping.Recall(ctx, in); err != nil {
		return nil, err
	}
	if _, err := m.ledger.Advance(ctx, in.GetOrderId(), shipping.StateRecalled,
		shipping.StateShipped); err != nil {
		return nil, err
	}
	return m.Shipping.Recall(ctx, in)
}

// hesitant reports a shipment and makes it only when it is called for the order again. If that call is the
// recall, there is no shipment at all.
type hesitant struct {
	shop.Shipping
	waiting *shoppb.ShipRequest
}

func (m *hesitant) Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	before := m.waiting
	m.waiting = in
	if before != nil {
		if _, err := m.Shipping.Ship(ctx, before); err != nil {
			return nil, err
		}
	}
	return &shoppb.Shipment{OrderId: in.GetOrderId(), State: shipping.StateShipped, Recipient: in.GetRecipient(),
		Address: in.GetAddress()}, nil
}

func (m *hesitant) Recall(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	if m.waiting.GetOrderId() == in.GetOrderId() {
		m.waiting = nil
	}
	return m.Shipping.Recall(ctx, in)
}

// ledgerOf returns the ledger on a component's table.
func ledgerOf(db *database.DB, table, what string) steps.Ledger {
	return steps.NewLedger(db, steps.NewTable(db, table), what)
}

// forgetsRefund writes each refund into the journal twice, as if it had forgotten the first.
type forgetsRefund struct {
	shop.Payments
	ledger steps.Ledger
}

func (m forgetsRefund) Refund(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	if _, err := m.Payments.Refund(ctx, in); err != nil {
		return nil, err
	}
	_, err := m.ledger.Advance(ctx, in.GetOrderId(), payments.StateRefunded, payments.StateRefunded)
	return &shoppb.StepResponse{}, err
}

// reservesLate reports a reservation, and makes it only when the stock is sold.
type reservesLate struct {
	shop.Inventory
	asked map[string]*shoppb.ReserveRequest
}

func (m *reservesLate) Reserve(_ context.Context, in *shoppb.ReserveRequest) (*shoppb.StepResponse, error) {
	m.asked[in.GetOrderId()] = in
	return &shoppb.StepResponse{}, nil
}

func (m *reservesLate) Commit(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	if _, err := m.Inventory.Reserve(ctx, m.asked[in.GetOrderId()]); err != nil {
		return nil, err
	}
	return m.Inventory.Commit(ctx, in)
}

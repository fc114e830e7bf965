package audit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

// noRefund reports a refund and makes none.
type noRefund struct{ shop.Payments }

func (noRefund) Refund(context.Context, *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return &shoppb.StepResponse{}, nil
}

// refundTwice refunds once more.
type refundTwice struct {
	shop.Payments
	db *database.DB
}

func (m refundTwice) Refund(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	answer, err := m.Payments.Refund(ctx, in)
	if err != nil {
		return nil, err
	}
	_, err = m.db.Exec(ctx,
		`UPDATE accounts SET balance_cents = balance_cents + (SELECT amount_cents FROM payments WHERE order_id = ?)
WHERE customer_id = (SELECT customer_id FROM payments WHERE order_id = ?)`, in.GetOrderId(), in.GetOrderId())
	return answer, err
}

// chargeTwice takes the amount of an order once more if it is a multiple of ten cents.
type chargeTwice struct {
	shop.Payments
	db *database.DB
}

func (m chargeTwice) Charge(ctx context.Context, in *shoppb.ChargeRequest) (*shoppb.StepResponse, error) {
	answer, err := m.Payments.Charge(ctx, in)
	if err != nil || in.GetAmountCents()%10 != 0 {
		return answer, err
	}
	_, err = m.db.Exec(ctx, "UPDATE accounts SET balance_cents = balance_cents - ? WHERE customer_id = ?",
		in.GetAmountCents(), in.GetCustomerId())
	return answer, err
}

// stockUntouched puts back what Reserve has taken.
type stockUntouched struct {
	shop.Inventory
	db *database.DB
}

func (m stockUntouched) Reserve(
	ctx context.Context, in *shoppb.ReserveRequest,
) (*shoppb.StepResponse, error) {
	answer, err := m.Inventory.Reserve(ctx, in)
	for _, line := range in.GetLines() {
		if err == nil {
			_, err = m.db.Exec(ctx, "UPDATE stock SET on_hand = on_hand + ? WHERE product_id = ?", line.GetQuantity(),
				line.GetProductId())
		}
	}
	return answer, err
}

// noRestock reports that sold stock is back on the shelf, and does not put it there.
type noRestock struct{ shop.Inventory }

func (noRestock) Restock(context.Context, *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return &shoppb.StepResponse{}, nil
}

// noShipment reports a shipment and makes none.
type noShipment struct{ shop.Shipping }

func (noShipment) Ship(context.Context, *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	return &shoppb.Shipment{}, nil
}

// failingShipment fails at every fifth call.
type failingShipment struct {
	shop.Shipping
	calls *int
}

func (m failingShipment) Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	if *m.calls++; *m.calls%5 == 0 {
		return nil, errors.New("planted: the last step fails")
	}
	return m.Shipping.Ship(ctx, in)
}

// splitTransaction moves the payments to a database of their own, which is not part of the
// transaction of the order, and makes the last step fail at times.
func splitTransaction(t *testing.T, b *bench) {
	db := filled(t)
	b.dbs[shop.ComponentPayments] = db
	b.components.Payments = shoptest.On(db).Payments
	b.components.Shipping = failingShipment{b.components.Shipping, new(int)}
}

// answersEarly answers although the commit fails, for the orders of every fifth customer.
type answersEarly struct {
	orders.Coordinator
	db *database.DB
}

func (m answersEarly) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	var placed *shoppb.Order
	err := m.db.Do(ctx, func(ctx context.Context) (err error) {
		placed, err = m.Coordinator.Place(ctx, order)
		if err == nil && order.GetCustomerId()%5 == 0 {
			return errCommit
		}
		return err
	})
	if errors.Is(err, errCommit) {
		err = nil
	}
	return placed, err
}

var errCommit = errors.New("planted: the commit fails")

// newKeys records an order under a key that its client never sent.
type newKeys struct{ orders.Coordinator }

func (m newKeys) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	changed := proto.CloneOf(order)
	changed.IdempotencyKey = fmt.Sprintf("%s-again", order.GetIdempotencyKey())
	return m.Coordinator.Place(ctx, changed)
}

// losesCancels acknowledges a cancellation and does nothing.
type losesCancels struct {
	orders.Coordinator
	book *orders.Book
}

func (m losesCancels) Cancel(ctx context.Context, id string) (*shoppb.Order, error) {
	order, err := m.book.Get(ctx, id)
	if err == nil && order.GetState() == string(shop.StateConfirmed) {
		order.State = string(shop.StateCancelled)
		order.Version++
	}
	return order, err
}

// withState returns a function that reads orders and shows those in one state (is) as in another (shown),
// with this version.
func withState(
	book *orders.Book, is, shown shop.State, version int64,
) func(context.Context, string) (*shoppb.Order, error) {
	return func(ctx context.Context, id string) (*shoppb.Order, error) {
		order, err := book.Get(ctx, id)
		if err == nil && order.GetState() == string(is) {
			order.State = string(shown)
			order.Version = version
		}
		return order, err
	}
}

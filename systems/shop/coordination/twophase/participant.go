package twophase

import (
	"context"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Take takes the steps of a component in the transaction that the context carries.
type Take func(ctx context.Context, in *shoppb.PrepareRequest) error

// Participant implements shoppb.Participant for the components of a unit, by their names.
type Participant map[string]Member

// Member is a component that takes part.
type Member struct {
	DB   *database.DB
	Take Take
}

var _ shoppb.Participant = Participant{}

// Inventory returns the Take of the stock: reserve and commit, or restock.
func Inventory(stock shop.Inventory) Take {
	return func(ctx context.Context, in *shoppb.PrepareRequest) error {
		if in.GetCancel() != nil {
			_, err := stock.Restock(ctx, in.GetCancel())
			return err
		}
		if _, err := stock.Reserve(ctx, in.GetReserve()); err != nil {
			return err
		}
		_, err := stock.Commit(ctx, &shoppb.StepRequest{OrderId: in.GetReserve().GetOrderId()})
		return err
	}
}

// Payments returns the Take of the accounts: charge, or refund.
func Payments(accounts shop.Payments) Take {
	return func(ctx context.Context, in *shoppb.PrepareRequest) (err error) {
		if in.GetCancel() != nil {
			_, err = accounts.Refund(ctx, in.GetCancel())
		} else {
			_, err = accounts.Charge(ctx, in.GetCharge())
		}
		return err
	}
}

// Shipping returns the Take of the shipments: ship, or recall.
func Shipping(parcels shop.Shipping) Take {
	return func(ctx context.Context, in *shoppb.PrepareRequest) (err error) {
		if in.GetCancel() != nil {
			_, err = parcels.Recall(ctx, in.GetCancel())
		} else {
			_, err = parcels.Ship(ctx, in.GetShip())
		}
		return err
	}
}

// of returns a component of the unit.
func (p Participant) of(component string) (Member, error) {
	m, hosted := p[component]
	if !hosted {
		return m, rpc.Problemf(rpc.InvalidArgument, "this unit has no component %q that takes part in transactions",
			component)
	}
	return m, nil
}

// Prepare implements shoppb.Participant.
func (p Participant) Prepare(ctx context.Context, in *shoppb.PrepareRequest) (*shoppb.StepResponse, error) {
	m, err := p.of(in.GetComponent())
	if err == nil {
		err = m.DB.Prepare(ctx, in.GetTransaction(), func(ctx context.Context) error { return m.Take(ctx, in) })
	}
	return &shoppb.StepResponse{}, err
}

// End implements shoppb.Participant.
func (p Participant) End(ctx context.Context, in *shoppb.EndRequest) (*shoppb.StepResponse, error) {
	m, err := p.of(in.GetComponent())
	if err == nil {
		err = m.DB.End(ctx, in.GetTransaction(), in.GetCommit())
	}
	return &shoppb.StepResponse{}, err
}

// InDoubt implements shoppb.Participant. If components share a database, the end of a transaction's name says
// which component it belongs to.
func (p Participant) InDoubt(
	ctx context.Context, in *shoppb.InDoubtRequest,
) (*shoppb.InDoubtResponse, error) {
	m, err := p.of(in.GetComponent())
	if err != nil {
		return nil, err
	}
	names, err := m.DB.Prepared(ctx)
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasSuffix(name, separator+in.GetComponent())
	})
	return &shoppb.InDoubtResponse{Transactions: names}, err
}

// Package customers is the component that knows who buys: names and addresses. It
// knows no money.
package customers

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Customers implements shop.Customers on its table.
type Customers struct {
	db      *database.DB
	several []string // by number of customers
}

var _ shop.Customers = (*Customers)(nil)

// New makes the component on its database.
func New(db *database.DB) *Customers {
	return &Customers{db: db, several: database.TextsIn(shop.MaxPageSize,
		"SELECT customer_id, name, email, address FROM customers WHERE customer_id IN", "")}
}

// GetCustomer implements shop.Customers.
func (c *Customers) GetCustomer(
	ctx context.Context, in *shoppb.GetCustomerRequest,
) (*shoppb.Customer, error) {
	customer := &shoppb.Customer{CustomerId: in.GetCustomerId()}
	found, err := c.db.One(ctx, []any{&customer.Name, &customer.Email, &customer.Address},
		"SELECT name, email, address FROM customers WHERE customer_id = ?", in.GetCustomerId())
	if err != nil {
		return nil, fmt.Errorf("get customer %d: %w", in.GetCustomerId(), err)
	}
	if !found {
		return nil, rpc.Problemf(shop.UnknownCustomer, "there is no customer %d", in.GetCustomerId())
	}
	return customer, nil
}

// GetCustomers implements shop.Customers.
func (c *Customers) GetCustomers(
	ctx context.Context, in *shoppb.GetCustomersRequest,
) (*shoppb.GetCustomersResponse, error) {
	ids := in.GetCustomerIds()
	if len(ids) == 0 || len(ids) > shop.MaxPageSize {
		return nil, rpc.Problemf(rpc.InvalidArgument, "%d customers at once, ask for 1 to %d", len(ids),
			shop.MaxPageSize)
	}
	found := &shoppb.GetCustomersResponse{}
	err := database.EachOf(ctx, c.db, func(row database.Row) error {
		customer := &shoppb.Customer{}
		found.Customers = append(found.Customers, customer)
		return row.Scan(&customer.CustomerId, &customer.Name, &customer.Email, &customer.Address)
	}, c.several, ids)
	if err != nil {
		return nil, fmt.Errorf("get %d customers: %w", len(ids), err)
	}
	return found, nil
}

// Package customers is the component that knows who buys: names and addresses. It
// knows no money.
package customers

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Customers implements shop.Customers on its table.
type Customers struct{ db *database.DB }

var _ shop.Customers = (*Customers)(nil)

// New makes the component on its database.
func New(db *database.DB) *Customers { return &Customers{db} }

// GetCustomer implements shop.Customers.
func (c *Customers) GetCustomer(ctx context.Context, in *shoppb.GetCustomerRequest) (*shoppb.Customer, error) {
	customer := &shoppb.Customer{CustomerId: in.GetCustomerId()}
	found, err := c.db.One(ctx, []any{&customer.Name, &customer.Email, &customer.Address},
		"SELECT name, email, address FROM customers WHERE customer_id = ?", in.GetCustomerId())
	if err != nil {
		return nil, fmt.Errorf("get customer %d: %w", in.GetCustomerId(), err)
	}
	if !found {
		return nil, shop.Problemf(shop.UnknownCustomer, "there is no customer %d", in.GetCustomerId())
	}
	return customer, nil
}

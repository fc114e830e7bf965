// Package customers is the component of customers: their names and addresses.
package customers

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Customers implements shop.Customers on its table.
type Customers struct{ table Table }

var _ shop.Customers = (*Customers)(nil)

// New makes the component on its table.
func New(table Table) *Customers { return &Customers{table} }

// GetCustomer implements shop.Customers.
func (c *Customers) GetCustomer(
	ctx context.Context, in *shoppb.GetCustomerRequest,
) (*shoppb.Customer, error) {
	rows, err := c.table.Customers(ctx, []int64{in.GetCustomerId()})
	if err != nil {
		return nil, fmt.Errorf("get customer %d: %w", in.GetCustomerId(), err)
	}
	if len(rows) == 0 {
		return nil, shop.NoCustomer(in.GetCustomerId())
	}
	return rows[0].message(), nil
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
	rows, err := c.table.Customers(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("get %d customers: %w", len(ids), err)
	}
	found := &shoppb.GetCustomersResponse{}
	for _, row := range rows {
		found.Customers = append(found.Customers, row.message())
	}
	return found, nil
}

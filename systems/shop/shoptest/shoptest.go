// Package shoptest gives tests of the shop databases and histories. It is for tests only.
package shoptest

import (
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Open returns an empty database in which it has made the tables of components and filled them from a seed.
// With the zero seed they stay empty.
func Open(t testing.TB, config database.Config, seed shop.Seed, of ...string) *database.DB {
	t.Helper()
	db := databasetest.Open(t, config)
	err := schema.Create(t.Context(), db, of...)
	if err == nil && seed != (shop.Seed{}) {
		err = schema.Load(t.Context(), db, seed, of...)
	}
	testset.Must(t, err)
	return db
}

// History holds the attempts of a client, one after the other.
type History []audit.Attempt

// Add adds an attempt at an order, with the shop's answer. After a conflict or a reused key nothing was
// carried out; after any other error that is unknown.
func (h *History) Add(operation string, asked *shoppb.CreateOrderRequest, order *shoppb.Order, err error) {
	outcome := audit.OutcomeOK
	switch {
	case shop.IsKind(err, shop.Conflict), shop.IsKind(err, shop.KeyReused):
		outcome = audit.OutcomeFail
	case err != nil:
		outcome = audit.OutcomeInfo
	}
	h.Append(audit.Attempt{Operation: operation, Key: asked.GetIdempotencyKey(), Asked: audit.AskedBy(asked),
		Outcome: outcome, Order: order.GetOrderId(), State: shop.State(order.GetState()),
		Version: order.GetVersion()})
}

// Append adds an attempt and sets its times, ten nanoseconds after the one before.
func (h *History) Append(a audit.Attempt) {
	a.ActualNS = 10 * int64(len(*h))
	a.CompleteNS = a.ActualNS + 5
	*h = append(*h, a)
}

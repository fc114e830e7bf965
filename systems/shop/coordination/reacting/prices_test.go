package reacting_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// reprice gives a product another price and publishes it to the orders.
func (b *bench) reprice(t *testing.T, random *rand.Rand) {
	t.Helper()
	price, err := b.catalog.Reprice(t.Context(), &shoppb.RepriceRequest{
		ProductId: 1 + random.Int64N(seed().Products), PriceCents: 100 + random.Int64N(19_900)})
	testset.Must(t, err)
	b.history.Append(audit.Attempt{Operation: audit.OperationPrice, Outcome: audit.OutcomeOK,
		Price: &audit.Price{Product: price.GetProductId(), Version: price.GetVersion(),
			Cents: price.GetPriceCents()}})
}

// losesChanges leaves out every third change.
func losesChanges(
	keep func(context.Context, []*shoppb.ProductRepriced) error,
) func(context.Context, []*shoppb.ProductRepriced) error {
	return func(ctx context.Context, changes []*shoppb.ProductRepriced) error {
		var kept []*shoppb.ProductRepriced
		for _, change := range changes {
			if change.GetPrice().GetVersion()%3 != 0 {
				kept = append(kept, change)
			}
		}
		return keep(ctx, kept)
	}
}

// applyAll makes the replica apply every change as it comes, whatever version it has. assignment is the
// assignment of the column version.
func (p *parts) applyAll(assignment string) {
	update := "UPDATE known_products SET price_cents = ?, " + assignment + " WHERE product_id = ?"
	p.keep = func(ctx context.Context, changes []*shoppb.ProductRepriced) error {
		for _, change := range changes {
			price := change.GetPrice()
			if _, err := p.db.Exec(ctx, update, price.GetPriceCents(), price.GetVersion(),
				price.GetProductId()); err != nil {
				return err
			}
		}
		return nil
	}
}

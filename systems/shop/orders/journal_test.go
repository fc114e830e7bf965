package orders_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// expectJournal wants these words in the journal of an order.
func (b book) expectJournal(t *testing.T, id, want string) {
	t.Helper()
	var journal string
	if _, err := b.db.One(t.Context(), []any{&journal}, "SELECT journal FROM orders WHERE order_id = ?", id); err != nil {
		t.Fatal(err)
	}
	if got := regexp.MustCompile(`\d+`).ReplaceAllString(journal, " "); got != want {
		t.Errorf("the journal of order %s says %q, want %q", id, got, want)
	}
}

// TestJournalTellsTheWayOfAnOrder: every change writes one entry, and what was in
// vain none.
func TestJournalTellsTheWayOfAnOrder(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		b := open(t, fresh(t))
		ctx := t.Context()
		refused, err := b.Turn(ctx, b.begin(t, "refused", 100), &shoppb.Rejection{Kind: "declined"})
		alone, others := b.begin(t, "alone", 100), []orders.Underway{b.begin(t, "one", 100), b.begin(t, "other", 100)}
		all, errAll := b.ArriveAll(ctx, others)
		if err := errors.Join(err, errAll, b.Arrive(ctx, refused), b.Arrive(ctx, alone)); err != nil || !all {
			t.Fatal(err)
		}
		if err := b.Arrive(ctx, alone); !errors.Is(err, orders.ErrOvertaken) {
			t.Errorf("arrived twice: %v", err)
		}
		cancelled, moved, err := b.BeginCancel(ctx, alone.Order, 200)
		_, again, errAgain := b.BeginCancel(ctx, alone.Order, 300)
		if err := errors.Join(err, errAgain, b.EndCancel(ctx, cancelled)); err != nil || !moved || again {
			t.Fatal(err)
		}
		if _, err := b.Advance(ctx, others[1].Order, shop.StateConfirmed, shop.StateCancelled, nil); err != nil {
			t.Fatal(err)
		}
		b.expectJournal(t, refused.Order, "pending turned rejected ")
		b.expectJournal(t, alone.Order, "pending confirmed cancelled undone ")
		b.expectJournal(t, others[0].Order, "pending confirmed ")
		b.expectJournal(t, others[1].Order, "pending confirmed cancelled ")
	})
}

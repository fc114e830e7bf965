package orders_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// journal reads the journal of an order.
func (b book) journal(t *testing.T, id string) (journal string) {
	t.Helper()
	_, err := b.db.One(t.Context(), []any{&journal}, "SELECT journal FROM orders WHERE order_id = ?", id)
	testset.Must(t, err)
	return journal
}

// expectJournal wants these words in the journal of an order.
func (b book) expectJournal(t *testing.T, id, want string) {
	t.Helper()
	if got := regexp.MustCompile(`\d+`).ReplaceAllString(b.journal(t, id), " "); got != want {
		t.Errorf("the journal of order %s says %q, want %q", id, got, want)
	}
}

// TestJournalTellsTheWayOfAnOrder: every change writes one entry, and a change that
// fails writes none.
func TestJournalTellsTheWayOfAnOrder(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		b := open(t, fresh(t))
		ctx := t.Context()
		refused, err := b.Turn(ctx, b.begin(t, "refused", 100), &shoppb.Rejection{Kind: "declined"})
		alone := b.begin(t, "alone", 100)
		others := []orders.Underway{b.begin(t, "one", 100),
			b.begin(t, "other", 100)}
		together := errors.Join(errorsOf(t, b.db, others, b.ArriveAll)...)
		testset.Must(t, errors.Join(err, together, b.Arrive(ctx, refused), b.Arrive(ctx, alone)))
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

// TestJournalGoesByTheLock changes an order in one transaction while another waits for
// its row: the journal has the changes in the order in which the database granted the
// row, whatever the clock said.
func TestJournalGoesByTheLock(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		b := open(t, fresh(t))
		for wait := 20 * time.Millisecond; wait < time.Minute; wait *= 2 {
			u := b.begin(t, fmt.Sprintf("waits-%d", wait.Milliseconds()), 100)
			arrived := make(chan error, 1)
			err := b.db.Do(t.Context(), func(ctx context.Context) error {
				if _, err := b.Turn(ctx, u, &shoppb.Rejection{Kind: "declined"}); err != nil {
					return err
				}
				go func() { arrived <- b.Arrive(t.Context(), u) }()
				time.Sleep(wait) // for the other to read the clock; shown by the journal
				_, err := b.Turn(ctx, u, &shoppb.Rejection{Kind: "declined"})
				return err
			})
			testset.Must(t, errors.Join(err, <-arrived))
			b.expectJournal(t, u.Order, "pending turned turned confirmed ")
			if b.goesBack(t, u.Order) {
				return
			}
		}
		t.Error("no statement waited for the row: the test proves nothing")
	})
}

// goesBack reports whether a moment in the journal of an order is earlier than the one
// before it.
func (b book) goesBack(t *testing.T, id string) bool {
	t.Helper()
	last := 0
	journal := b.journal(t, id)
	for _, moment := range regexp.MustCompile(`\d+`).FindAllString(journal, -1) {
		at, err := strconv.Atoi(moment)
		testset.Must(t, err)
		if at < last {
			t.Logf("the clock goes back by %d µs: %s", last-at, journal)
			return true
		}
		last = at
	}
	return false
}

package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// twins are the orders of a batch. The first has a twin in another transaction.
var twins = []string{"0190b3d5-0000-7000-8000-000000000001", "0190b3d5-0000-7000-8000-000000000002"}

// TestATwinThatTookTheLastIsARepeat: a batch that waits for a row, and finds that the same step in another
// transaction has taken the last there was, repeats that step and is not refused.
func TestATwinThatTookTheLastIsARepeat(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		w := newWhole(t, fresh(t))
		if w.db.Driver() == database.SQLite {
			t.Skip("SQLite runs one writing transaction at a time: there is no twin")
		}
		w.meetTwin(t, "UPDATE stock SET on_hand = on_hand WHERE product_id = 1",
			func(ctx context.Context, orders []string) ([]steps.Outcome, error) {
				var all []*shoppb.ReserveRequest
				for n, order := range orders {
					all = append(all, &shoppb.ReserveRequest{OrderId: order,
						Lines: []*shoppb.Line{{ProductId: int64(1 + n), Quantity: 10}}})
				}
				return w.inventory.ReserveAll(ctx, all)
			})
		w.meetTwin(t, "UPDATE accounts SET balance_cents = balance_cents WHERE customer_id = 1",
			func(ctx context.Context, orders []string) ([]steps.Outcome, error) {
				var all []*shoppb.ChargeRequest
				for n, order := range orders {
					all = append(all, &shoppb.ChargeRequest{OrderId: order, CustomerId: int64(1 + n),
						AmountCents: 200})
				}
				return w.payments.ChargeAll(ctx, all)
			})
	})
}

// meetTwin takes a step for all twins while another transaction holds a row that they need, and takes the
// step for the first of them.
func (w *whole) meetTwin(
	t *testing.T, lock string, step func(ctx context.Context, orders []string) ([]steps.Outcome, error),
) {
	t.Helper()
	var outcomes []steps.Outcome
	ended := make(chan error, 1)
	err := w.db.Do(t.Context(), func(ctx context.Context) error {
		if _, err := w.db.Exec(ctx, lock); err != nil {
			return err
		}
		go func() {
			var err error
			outcomes, err = step(t.Context(), twins)
			ended <- err
		}()
		if err := awaitLockWait(t, w.db); err != nil {
			return err
		}
		_, err := step(ctx, twins[:1])
		return err
	})
	testset.Must(t, err)
	testset.Must(t, <-ended)
	if !outcomes[0].Repeat || outcomes[0].Err != nil || outcomes[1] != (steps.Outcome{}) {
		t.Errorf("outcomes %+v, want a repeat and one that is new", outcomes)
	}
}

// awaitLockWait waits until a transaction of the server waits for a row that another holds. MariaDB renews
// its table of transactions only where nobody has asked for a tenth of a second.
func awaitLockWait(t *testing.T, db *database.DB) error {
	query := "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
	if db.Driver() == database.PostgreSQL {
		query = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var waiting int64
		if _, err := db.One(t.Context(), []any{&waiting}, query); err != nil || waiting > 0 {
			return err
		}
	}
	return rpc.Problemf(rpc.Internal, "no transaction waits for a row after a minute")
}

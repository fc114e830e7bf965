package assembly

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

// TestALookMissesNoOrder changes orders between looks. A look may report an open order once too often, and
// must never miss one.
func TestALookMissesNoOrder(t *testing.T) {
	db := shoptest.Open(t, databasetest.Fresh(t, database.SQLite), shop.Seed{}, shop.ComponentOrders)
	look := orderLook{}
	for _, step := range []struct {
		what  string
		order string // empty: nothing happens
		state shop.State
		open  bool
	}{
		{"no orders", "", "", false},
		{"the first", "5", shop.StatePending, true},
		{"it is done, and an older one is recorded late", "3", shop.StatePending, true},
		{"", "5", shop.StateConfirmed, true},
		{"the older one is found", "", "", true},
		{"and done", "3", shop.StateRejected, true}, // the look goes through all orders once more
		{"nothing is left", "", "", false},
		{"a new one", "7", shop.StatePaid, true},
		{"and an older one, late", "6", shop.StatePending, true},
		{"the new one is done", "7", shop.StateConfirmed, true},
		{"the older one is found", "", "", true},
		{"and done", "6", shop.StateCancelled, true},
		{"nothing is left", "", "", false},
		{"and so it stays", "", "", false},
	} {
		if step.order != "" {
			shoptest.Exec(t, db, "DELETE FROM orders WHERE order_id = ?", step.order)
			shoptest.Exec(t, db, "INSERT INTO orders VALUES (?, ?, 1, 1, ?, '', '', 1, 1, NULL, '')", step.order,
				"k"+step.order, string(step.state))
		}
		open, err := look.open(t.Context(), db)
		if err != nil || open != step.open {
			t.Fatalf("%s %s %s: open %v, %v; want %v", step.what, step.order, step.state, open, err, step.open)
		}
	}
}

// TestASagaThatCompensatesIsWaitedFor although its order is cancelled, and so final.
func TestASagaThatCompensatesIsWaitedFor(t *testing.T) {
	db := shoptest.Open(t, databasetest.Fresh(t, database.SQLite), shop.Seed{}, shop.ComponentOrders,
		schema.Sagas)
	l := look{unit: &Unit{design: architecture.Design{Coordination: architecture.Brokered}}}
	for i, state := range []string{"confirmed", "recalling", "undone"} {
		shoptest.Exec(t, db, "INSERT INTO sagas VALUES (?, ?, '')", strconv.Itoa(i), state)
	}
	if open, err := l.underway(t.Context(), db); !open || err != nil {
		t.Errorf("a saga recalls a parcel: open %t, %v", open, err)
	}
	shoptest.Exec(t, db, "UPDATE sagas SET state = 'undone'")
	if open, err := l.underway(t.Context(), db); open || err != nil {
		t.Errorf("all sagas have ended: open %t, %v", open, err)
	}
}

// TestAwaitEndsWithTheLastLook: no pause follows the last look.
func TestAwaitEndsWithTheLastLook(t *testing.T) {
	for _, quiet := range []int{1, 2, 10} {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			begun := time.Now()
			err := await(t.Context(), quiet, func(context.Context) (bool, error) {
				looks++
				return looks == 1, nil
			})
			took := time.Since(begun)
			want := quiet + 1
			if err != nil || looks != want || took != time.Duration(want-1)*lookInterval {
				t.Errorf("%d looks in %v, %v; want %d, and a pause between two", looks, took, err, want)
			}
		})
	}
}

// TestAwaitEndsWithAnError: the caller is told at once that a look has failed.
func TestAwaitEndsWithAnError(t *testing.T) {
	planted := errors.New("planted")
	looks := 0
	err := await(t.Context(), 2, func(context.Context) (bool, error) {
		looks++
		return false, planted
	})
	if !errors.Is(err, planted) || looks != 1 {
		t.Errorf("%d looks, %v; want one, and its error", looks, err)
	}
}

package assembly

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/coordination/brokered"
	"github.com/cleave-lab/cleave/systems/shop/orders"
)

// A look is one check of a unit for pending work.
const (
	lookInterval = 20 * time.Millisecond
	// settledLooks is the number of looks in a row that must find nothing left and nothing newly taken in before
	// the shop has settled: a message between broker and unit is visible nowhere. The first look only learns
	// what has been taken in. If more orders follow at once, followedLooks are enough.
	settledLooks, followedLooks = 3, 2
	// stuckLooks is the number of looks in a row that must find no message on its way before open orders count
	// as stuck, in designs that may lose events: no unit will complete these orders.
	stuckLooks = 50
)

// await calls left again and again, until it has returned false quiet times in a row. It returns the first
// error of left, or that of the context.
func await(ctx context.Context, quiet int, left func(context.Context) (bool, error)) error {
	for looks := 1; ; looks++ {
		more, err := left(ctx)
		if err != nil {
			return err
		}
		if more {
			looks = 0
		}
		if looks == quiet {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookInterval):
		}
	}
}

// look checks whether work is left: an order that is not final, a coordinator that works on one, or an event
// on its way.
type look struct {
	unit   *Unit
	orders orderLook
	final  time.Time // when all orders were first found final, or stuck; zero: some are open
	before int64     // messages that all units had taken in at the last look
	still  int       // looks in a row in which orders were open and nothing was on its way
}

// left reports whether there is something left to do.
func (l *look) left(ctx context.Context) (bool, error) {
	db, err := l.unit.looker(ctx, l.unit.design.DatabaseOf(shop.ComponentOrders))
	if err != nil {
		return false, err
	}
	open, err := l.orders.open(ctx, db)
	if err == nil && !open {
		open, err = l.underway(ctx, db)
	}
	if err == nil && !open {
		open, err = l.unit.inDoubt(ctx)
	}
	losesEvents := l.unit.design.Broker != "" && l.unit.design.Publishing == architecture.DualWrite
	switch {
	case err != nil:
		return false, err
	case open && losesEvents:
		return l.moving(ctx)
	case open:
		l.final = time.Time{}
		return true, nil
	case l.final.IsZero():
		l.final = time.Now()
	}
	return l.onItsWay(ctx)
}

// underway reports whether a coordinator works on an order or its saga.
func (l *look) underway(ctx context.Context, db *database.DB) (bool, error) {
	count, err := orders.CountUnderway(ctx, db)
	if err == nil && count == 0 && l.unit.design.Coordination == architecture.Brokered {
		count, err = brokered.CountUnderway(ctx, db)
	}
	return count > 0, err
}

// moving reports whether open orders may still become final. Orders whose events are lost never do.
func (l *look) moving(ctx context.Context) (bool, error) {
	more, err := l.onItsWay(ctx)
	if err != nil || more {
		l.still = 0
		l.final = time.Time{}
		return more, err
	}
	if l.final.IsZero() {
		l.final = time.Now()
	}
	l.still++
	return l.still < stuckLooks, nil
}

// onItsWay reports whether an event is on its way, or a unit works on one.
func (l *look) onItsWay(ctx context.Context) (bool, error) {
	more, err := l.unit.messagesLeft(ctx)
	if err != nil || more || l.unit.design.Broker == "" {
		return more, err
	}
	before := l.before
	l.before, err = l.unit.takenByAll(ctx)
	return l.before == event.Working || l.before != before, err
}

// orderLook looks for orders that are not final. Their ids rise with time, so it
// goes on where it has found the last one. Before it reports that there is none, it
// goes through all of them once more, because one may be recorded late.
type orderLook struct {
	from string // all orders before it were final
	sure bool   // a look through all orders has found none; only new ones are looked at since
}

// open reports whether there may be an order that is not final.
func (l *orderLook) open(ctx context.Context, db *database.DB) (bool, error) {
	var newest string
	if !l.sure {
		if _, err := db.One(ctx, []any{&newest}, "SELECT COALESCE(MAX(order_id), '') FROM orders"); err != nil {
			return false, err
		}
	}
	found, err := db.One(ctx, []any{&l.from},
		"SELECT order_id FROM orders WHERE order_id >= ? AND state NOT IN (?, ?, ?) ORDER BY order_id LIMIT 1",
		l.from, string(shop.StateConfirmed), string(shop.StateRejected), string(shop.StateCancelled))
	switch {
	case err != nil:
		return false, err
	case found:
		l.sure = false
		return true, nil
	case l.sure:
		return false, nil
	case l.from == "":
		l.from = newest
		l.sure = true
		return false, nil
	}
	l.from = ""
	return true, nil
}

// messagesLeft reports whether there are events that are not published yet, or not taken in.
func (u *Unit) messagesLeft(ctx context.Context) (bool, error) {
	if u.around.Broker == nil {
		return false, nil
	}
	if u.around.Broker.Held() > 0 {
		return true, nil
	}
	if more, err := u.unpublished(ctx); err != nil || more {
		return more, err
	}
	for _, queue := range u.design.Topology().Queues {
		depth, err := u.around.Broker.Depth(ctx, queue.Name)
		if err != nil || Waiting(depth) > 0 {
			return Waiting(depth) > 0, err
		}
	}
	return false, nil
}

// unpublished reports whether a database of the unit has events that are not published yet.
func (u *Unit) unpublished(ctx context.Context) (bool, error) {
	for name := range u.opened {
		db, err := u.looker(ctx, name)
		if err != nil {
			return false, err
		}
		if n, err := event.Pending(ctx, db); err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}

// Waiting returns the number of messages in a queue: some brokers do not count unacknowledged ones.
func Waiting(d broker.Depth) int64 { return int64(d.Ready + max(d.Unacked, 0)) }

// SettledPath is a path of the units that take orders, for measurements. The answer, 204, comes as soon as
// every order is final and no saga and no message is under way, as far as the unit can see, those for read
// models included. The header Server-Timing has the time until all orders were final, in milliseconds. If a
// look fails, as over a connection from before a restart, the answer is 503, and the generator asks again.
// The path is not part of the shop's public interface.
const SettledPath = "/settled"

// BetweenPath is SettledPath for use between orders: fewer looks must find nothing.
const BetweenPath = SettledPath + "?" + moreFollow

const moreFollow = "orders=follow"

// withSettled puts SettledPath in front of the public interface until ctx ends.
func (u *Unit) withSettled(ctx context.Context, public http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == takenPath && r.Method == http.MethodGet && u.around.Broker != nil {
			u.answerTaken(w, r)
			return
		}
		if r.URL.Path != SettledPath || r.Method != http.MethodGet {
			public.ServeHTTP(w, r)
			return
		}
		limited, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		u.answerSettled(limited, w, r.URL.RawQuery == moreFollow)
	})
}

// answerSettled answers SettledPath, or BetweenPath if more orders follow.
func (u *Unit) answerSettled(ctx context.Context, w http.ResponseWriter, follow bool) {
	asked := time.Now()
	connection := http.NewResponseController(w)
	for _, unlimited := range []func(time.Time) error{connection.SetReadDeadline, connection.SetWriteDeadline} {
		if err := unlimited(time.Time{}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	work := look{unit: u, before: event.Working}
	quiet := 1
	if u.design.Broker != "" {
		quiet = settledLooks - 1
		if follow {
			quiet = followedLooks - 1
		}
	}
	if err := await(ctx, quiet, work.left); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	milliseconds := 1e3 * work.final.Sub(asked).Seconds()
	w.Header().Set("Server-Timing", fmt.Sprintf("settle;dur=%.3f", milliseconds))
	w.WriteHeader(http.StatusNoContent)
}

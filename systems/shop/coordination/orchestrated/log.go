package orchestrated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// goal is where a saga is going.
type goal string

const (
	confirm goal = "confirm" // forward through all steps
	reject  goal = "reject"  // back: a step was refused
	cancel  goal = "cancel"  // back from the end: the customer wants it
)

// saga is a row of the log: an order that is not where it is going.
type saga struct {
	order  string
	goal   goal
	reason *shoppb.Rejection // of reject
	lease  int64             // microseconds since 1970; nobody else works on it before
}

// errOvertaken means that the saga has another goal by now, or is done: somebody
// else works on it.
var errOvertaken = errors.New("the saga was taken over")

// log is the table of sagas. It lies in the database of the orders, so that an
// order and its saga change in one transaction.
type log struct{ db *database.DB }

// begin writes down that an order is on its way.
func (l log) begin(ctx context.Context, s saga) error {
	_, err := l.db.Exec(ctx, "INSERT INTO sagas (order_id, goal, reason_kind, reason_detail, lease_until_us) VALUES (?, ?, ?, ?, ?)",
		s.order, string(s.goal), s.reason.GetKind(), s.reason.GetDetail(), s.lease)
	return about("begin", s.order, err)
}

// turn writes down that a saga goes back, before its first compensation.
func (l log) turn(ctx context.Context, s saga, reason *shoppb.Rejection) error {
	changed, err := l.db.Exec(ctx, "UPDATE sagas SET goal = ?, reason_kind = ?, reason_detail = ? WHERE order_id = ? AND goal = ?",
		string(reject), reason.GetKind(), reason.GetDetail(), s.order, string(confirm))
	return about("turn", s.order, once(changed, err))
}

// end removes a saga that is where it was going.
func (l log) end(ctx context.Context, s saga) error {
	changed, err := l.db.Exec(ctx, "DELETE FROM sagas WHERE order_id = ? AND goal = ?", s.order, string(s.goal))
	return about("end", s.order, once(changed, err))
}

// take extends the lease of a saga that nobody holds.
func (l log) take(ctx context.Context, s saga, until time.Time) error {
	changed, err := l.db.Exec(ctx, "UPDATE sagas SET lease_until_us = ? WHERE order_id = ? AND lease_until_us = ?",
		until.UnixMicro(), s.order, s.lease)
	return about("take", s.order, once(changed, err))
}

// abandoned lists sagas whose lease is over, the oldest first.
func (l log) abandoned(ctx context.Context, now time.Time, limit int) ([]saga, error) {
	var found []saga
	err := l.db.Each(ctx, func(row database.Row) error {
		s := saga{reason: &shoppb.Rejection{}}
		if err := row.Scan(&s.order, &s.goal, &s.reason.Kind, &s.reason.Detail, &s.lease); err != nil {
			return err
		}
		found = append(found, s)
		return nil
	}, "SELECT order_id, goal, reason_kind, reason_detail, lease_until_us FROM sagas WHERE lease_until_us < ? ORDER BY lease_until_us LIMIT ?",
		now.UnixMicro(), limit)
	if err != nil {
		return nil, fmt.Errorf("look for abandoned sagas: %w", err)
	}
	return found, nil
}

// once insists on one changed row.
func once(changed int64, err error) error {
	if err == nil && changed != 1 {
		return errOvertaken
	}
	return err
}

func about(doing, order string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the saga of order %s: %w", doing, order, err)
}

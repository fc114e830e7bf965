package event

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/spans"
)

// Outbox stores the messages of the components that share a database, until its Relay
// has published them. A process has one Outbox with one Relay per database.
type Outbox struct {
	db     *database.DB
	owner  string
	routes routes
	insert []string      // statements by number of rows (see database.Texts)
	wake   chan struct{} // wakes the relay
}

// NewOutbox returns the outbox of a process on a database. owner identifies the process
// among all that use this database. It stays the same after a restart, so that the new
// process publishes the messages of the old one at once.
func NewOutbox(db *database.DB, owner string, topology broker.Topology) *Outbox {
	o := &Outbox{db: db, owner: owner, routes: routesOf(topology), wake: make(chan struct{}, 1)}
	o.insert = database.Texts(perInsert, func(rows int) string {
		return "INSERT INTO outbox (owner, messages) VALUES " + database.Values(rows, insertColumns)
	})
	return o
}

// Add writes messages in the transaction that the context carries, or in one of its
// own; they are published after its commit. Messages of one key are published in the
// order of their transactions if these exclude each other, for example because each
// changes the same row before it calls Add.
//
// Messages of a type without a queue are dropped, because the broker would refuse them. A message without
// an id is an error.
func (o *Outbox) Add(ctx context.Context, messages ...broker.Message) error {
	wanted, err := o.routes.routed(ctx, messages)
	if err != nil || len(wanted) == 0 {
		return err
	}
	return o.db.Do(ctx, func(ctx context.Context) error { return o.write(ctx, wanted) })
}

// routes is the set of message types that have a queue.
type routes map[string]bool

func routesOf(topology broker.Topology) routes {
	r := routes{}
	for _, queue := range topology.Queues {
		for _, kind := range queue.Types {
			r[kind] = true
		}
	}
	return r
}

// routed returns the messages whose type has a queue, each with the traceparent of the operation that sends
// it.
func (r routes) routed(ctx context.Context, messages []broker.Message) ([]broker.Message, error) {
	wanted := make([]broker.Message, 0, len(messages))
	for _, m := range messages {
		if !r[m.Type] {
			continue
		}
		if m.ID == "" {
			return nil, fmt.Errorf("a message of type %s has no id: repetitions would go unnoticed", m.Type)
		}
		// In a batch it is the operation whose key equals the message's.
		if header := spans.Traceparent(ctx, m.Key); header != "" {
			m.Headers = withTraceparent(m.Headers, header)
		}
		wanted = append(wanted, m)
	}
	return wanted, nil
}

const (
	perInsert     = 8 // rows that one statement inserts at most
	insertColumns = 2 // owner, messages
)

// write inserts the messages, perRow to a row, and wakes the relay after the commit.
func (o *Outbox) write(ctx context.Context, messages []broker.Message) error {
	var values []any
	for part := range slices.Chunk(messages, perRow) {
		values = append(values, o.owner, pack(part))
	}
	if _, err := o.db.ExecRows(ctx, o.insert, insertColumns, values); err != nil {
		return fmt.Errorf("write to the outbox: %w", err)
	}
	o.db.AfterCommit(ctx, o.notify)
	return nil
}

// notify wakes the relay. It does not block: a pending wake-up is enough.
func (o *Outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Pending returns the number of rows in the outbox, of all owners: those that are not
// published yet and those that are published but not removed yet.
func Pending(ctx context.Context, db *database.DB) (int64, error) {
	var pending int64
	_, err := db.One(ctx, []any{&pending}, "SELECT COUNT(*) FROM outbox")
	return pending, err
}

// row is a row of the outbox: messages of one transaction.
type row struct {
	position int64
	owner    string
	messages []broker.Message
}

// head returns up to limit rows with the lowest positions, of all owners.
func (o *Outbox) head(ctx context.Context, limit int) ([]row, error) {
	var rows []row
	err := o.db.Each(ctx, func(from database.Row) error {
		var r row
		var packed []byte
		err := from.Scan(&r.position, &r.owner, &packed)
		if err == nil {
			r.messages, err = unpack(packed)
		}
		rows = append(rows, r)
		return err
	}, "SELECT position, owner, messages FROM outbox ORDER BY position LIMIT ?", limit)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return rows, nil
}

// remove deletes rows by position.
func (o *Outbox) remove(ctx context.Context, positions []int64) error {
	return o.db.Do(ctx, func(ctx context.Context) error {
		for part := range slices.Chunk(positions, stride) {
			// The last position is repeated to fill the statement up, so that all batches use the
			// same prepared statement; only a single row, the common case at low load, has its own.
			args := make([]any, stride)
			for i := range args {
				args[i] = part[min(i, len(part)-1)]
			}
			if len(part) == 1 {
				args = args[:1]
			}
			text := "DELETE FROM outbox WHERE position IN (" + database.Placeholders(len(args)) + ")"
			if _, err := o.db.Exec(ctx, text, args...); err != nil {
				return fmt.Errorf("remove published messages: %w", err)
			}
		}
		return nil
	})
}

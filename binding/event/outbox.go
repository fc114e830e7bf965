package event

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
)

// Outbox keeps the messages of the components on a database. There is one
// of a database in a process, with one Relay.
type Outbox struct {
	db     *database.DB
	owner  string
	routes routes
	insert []string // by number of rows
	wake   chan struct{}
}

// NewOutbox makes the outbox of a process on a database. owner names the process
// among all that use this database, the same after a restart: it then finds its
// messages at once.
func NewOutbox(db *database.DB, owner string, topology broker.Topology) *Outbox {
	o := &Outbox{db: db, owner: owner, routes: routesOf(topology), wake: make(chan struct{}, 1)}
	o.insert = database.Texts(perInsert, func(rows int) string {
		return "INSERT INTO outbox (owner, messages) VALUES " + database.Values(rows, 2)
	})
	return o
}

// Add leaves messages in the transaction that the context carries, or in one of
// its own: they are told when it is committed. Those of one key are told in the
// order in which their transactions wrote, provided that something makes these
// wait for each other: a row that they change before they Add.
//
// A message that no queue takes in has nobody to be told to and is left out.
func (o *Outbox) Add(ctx context.Context, messages ...broker.Message) error {
	told, err := o.routes.only(ctx, messages)
	if err != nil || len(told) == 0 {
		return err
	}
	return o.db.Do(ctx, func(ctx context.Context) error { return o.write(ctx, told) })
}

// routes holds the types of messages that a queue takes in.
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

// only returns the messages that a queue takes in, each with the trace of the context.
func (r routes) only(ctx context.Context, messages []broker.Message) ([]broker.Message, error) {
	told := make([]broker.Message, 0, len(messages))
	for _, m := range messages {
		if !r[m.Type] {
			continue
		}
		if m.ID == "" {
			return nil, fmt.Errorf("a message of type %s has no id: without one a repetition cannot be told", m.Type)
		}
		m.Headers = withTrace(ctx, m)
		told = append(told, m)
	}
	return told, nil
}

// perInsert is the number of rows that one statement inserts.
const perInsert = 8

// write inserts rows of messages.
func (o *Outbox) write(ctx context.Context, messages []broker.Message) error {
	var values []any
	for part := range slices.Chunk(messages, perRow) {
		values = append(values, o.owner, pack(part))
	}
	if _, err := o.db.ExecRows(ctx, o.insert, 2, values); err != nil {
		return fmt.Errorf("write to the outbox: %w", err)
	}
	o.db.AfterCommit(ctx, o.notify)
	return nil
}

// notify wakes the relay; waking it twice is once.
func (o *Outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Pending counts what is in the outbox, whoever left it: rows of messages that are
// not told yet, and the last that were.
func Pending(ctx context.Context, db *database.DB) (int64, error) {
	var pending int64
	_, err := db.One(ctx, []any{&pending}, "SELECT COUNT(*) FROM outbox")
	return pending, err
}

// row holds messages that a transaction left, with their place in the outbox.
type row struct {
	position int64
	owner    string
	messages []broker.Message
}

// head reads up to limit rows from the beginning, whoever left them.
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

// remove forgets rows by position.
func (o *Outbox) remove(ctx context.Context, positions []int64) error {
	return o.db.Do(ctx, func(ctx context.Context) error {
		for part := range slices.Chunk(positions, stride) {
			// The last position fills the statement up: so there is one text for all.
			args := make([]any, stride)
			for i := range args {
				args[i] = part[min(i, len(part)-1)]
			}
			if len(part) == 1 {
				args = args[:1]
			}
			text := "DELETE FROM outbox WHERE position IN (" + database.Placeholders(len(args)) + ")"
			if _, err := o.db.Exec(ctx, text, args...); err != nil {
				return fmt.Errorf("forget what was told: %w", err)
			}
		}
		return nil
	})
}

// errNoOwner is a mistake of who assembles.
var errNoOwner = errors.New("the outbox has no owner: name the process")

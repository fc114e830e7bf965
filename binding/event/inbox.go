package event

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
)

// inbox records which messages each consumer has handled. The record is written in
// the transaction in which the message has its effect: both exist or neither.
type inbox struct {
	db     *database.DB
	insert []string // insert[n] is the statement for n rows of inboxColumns; find and remove are for n ids
	find   []string
	remove []string
}

// inboxColumns is the number of columns of the inbox: consumer, id, received_us.
const inboxColumns = 3

// newInbox returns the inbox of a database whose tables exist.
func newInbox(db *database.DB) *inbox {
	ids := func(begin string) []string {
		return database.TextsIn(stride, begin+" FROM inbox WHERE consumer = ? AND id IN", "")
	}
	keep := db.KeepExisting("id")
	return &inbox{db: db, find: ids("SELECT id"), remove: ids("DELETE"),
		insert: database.Texts(stride, func(rows int) string {
			return "INSERT INTO inbox (consumer, id, received_us) VALUES " + database.Values(rows, inboxColumns) + keep
		})}
}

// errRepeats means that some messages of a batch were handled before.
var errRepeats = errors.New("some of the messages were handled before")

// record records messages in the transaction that the context carries. It returns errRepeats if one of them
// is recorded already. If two transactions record the same message, one waits for the other's end.
func (i *inbox) record(ctx context.Context, consumer string, messages []broker.Message) error {
	values := make([]any, 0, inboxColumns*len(messages))
	now := time.Now().UnixMicro()
	for _, m := range messages {
		values = append(values, consumer, m.ID, now)
	}
	added, err := i.db.ExecRows(ctx, i.insert, inboxColumns, values)
	switch {
	case err != nil:
		return fmt.Errorf("write to the inbox of %s: %w", consumer, err)
	case added != int64(len(messages)):
		return errRepeats
	}
	return nil
}

// unknown returns the messages that the consumer has not handled yet.
func (i *inbox) unknown(
	ctx context.Context, consumer string, messages []broker.Message,
) ([]broker.Message, error) {
	handled := map[string]bool{}
	for part := range slices.Chunk(messages, stride) {
		args := []any{consumer}
		for _, m := range part {
			args = append(args, m.ID)
		}
		err := i.db.Each(ctx, func(row database.Row) error {
			var id string
			err := row.Scan(&id)
			handled[id] = true
			return err
		}, i.find[len(part)], args...)
		if err != nil {
			return nil, fmt.Errorf("read the inbox of %s: %w", consumer, err)
		}
	}
	return slices.DeleteFunc(slices.Clone(messages), func(m broker.Message) bool { return handled[m.ID] }), nil
}

// prune removes the records of a consumer that are older than a time. A message that comes
// again after its record is removed is handled a second time. So records must be kept for
// longer than a message can wait in the outbox of a stopped process, or in the queue of a
// stopped consumer.
func (i *inbox) prune(ctx context.Context, consumer string, before time.Time) error {
	for {
		args := []any{consumer}
		err := i.db.Each(ctx, func(row database.Row) error {
			var id string
			err := row.Scan(&id)
			args = append(args, id)
			return err
		}, "SELECT id FROM inbox WHERE consumer = ? AND received_us < ? LIMIT ?", consumer, before.UnixMicro(),
			stride)
		if err == nil && len(args) > 1 {
			_, err = i.db.Exec(ctx, i.remove[len(args)-1], args...)
		}
		if err != nil {
			return fmt.Errorf("prune the inbox of %s: %w", consumer, err)
		}
		if len(args) <= stride {
			return nil
		}
	}
}

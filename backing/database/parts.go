package database

import (
	"context"
	"fmt"
)

// Try runs work as a part of the transaction that the context carries. If work fails,
// only its changes are undone (by a savepoint), and the transaction can go on. Without a
// transaction Try is Do.
//
// The caller may go on only after errors that it expects, such as those of its own rules.
// It must return any other error, because the database may have ended the whole
// transaction (deadlock).
func (db *DB) Try(ctx context.Context, work func(ctx context.Context) error) error {
	current := db.ambient(ctx)
	if current == nil {
		return db.Do(ctx, work)
	}
	doomed := current.doomed
	after := len(current.after)
	writes := current.writes
	current.parts++
	defer func() { current.parts-- }()
	// Names differ by depth: a nested savepoint of the same name may replace the outer one.
	name := fmt.Sprintf("part_%d", current.parts)
	if err := db.control(ctx, "SAVEPOINT "+name); err != nil {
		return err
	}
	err := work(ctx)
	isDoomed := doomed == nil && current.doomed != nil // by the part
	if err == nil && isDoomed {
		err = fmt.Errorf("%w: %w", ErrDoomed, current.doomed)
	}
	if err == nil {
		return db.control(ctx, "RELEASE SAVEPOINT "+name)
	}
	if rollbackErr := db.control(ctx, "ROLLBACK TO SAVEPOINT "+name); rollbackErr != nil {
		current.doomed = err // the transaction has ended, or still contains changes of the part
		return err
	}
	current.doomed = doomed
	current.after = current.after[:after]
	current.writes = writes
	return err
}

// control runs a statement that changes no rows by itself.
func (db *DB) control(ctx context.Context, text string) error {
	_, err := db.Exec(ctx, text)
	return err
}

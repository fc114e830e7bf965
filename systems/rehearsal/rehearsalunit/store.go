package rehearsalunit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
)

// storeRows is the number of rows in the database of a store.
const storeRows = 1000

// embeddedStore is a store inside this unit. It serves as many concurrent visits as it has workers.
type embeddedStore struct {
	workers chan struct{} // nil: no limit
	sleeper *sleeper
	db      *database.DB // nil: no visit commits
}

// openStore opens a store with a number of workers; 0: no limit. If commits is set, the store has a SQLite
// database in the folder dir.
func openStore(
	ctx context.Context, dir, name string, workers int, commits bool, sleeper *sleeper,
) (*embeddedStore, error) {
	s := &embeddedStore{sleeper: sleeper}
	if workers > 0 {
		s.workers = make(chan struct{}, workers)
	}
	if !commits {
		return s, nil
	}
	var err error
	s.db, err = database.OpenSQLite(ctx, database.Config{DSN: filepath.Join(dir, name+".sqlite")})
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", name, err)
	}
	err = s.db.Do(ctx, func(ctx context.Context) error {
		_, err := s.db.Exec(ctx, "CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, n INTEGER, load TEXT)")
		for id := 0; id < storeRows && err == nil; id++ {
			_, err = s.db.Exec(ctx, "INSERT OR IGNORE INTO entry VALUES (?, 0, ?)", id, filler(100))
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fill the store %s: %w", name, err), s.db.Close())
	}
	return s, nil
}

// visit plays a visit. If the model has commits for it, visit executes them, however long they take;
// otherwise it waits. A visit that draws no commit does not wait, either: the wait in the model is a mean
// over all visits and comes mostly from commits, since statements in an embedded database are mostly CPU
// time.
func (s *embeddedStore) visit(ctx context.Context, v visit, wait time.Duration) error {
	if s.workers != nil {
		select {
		case s.workers <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-s.workers }()
	}
	if s.db == nil || v.Commits == 0 {
		return s.sleeper.sleep(wait)
	}
	commits := executions(v.Commits)
	all := int(v.Statements + 0.5)
	for i := range commits {
		statements := all / commits
		if i == 0 { // the first commit also gets the remainder
			statements += all % commits
		}
		if err := s.commit(ctx, max(1, statements)); err != nil {
			return err
		}
	}
	return nil
}

// commit executes a number of statements, each of which changes a row, in one transaction.
func (s *embeddedStore) commit(ctx context.Context, statements int) error {
	return s.db.Do(ctx, func(ctx context.Context) error {
		for range statements {
			_, err := s.db.Exec(ctx, "UPDATE entry SET n = n + 1 WHERE id = ?", rand.IntN(storeRows))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Close closes the database, if any.
func (s *embeddedStore) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

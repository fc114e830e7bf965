package database_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
)

// waitAtCommit creates a trigger that makes the commit of a transaction that has changed items wait for an
// advisory lock. It catches the driver's request to cancel the commit, as if the request came too late.
const waitAtCommit = `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1);
  RETURN NULL;
EXCEPTION WHEN query_canceled THEN
  RETURN NULL;
END $$`

// TestCommitThatIsCutOff ends the context of a transaction during its commit. The driver of PostgreSQL then
// gives up, but the server commits. So Do returns the end of the context, and the outcome counts as unknown:
// neither as a commit nor as a rollback.
func TestCommitThatIsCutOff(t *testing.T) {
	db := table(t, databasetest.Fresh(t, database.PostgreSQL))
	run(t, db, waitAtCommit)
	run(t, db, "CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON items DEFERRABLE INITIALLY DEFERRED "+
		"FOR EACH ROW EXECUTE FUNCTION wait()")
	holder, release := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() {
		_ = db.Do(holder, func(ctx context.Context) error {
			_, err := db.Exec(ctx, "SELECT pg_advisory_xact_lock(1)")
			close(held)
			<-ctx.Done()
			return err
		})
	}()
	<-held
	before := db.Counters()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- db.Do(ctx, func(ctx context.Context) error {
			_, err := db.Exec(ctx, "UPDATE items SET amount = 11 WHERE name = 'a'")
			return err
		})
	}()
	const waits = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND " +
		"database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	for waiting := int64(0); waiting == 0; time.Sleep(time.Millisecond) {
		_, err := db.One(t.Context(), []any{&waiting}, waits)
		must(t, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v, want the end of the context", err)
	}
	after := db.Counters()
	if after.Commits != before.Commits || after.Rollbacks != before.Rollbacks {
		t.Errorf("%d commits and %d rollbacks, want none of a transaction whose outcome is unknown",
			after.Commits-before.Commits, after.Rollbacks-before.Rollbacks)
	}
	for amount(t, t.Context(), db, "a") != 11 { // until the server has committed
		time.Sleep(time.Millisecond)
	}
	release()
}

// TestCommitInContention fails every commit of a transaction as PostgreSQL does one that it cannot serialise.
// The database has rolled the transaction back, so each attempt counts as a rollback.
func TestCommitInContention(t *testing.T) {
	db := table(t, databasetest.Fresh(t, database.PostgreSQL))
	run(t, db, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$`)
	run(t, db, "CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON items DEFERRABLE INITIALLY DEFERRED "+
		"FOR EACH ROW EXECUTE FUNCTION refuse()")
	before := db.Counters()
	err := db.Do(t.Context(), func(ctx context.Context) error {
		_, err := db.Exec(ctx, "UPDATE items SET amount = 11 WHERE name = 'a'")
		return err
	})
	if err == nil {
		t.Error("Do = nil, want an error")
	}
	after := db.Counters()
	retries := after.Retries - before.Retries
	rollbacks := after.Rollbacks - before.Rollbacks
	if retries == 0 || rollbacks != retries+1 {
		t.Errorf("%d rollbacks and %d retries, want a rollback per attempt", rollbacks, retries)
	}
}

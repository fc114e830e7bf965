package database

import (
	"context"
	"fmt"
)

// Syncs returns the number of syncs to disk that the server has made for all its databases
// since it was started: of log and data (MariaDB), or of the write-ahead log (PostgreSQL,
// which publishes the numbers of a session at its end or after ten idle seconds). known is
// false for SQLite, which has no such number: there every writing commit syncs the log.
func (db *DB) Syncs(ctx context.Context) (syncs int64, known bool, err error) {
	var query string
	switch db.driver {
	case MariaDB:
		query = "SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status WHERE variable_name " +
			"= 'INNODB_DATA_FSYNCS'"
	case PostgreSQL:
		query = "SELECT wal_sync FROM pg_stat_wal"
	default:
		return 0, false, nil
	}
	if _, err := db.One(ctx, []any{&syncs}, query); err != nil {
		return 0, false, fmt.Errorf("read how often %s has forced its files to the disk: %w", db.driver, err)
	}
	return syncs, true, nil
}

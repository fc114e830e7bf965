package database

import (
	"context"
	"fmt"
)

// Syncs reads how often the server, for all its databases, has forced what it wrote
// onto the disk since it was started: log and data (MariaDB), the write-ahead log
// (PostgreSQL, which tells of a session when that has ended or was idle for ten
// seconds). known is false for SQLite, which counts nothing: there every commit
// that writes, forces the log.
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

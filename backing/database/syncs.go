package database

import (
	"context"
	"fmt"
)

// Syncs returns how often the server has synced files to disk since it was started, for
// all of its databases. In MariaDB these are log and data files, in PostgreSQL only the
// write-ahead log; PostgreSQL publishes the numbers of a session at its end or after ten
// idle seconds. known is false for SQLite, which does not count syncs: it syncs the log in
// every commit that has written something.
func (db *DB) Syncs(ctx context.Context) (syncs int64, known bool, err error) {
	var query string
	switch db.driver {
	case MariaDB:
		query = "SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status WHERE variable_name " +
			"= 'INNODB_DATA_FSYNCS'"
	case PostgreSQL:
		query = "SELECT wal_sync FROM pg_stat_wal"
		var version int64
		_, err = db.One(ctx, []any{&version}, "SELECT current_setting('server_version_num')::int")
		if version >= 180000 { // version 18 has moved the number
			query = "SELECT COALESCE(SUM(fsyncs), 0)::bigint FROM pg_stat_io WHERE object = 'wal'"
		}
	default:
		return 0, false, nil
	}
	if err == nil {
		_, err = db.One(ctx, []any{&syncs}, query)
	}
	if err != nil {
		return 0, false, fmt.Errorf("read how often %s has forced its files to the disk: %w", db.driver, err)
	}
	return syncs, true, nil
}

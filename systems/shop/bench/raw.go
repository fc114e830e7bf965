package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/figures"
)

// playRaw replays all scripts, each as one transaction, and returns the time of
// all. Every connection has a goroutine of its own and keeps its statements
// prepared: nothing stands between them and the driver. SQLite has one writer, so it gets one connection.
func playRaw(ctx context.Context, place *place, scripts []script, o options) (took time.Duration, err error) {
	config, err := place.fresh(ctx)
	if err != nil {
		return 0, err
	}
	pool, begin, err := openRaw(config)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	connections := o.connections
	if config.Driver == database.SQLite {
		connections = 1
	}
	players := make([]*player, connections)
	for i := range players {
		connection, err := pool.Conn(ctx)
		if err != nil {
			return 0, err
		}
		players[i] = &player{connection, begin, map[string]*sql.Stmt{}}
	}
	began := time.Now()
	err = figures.InParallel(connections, len(scripts), func(worker, n int) error {
		return players[worker].replay(ctx, scripts[n])
	})
	took = time.Since(began)
	for _, p := range players {
		err = errors.Join(err, p.connection.Close())
	}
	return took, err
}

// openRaw opens the bare driver with the isolation and durability of our client, which are the defaults of
// PostgreSQL, and returns the statement that begins a transaction.
func openRaw(config database.Config) (*sql.DB, string, error) {
	switch config.Driver {
	case database.SQLite:
		connector, err := sqlite.NewConnector("file:" + config.DSN +
			"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
		return opened(connector, err, "BEGIN IMMEDIATE")
	case database.MariaDB:
		parsed, err := mysql.ParseDSN(config.DSN)
		if err != nil {
			return nil, "", err
		}
		parsed.Params = map[string]string{"tx_isolation": "'READ-COMMITTED'"}
		connector, err := mysql.NewConnector(parsed)
		return opened(connector, err, "START TRANSACTION")
	case database.PostgreSQL:
		parsed, err := pgx.ParseConfig(config.DSN)
		if err != nil {
			return nil, "", err
		}
		return stdlib.OpenDB(*parsed), "BEGIN", nil
	}
	return nil, "", fmt.Errorf("no bare driver for %q", config.Driver)
}

// player replays on one connection.
type player struct {
	connection *sql.Conn
	begin      string
	prepared   map[string]*sql.Stmt
}

func (p *player) replay(ctx context.Context, s script) error {
	if _, err := p.connection.ExecContext(ctx, p.begin); err != nil {
		return err
	}
	for _, statement := range s {
		if err := p.run(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement.Text, err)
		}
	}
	_, err := p.connection.ExecContext(ctx, "COMMIT")
	return err
}

// run repeats a recorded statement. A different number of rows is an error: the replay would do other work.
func (p *player) run(ctx context.Context, s database.Statement) error {
	prepared := p.prepared[s.Text]
	if prepared == nil {
		var err error
		if prepared, err = p.connection.PrepareContext(ctx, s.Text); err != nil {
			return err
		}
		p.prepared[s.Text] = prepared
	}
	var count int64
	var err error
	if s.Kind == database.KindExec {
		var result sql.Result
		if result, err = prepared.ExecContext(ctx, s.Args...); err == nil {
			count, err = result.RowsAffected()
		}
	} else {
		count, err = read(prepared.QueryContext(ctx, s.Args...))
	}
	if err == nil && count != s.Rows {
		err = fmt.Errorf("%d rows, recorded were %d", count, s.Rows)
	}
	return err
}

// read reads every column of every row and returns the number of rows.
func read(rows *sql.Rows, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	columns, err := rows.Columns()
	if err != nil {
		return 0, errors.Join(err, rows.Close())
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(sql.RawBytes)
	}
	count := int64(0)
	for rows.Next() {
		count++
		if err := rows.Scan(values...); err != nil {
			return count, errors.Join(err, rows.Close())
		}
	}
	return count, errors.Join(rows.Err(), rows.Close())
}

func opened(connector driver.Connector, err error, begin string) (*sql.DB, string, error) {
	if err != nil {
		return nil, "", err
	}
	return sql.OpenDB(connector), begin, nil
}

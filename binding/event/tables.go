package event

import (
	"context"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
)

// tables are those of outbox and inbox; components that share a database share
// them. Positions are never used twice, also after the last row was removed.
const tables = `CREATE TABLE IF NOT EXISTS outbox (
  position {position},
  owner    {text} NOT NULL,
  messages {bytes} NOT NULL
){engine};
CREATE TABLE IF NOT EXISTS outbox_relays (
  owner          {text} NOT NULL,
  alive_until_us BIGINT NOT NULL,
  PRIMARY KEY (owner)
){engine};
CREATE TABLE IF NOT EXISTS inbox (
  consumer    {text} NOT NULL,
  id          {text} NOT NULL,
  received_us BIGINT NOT NULL,
  PRIMARY KEY (consumer, id)
){keyed}`

// CreateTables makes the tables where they are missing. It is called before any
// unit runs, once per database.
func CreateTables(ctx context.Context, db *database.DB) error {
	words := dialect(db.Driver())
	for statement := range strings.SplitSeq(tables, ";\n") {
		if _, err := db.Exec(ctx, words.Replace(statement)); err != nil {
			return fmt.Errorf("make the tables of outbox and inbox: %w", err)
		}
	}
	return nil
}

func dialect(driver database.Driver) *strings.Replacer {
	switch driver {
	case database.MariaDB:
		const text, end = "VARCHAR(120) CHARACTER SET ascii COLLATE ascii_bin",
			" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
		return strings.NewReplacer("{position}", "BIGINT AUTO_INCREMENT PRIMARY KEY", "{text}", text,
			"{bytes}", "MEDIUMBLOB", "{engine}", end, "{keyed}", end)
	case database.PostgreSQL:
		return strings.NewReplacer("{position}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "{text}",
			`VARCHAR(120) COLLATE "C"`,
			"{bytes}", "BYTEA", "{engine}", "", "{keyed}", "")
	default:
		return strings.NewReplacer("{position}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{text}", "TEXT",
			"{bytes}", "BLOB", "{engine}", "", "{keyed}", " WITHOUT ROWID")
	}
}

// stride is how many rows one statement writes or removes.
const stride = 64

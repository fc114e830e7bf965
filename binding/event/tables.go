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
){rows};
CREATE TABLE IF NOT EXISTS outbox_relays (
  owner          {text} NOT NULL,
  alive_until_us BIGINT NOT NULL,
  PRIMARY KEY (owner)
){rows};
CREATE TABLE IF NOT EXISTS inbox (
  consumer    {text} NOT NULL,
  id          {text} NOT NULL,
  received_us BIGINT NOT NULL,
  PRIMARY KEY (consumer, id)
){keyed}`

// Tables returns the names of the tables that CreateTables makes.
func Tables() []string { return []string{"outbox", "outbox_relays", "inbox"} }

// CreateTables makes the tables where they are missing. It is called before any
// unit runs, once per database.
func CreateTables(ctx context.Context, db *database.DB) error {
	for statement := range strings.SplitSeq(tables, ";\n") {
		if _, err := db.Exec(ctx, db.Define(statement)); err != nil {
			return fmt.Errorf("make the tables of outbox and inbox: %w", err)
		}
	}
	return nil
}

// stride is how many rows one statement writes or removes.
const stride = 64

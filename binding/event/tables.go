package event

import (
	"context"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
)

// tables defines the tables of outbox and inbox, with database.DB.Define's placeholders for the
// types of each kind of database. Components that share a database share them. Positions must
// never be reused, even after the row with the highest one was removed: a relay remembers the
// positions that it has published.
const tables = `CREATE TABLE IF NOT EXISTS outbox (
  position {position},
  owner    {text} NOT NULL,
  messages {bytes} NOT NULL
){rows};
CREATE TABLE IF NOT EXISTS outbox_relays (
  owner          {text} NOT NULL,
  alive_until_us BIGINT NOT NULL,
  PRIMARY KEY (owner)
){keyed};
CREATE TABLE IF NOT EXISTS inbox (
  consumer    {text} NOT NULL,
  id          {text} NOT NULL,
  received_us BIGINT NOT NULL,
  PRIMARY KEY (consumer, id)
){keyed}`

// Tables returns the names of the tables that CreateTables creates.
func Tables() []string { return []string{"outbox", "outbox_relays", "inbox"} }

// CreateTables creates the tables that do not exist yet. It is called once per
// database, before any unit runs.
func CreateTables(ctx context.Context, db *database.DB) error {
	for statement := range strings.SplitSeq(tables, ";\n") {
		if _, err := db.Exec(ctx, db.Define(statement)); err != nil {
			return fmt.Errorf("create the tables of outbox and inbox: %w", err)
		}
	}
	return nil
}

// stride is the number of rows that one statement writes or removes at most.
const stride = 64

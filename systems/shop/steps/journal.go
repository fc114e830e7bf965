package steps

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/backing/database"
)

// Every row of the ledgers, and that of the order itself, has a journal: the states
// that it came into, one after the other, each with the moment of it. An entry is
// written by the statement that changes the state, so that it is true where the
// change is, and nothing is ever taken out: what came twice is there twice, and a
// step that is repeated in vain leaves nothing. "reserved34559871264committed34559880113"
// is a journal. Who audits a shop reads from it in which order things came.
//
// The order of the entries is the order in which the database granted the lock of the
// row: a statement adds to the journal that it finds when it has the lock. The moment
// is read before, so it may be earlier than the one to its left where statements have
// waited for each other, for a connection or for a second attempt. It is for rows that
// no common lock puts in order: a step that begins when another one is committed has
// read a later moment.

// Entry is what a journal gains in this moment: a state, and the host's monotonic
// clock in microseconds. All processes of a host share that clock and nothing sets
// it back. An entry is made just before its statement.
func Entry(state string) string {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return state // cannot fail for this clock; the audit misses the moment
	}
	return state + strconv.FormatInt(now.Nano()/1000, 10)
}

// Journalling is the assignment of an UPDATE that adds an entry, its one parameter,
// to the journal.
func Journalling(db *database.DB) string {
	if db.Driver() == database.MariaDB {
		return "journal = CONCAT(journal, ?)"
	}
	return "journal = journal || ?"
}

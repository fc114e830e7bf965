package steps

import (
	"strconv"
	"time"
)

// Every row of the ledgers, and that of the order itself, has a journal: the states
// that it came into, one after the other, each with the moment of it. An entry is
// written by the statement that changes the state, so that it is true where the
// change is, and nothing is ever taken out: what came twice is there twice, and a
// step that is repeated in vain leaves nothing. "reserved1790333371264104committed1790333371273953"
// is a journal. Who audits a shop reads from it in which order things came.
//
// The order of the entries is the order in which the database granted the lock of the
// row: a statement adds to the journal that it finds when it has the lock. The moment
// is read before, so it may be earlier than the one to its left where statements have
// waited for each other, for a connection or for a second attempt. It is for rows that
// no common lock puts in order: a step that begins when another one is committed has
// read a later moment.

// Entry returns what a journal gains in this moment: a state, and the microseconds since 1970.
// It is not the monotonic clock, which begins anew with every host: how far apart clocks are
// that count from 1970, the conductor measures. An entry is made just before its statement.
func Entry(state string) string {
	return state + strconv.FormatInt(time.Now().UnixMicro(), 10)
}

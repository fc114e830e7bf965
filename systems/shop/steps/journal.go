package steps

import (
	"strconv"
	"time"
)

// Every row of the ledgers, and the row of the order itself, has a journal: its states,
// one after the other, each with its time. The statement that changes the state writes
// the entry, so that one is never without the other, and no entry is ever removed: a
// state that came twice is there twice, and a repetition without effect adds nothing.
// "reserved1790333371264104committed1790333371273953" is a journal. The audit reads from
// it in which order things happened.
//
// The order of the entries is the order in which the database granted the lock of the
// row: a statement adds to the journal that it finds when it has the lock. The clock is
// read before, so a time may be earlier than the one to its left if statements have
// waited for each other, for a connection or for a second attempt. The times are for
// comparing rows without a common lock: a step that begins after the commit of another
// one has a later time.

// Entry returns a new entry of a journal: a state, and the microseconds since 1970. The
// monotonic clock would begin anew with every host; the conductor measures how far apart the
// wall clocks are. An entry is made just before its statement.
func Entry(state string) string {
	return state + strconv.FormatInt(time.Now().UnixMicro(), 10)
}

package audit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/systems/shop"
)

// entry is an entry of a journal: a step, a compensation, or a state. Entries are in the order in which the
// database granted the lock of the row: a statement appends its entry when it has the lock. The clock is read
// before the statement waits for the lock, so an entry may have an earlier time than the entry before it.
type entry struct {
	word string
	atUS int64 // microseconds since 1970, by the clock of the unit's host
}

// readJournal returns the entries of a journal, such as
// "reserved1790333371264104committed1790333371273953".
func readJournal(text string) ([]entry, error) {
	const digits = "0123456789"
	var all []entry
	for rest := text; rest != ""; {
		number := strings.TrimLeftFunc(rest, func(r rune) bool { return !strings.ContainsRune(digits, r) })
		word := rest[:len(rest)-len(number)]
		rest = strings.TrimLeft(number, digits)
		atUS, err := strconv.ParseInt(number[:len(number)-len(rest)], 10, 64)
		if err != nil || word == "" {
			return nil, fmt.Errorf("the journal %q is torn", text)
		}
		all = append(all, entry{word, atUS})
	}
	return all, nil
}

// record is the value of row.what for the row of the order itself.
const record = "record"

// row is a row with a journal: an order, or a step of one.
type row struct {
	what    string // "reservation", "payment", "shipment" or record
	state   string
	journal string
	nothing bool // it has no quantity, amount or recipient: its step was never taken
}

// rowsOf returns the rows of an order whose journals are judged: those of its steps, and the order's own. The
// lines of a reservation change together, so the first line, which stepsOf returns first, stands for all.
func (j *judge) rowsOf(id string) []row {
	var all []row
	for i, r := range j.State.stepsOf(id) {
		if i == 0 || r.what != "reservation" {
			all = append(all, r)
		} else if r.journal != all[0].journal {
			j.breach(7, "order %s: the lines of its reservation were not moved together: %s, %s", id, all[0].journal,
				r.journal)
		}
	}
	if order := j.State.Orders[id]; order != nil {
		all = append(all, row{what: record, state: string(order.State), journal: order.Journal})
	}
	return all
}

// entries returns the entries of a row's journal. It returns an error if the journal is torn, or if its last
// state is not the state of the row.
func (r row) entries() ([]entry, error) {
	all, err := readJournal(r.journal)
	if err != nil {
		return nil, err
	}
	last := ""
	for _, e := range all {
		if !isNoState(e.word) {
			last = e.word
		}
	}
	if last != r.state {
		return nil, fmt.Errorf("the %s is %s, its journal says %q", r.what, r.state, r.journal)
	}
	return all, nil
}

// The entries of an order's journal that are no states.
const (
	entryTurned = "turned" // the order goes back, to be rejected
	entryUndone = "undone" // all steps of a cancelled order are compensated
)

func isNoState(word string) bool { return word == entryTurned || word == entryUndone }

// checkPath checks that the states in the journal of an order follow the state machine: rule 8.
func (j *judge) checkPath(id string, entries []entry) {
	before := shop.State("")
	for _, e := range entries {
		if isNoState(e.word) {
			continue
		}
		state := shop.State(e.word)
		isLater := before != state && before.MayReach(state)
		if before != "" && !isLater {
			j.breach(8, "order %s was %s and then became %s", id, before, state)
		}
		before = state
	}
}

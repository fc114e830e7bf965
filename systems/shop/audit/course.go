package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/systems/shop"
)

// Coordination is how the steps of an order were coordinated: it says in which
// order they must have come.
type Coordination string

// The coordinations of which the audit knows what they promise.
const (
	ACID          Coordination = "acid"
	Orchestrated  Coordination = "orchestrated"
	Brokered      Coordination = "orchestrated-broker"
	Choreographed Coordination = "choreographed"
	TwoPhase      Coordination = "two-phase"
)

// chains returns what must have come one after the other, as far as an order has it, in
// the words of the journals. The second value is false where nothing is known.
//
// A saga takes its steps in the order in which they depend on each other, and undoes
// them in the reverse one, by calls as by commands. With events a cancellation is told to all components at
// once: among its compensations there is no order. In one transaction an order is
// on record as confirmed before its steps, which nobody sees. Who cancels it may have
// waited for that transaction's end: a cancellation comes after the confirmation by
// the row that both change, and after no other step by the clock. A two-phase commit has
// components prepare one after the other, what they want most last, and decides then.
func (c Coordination) chains() ([][]string, bool) {
	var chains []string
	switch c {
	case ACID:
		chains = []string{
			"confirmed reserved captured committed shipped recalled restocked refunded",
			"confirmed cancelled recalled",
		}
	case Orchestrated, Brokered:
		chains = []string{
			"pending reserved captured committed shipped confirmed",
			"confirmed cancelled recalled restocked refunded undone",
			"pending reserved turned voided released rejected",
		}
	case Choreographed:
		chains = []string{
			"pending reserved captured shipped confirmed committed",
			"confirmed cancelled recalled", "cancelled restocked", "cancelled refunded",
			"pending reserved voided released", "voided rejected",
		}
	case TwoPhase:
		chains = []string{
			"pending shipped captured reserved committed confirmed",
			"confirmed recalled refunded restocked cancelled", "pending rejected",
		}
	}
	words := make([][]string, len(chains))
	for i, chain := range chains {
		words[i] = strings.Fields(chain)
	}
	return words, len(words) > 0
}

// predecessors lists for each word of a step's journal those that it may follow
// there; "" for nothing.
func predecessors() map[string][]string {
	return map[string][]string{
		"reserved": {""}, "committed": {"reserved"}, "released": {"reserved"}, "restocked": {"committed"},
		"captured": {""}, "voided": {}, "refunded": {"captured"},
		"shipped": {""}, "recalled": {"shipped"},
	}
}

// undoes reports whether a word is that of a compensation.
func undoes(word string) bool {
	switch word {
	case "released", "restocked", "voided", "refunded", "recalled":
		return true
	}
	return false
}

// checkCourses judges in which order the steps and compensations of each order have
// come: rule 7, and rule 8 for the states of its record. Where the journals do not
// prove it, it is unknown.
func (j *judge) checkCourses() {
	chains, known := j.Coordination.chains()
	if !known {
		j.unknown = append(j.unknown,
			fmt.Sprintf("in which order steps must come is unknown of the coordination %q", j.Coordination))
		return
	}
	after := predecessors()
	var unproven error
	for _, id := range j.ordersWithRows() {
		found := map[string]place{}
		for _, r := range j.rowsOf(id) {
			entries, err := r.entries()
			if err != nil {
				j.counts["steps_unproven"]++
				if unproven == nil {
					unproven = fmt.Errorf("order %s: %w", id, err)
				}
			}
			j.checkRow(id, r, entries, after)
			for at, e := range slices.Backward(entries) { // the first of a kind counts
				found[e.word] = place{r.what, at, e.atUS}
			}
		}
		j.checkChains(id, found, chains)
	}
	if unproven != nil {
		j.unknown = append(j.unknown, fmt.Sprintf("in which order %d steps came is unknown; %s",
			j.counts["steps_unproven"], unproven))
	}
}

// ordersWithRows returns the ids of all that is on record somewhere.
func (j *judge) ordersWithRows() []string {
	ids := slices.AppendSeq([]string(nil), maps.Keys(j.State.Orders))
	ids = slices.AppendSeq(ids, maps.Keys(j.State.Reservations))
	ids = slices.AppendSeq(ids, maps.Keys(j.State.Payments))
	ids = slices.AppendSeq(ids, maps.Keys(j.State.Shipments))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// checkRow judges the journal of one row up to what is wrong with it.
func (j *judge) checkRow(id string, r row, entries []entry, after map[string][]string) {
	if r.what == record {
		j.checkPath(id, entries)
		return
	}
	before := ""
	for _, e := range entries {
		if !slices.Contains(after[e.word], before) && !j.forbids(id, r, before, e.word) {
			j.breach(7, "order %s: its %s was %s %s", id, r.what, e.word, wrong(before, e.word))
			return
		}
		if undoes(e.word) {
			j.counts["compensations"]++
		}
		before = e.word
	}
}

// forbids reports whether a compensation that is the first of its row is right: it
// has moved nothing, of an order that was not confirmed, and no step comes any more.
func (j *judge) forbids(id string, r row, before, word string) bool {
	if before != "" || !r.nothing || word != "released" && word != "voided" && word != "recalled" {
		return false
	}
	order := j.State.Orders[id]
	return order == nil || order.State != shop.StateConfirmed && order.State != shop.StateCancelled
}

// wrong says what is wrong with two entries that follow each other.
func wrong(before, word string) string {
	when := "first of all"
	if before != "" {
		when = "when it was " + before
	}
	switch {
	case undoes(before) && undoes(word):
		return when + ": compensated twice"
	case undoes(before):
		return when + ": a step after its compensation"
	case undoes(word):
		return when + ": a compensation without its step (an empty rollback)"
	}
	return when + ": without the step that comes before it, or twice"
}

// place is where an entry stands: in which journal, behind how many others, and its
// moment.
type place struct {
	row  string
	at   int
	atUS int64
}

// checkChains holds the entries of an order, by word, against what its coordination
// promises. Within a row their places tell, between rows their moments: a step that
// begins when another is committed has read the clock later. Moments that are equal, or
// closer than the clocks of two units can be apart, prove nothing.
func (j *judge) checkChains(id string, found map[string]place, chains [][]string) {
	for _, chain := range chains {
		before := ""
		for _, word := range chain {
			now, there := found[word]
			if !there {
				continue
			}
			last := found[before]
			switch {
			case before == "":
			case now.row == last.row && now.at < last.at:
				j.breach(7, "order %s: by its %s it was %s before it was %s: %s", id, now.row, word, before,
					misplaced(before, word))
				return
			case now.row == last.row || now.atUS >= last.atUS:
			case last.atUS-now.atUS <= j.ClocksApart.Microseconds():
				j.counts["steps_within_clocks"]++
			default:
				j.breach(7, "order %s was %s %d µs before it was %s: %s", id, word, last.atUS-now.atUS, before,
					misplaced(before, word))
				return
			}
			before = word
		}
	}
}

// misplaced names what is wrong where the second came before the first.
func misplaced(before, word string) string {
	if undoes(before) && undoes(word) {
		return "compensations not in the reverse order of their steps"
	}
	return "a step before the one that it depends on"
}

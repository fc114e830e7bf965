package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/systems/shop"
)

// Coordination names the way in which the steps of an order were coordinated, which decides
// their order.
type Coordination string

// The coordinations that the audit knows.
const (
	ACID          Coordination = "acid"
	Orchestrated  Coordination = "orchestrated"
	Brokered      Coordination = "orchestrated-broker"
	Choreographed Coordination = "choreographed"
	TwoPhase      Coordination = "two-phase"
)

// chains returns entries of journals that must follow each other, if an order has them.
// The second value is false if the coordination is not known.
//
// A saga takes its steps in the order in which they depend on each other, and undoes
// them in the reverse order, by calls as by commands. With events all components get a
// cancellation at once: its compensations have no order. In one transaction an order is
// recorded as confirmed before its steps, which is not visible. A cancellation reads the
// clock, and may then wait for that transaction's end: only its place after the
// confirmation, in the same row, proves the order, and its time need not follow those of
// the steps before it. In a two-phase commit the components prepare one after the other, the
// most wanted rows last; then it decides.
//
// "turned" is the decision to undo the steps of an order and to reject it.
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

// predecessors returns for each word of a step's journal the words that it may follow
// there; "" means that it may be the first. For compensations see mayComeFirst, too.
func predecessors() map[string][]string {
	return map[string][]string{
		"reserved": {""}, "committed": {"reserved"}, "released": {"reserved"}, "restocked": {"committed"},
		"captured": {""}, "voided": {}, "refunded": {"captured"},
		"shipped": {""}, "recalled": {"shipped"},
	}
}

// undoes reports whether a word is a compensation.
func undoes(word string) bool {
	switch word {
	case "released", "restocked", "voided", "refunded", "recalled":
		return true
	}
	return false
}

// checkCourses judges the sequence of the steps and compensations of each order: rule 7,
// and rule 8 for the states of its record. If the journals do not prove it, it is unknown.
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

// ordersWithRows returns the ids of all orders that have a row in any table.
func (j *judge) ordersWithRows() []string {
	ids := slices.AppendSeq([]string(nil), maps.Keys(j.State.Orders))
	ids = slices.AppendSeq(ids, maps.Keys(j.State.Reservations))
	ids = slices.AppendSeq(ids, maps.Keys(j.State.Payments))
	ids = slices.AppendSeq(ids, maps.Keys(j.State.Shipments))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// checkRow judges the journal of one row up to its first mistake.
func (j *judge) checkRow(id string, r row, entries []entry, after map[string][]string) {
	if r.what == record {
		j.checkPath(id, entries)
		return
	}
	before := ""
	for _, e := range entries {
		if !slices.Contains(after[e.word], before) && !j.mayComeFirst(id, r, before, e.word) {
			j.breach(7, "order %s: its %s was %s %s", id, r.what, e.word, wrong(before, e.word))
			return
		}
		if undoes(e.word) {
			j.counts["compensations"]++
		}
		before = e.word
	}
}

// mayComeFirst reports whether a compensation may be the first entry of its row: its step never came, and the
// compensation forbids it to come later. It has moved nothing, and its order was not confirmed. checkRow
// finds a step that follows all the same.
func (j *judge) mayComeFirst(id string, r row, before, word string) bool {
	forbids := r.nothing && slices.Contains([]string{"released", "voided", "recalled"}, word)
	if before != "" || !forbids {
		return false
	}
	order := j.State.Orders[id]
	wasConfirmed := order != nil && (order.State == shop.StateConfirmed || order.State == shop.StateCancelled)
	return !wasConfirmed
}

// wrong returns the mistake in two entries that follow each other.
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

// place is the place of an entry: its journal, its number there, and its time.
type place struct {
	row  string
	at   int
	atUS int64
}

// checkChains compares the entries of an order, by word, with the chains of its
// coordination. Within a row their places count, between rows their times: a step that
// begins after another's commit has read the clock later. Times that are equal, or closer
// than the clocks of two units can be apart, prove nothing.
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

// misplaced returns the mistake if the second entry came before the first.
func misplaced(before, word string) string {
	if undoes(before) && undoes(word) {
		return "compensations not in the reverse order of their steps"
	}
	return "a step before the one that it depends on"
}

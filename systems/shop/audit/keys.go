package audit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/systems/shop"
)

// answers holds what clients know of one idempotency key.
type answers struct {
	accepted bool            // an attempt was carried out
	unknown  bool            // an attempt had no answer
	orders   map[string]bool // ids in answers
}

// checkKeys compares the attempts with the orders on record: rules 1, 2, 3, 11.
func (j *judge) checkKeys() {
	attempted := j.answersByKey()
	for _, key := range slices.Sorted(maps.Keys(attempted)) {
		j.checkKey(key, *attempted[key])
	}
	for _, key := range slices.Sorted(maps.Keys(j.byKey)) {
		if _, known := attempted[key]; !known {
			j.counts["unexpected"] += int64(len(j.byKey[key]))
			j.breach(3, "order %s with key %q was never asked for", j.byKey[key][0].ID, key)
		}
	}
}

// answersByKey returns the answers to attempts to create orders, and counts all attempts.
func (j *judge) answersByKey() map[string]*answers {
	attempted := map[string]*answers{}
	for _, attempt := range j.History {
		if attempt.Operation != OperationCreate {
			j.counts[attempt.Operation+"s"]++
			continue
		}
		j.counts["attempts"]++
		j.counts[string(attempt.Outcome)]++
		known := attempted[attempt.Key]
		if known == nil {
			known = &answers{orders: map[string]bool{}}
			attempted[attempt.Key] = known
		}
		switch attempt.Outcome {
		case OutcomeOK:
			known.accepted = true
			if attempt.Order != "" {
				known.orders[attempt.Order] = true
			}
		case OutcomeInfo:
			known.unknown = true
		}
	}
	return attempted
}

// checkKey judges one key.
func (j *judge) checkKey(key string, known answers) {
	present := j.byKey[key]
	refused := !known.accepted && !known.unknown
	switch {
	case known.accepted && len(present) == 0:
		j.counts["lost"]++
		j.breach(1, "key %q was accepted and has no order", key)
	case len(present) > 1:
		j.counts["duplicated"]++
		j.breach(2, "key %q has %d orders", key, len(present))
	case refused && len(present) > 0:
		j.counts["unexpected"]++
		j.breach(3, "key %q was refused and has the order %s", key, present[0].ID)
	case !known.accepted && len(present) == 1:
		j.counts["recovered"]++
	}
	if len(known.orders) > 1 {
		j.breach(11, "key %q was answered with %d different orders", key, len(known.orders))
	}
	for _, id := range slices.Sorted(maps.Keys(known.orders)) {
		if on := j.State.Orders[id]; on == nil || on.Key != key {
			j.breach(11, "key %q was answered with order %s, which is not on record under it", key, id)
		}
	}
}

// checkSequences follows the states that clients saw of each order: rule 8. Within a
// session, from one answer to the next; and from every answer to the record.
func (j *judge) checkSequences() {
	last := map[[2]string]Attempt{} // by session and order
	for _, attempt := range j.observed() {
		on := j.State.Orders[attempt.Order]
		if on != nil && !attempt.State.MayReach(on.State) {
			j.breach(8, "order %s was seen %s and is %s", attempt.Order, attempt.State, on.State)
		}
		of := [2]string{attempt.Session, attempt.Order}
		if before, seen := last[of]; seen && !follows(before, attempt) {
			if before.CompleteNS > attempt.ActualNS {
				continue // both were under way at once: the one that is ahead counts
			}
			j.breach(8, "order %s was seen %s (version %d) and later %s (version %d) in session %q",
				attempt.Order, before.State, before.Version, attempt.State, attempt.Version, attempt.Session)
		}
		last[of] = attempt
	}
}

// observed returns the answers with a state, in the order of their ends.
func (j *judge) observed() []Attempt {
	var all []Attempt
	for _, attempt := range j.History {
		if attempt.Outcome == OutcomeOK && attempt.Order != "" && attempt.State != "" {
			all = append(all, attempt)
		}
	}
	slices.SortStableFunc(all, func(a, b Attempt) int { return cmp.Compare(a.CompleteNS, b.CompleteNS) })
	return all
}

// follows reports whether the machine leads from one answer to the next.
func follows(before, after Attempt) bool {
	forward := before.Version == 0 || after.Version == 0 || before.Version <= after.Version
	return forward && before.State.MayReach(after.State)
}

// checkLeft judges the counts that must be zero: rule 4.
func (j *judge) checkLeft() {
	for _, name := range slices.Sorted(maps.Keys(j.Left)) {
		if n := j.Left[name]; n != 0 {
			j.stuck("%d %s are left", n, name)
		}
	}
}

// stuck notes something that is not final. It breaks rule 4 only if the shop had its time to finish.
func (j *judge) stuck(format string, args ...any) {
	j.counts["stuck"]++
	if j.Drained {
		j.breach(4, format, args...)
	}
}

// open reports whether an order is not final, and notes it.
func (j *judge) open(order *Order) bool {
	if !order.State.Known() {
		j.breach(8, "order %s has the state %q, which does not exist", order.ID, order.State)
		return true
	}
	if !order.State.Final() {
		j.stuck("order %s is still %s", order.ID, order.State)
		return true
	}
	if order.State == shop.StateCancelled || order.State == shop.StateRejected {
		j.counts["undone"]++
	}
	return false
}

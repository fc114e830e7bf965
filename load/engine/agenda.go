package engine

import (
	"time"
)

// entry is a connection that waits for a time: its user between two flows, or its
// flow between two steps.
type entry struct {
	due  time.Duration
	conn *conn
}

// agenda is a binary heap: the first entry is the one that is due next.
type agenda []entry

// push adds an entry.
func (a *agenda) push(e entry) {
	all := append(*a, e)
	for i := len(all) - 1; i > 0 && all[i].due < all[(i-1)/2].due; i = (i - 1) / 2 {
		all[i], all[(i-1)/2] = all[(i-1)/2], all[i]
	}
	*a = all
}

// pop takes the first entry away.
func (a *agenda) pop() entry {
	all := *a
	first, last := all[0], len(all)-1
	all[0], all[last] = all[last], entry{}
	*a = all[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if all[child].due < all[least].due {
				least = child
			}
		}
		if least == i {
			return first
		}
		all[i], all[least] = all[least], all[i]
		i = least
	}
}

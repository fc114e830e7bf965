package engine

import "time"

// Entry is an entry of an agenda: Who waits until the time Due.
type Entry[T any] struct {
	Due time.Duration
	Who T
}

// Agenda is a binary heap of entries. The first entry is due next.
type Agenda[T any] []Entry[T]

// Push adds an entry.
func (a *Agenda[T]) Push(e Entry[T]) {
	all := append(*a, e)
	for i := len(all) - 1; i > 0 && all[i].Due < all[(i-1)/2].Due; i = (i - 1) / 2 {
		all[i], all[(i-1)/2] = all[(i-1)/2], all[i]
	}
	*a = all
}

// Pop removes and returns the first entry.
func (a *Agenda[T]) Pop() Entry[T] {
	all := *a
	first, last := all[0], len(all)-1
	all[0] = all[last]
	all[last] = Entry[T]{}
	*a = all[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if all[child].Due < all[least].Due {
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

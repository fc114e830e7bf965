package sim

// none stands for no task, or no position in a heap.
const none = -1

// entry is something that is due at a time: in simulated seconds, or in the virtual time of a share.
type entry struct {
	at float64
	id int32 // a task or a share; below 0: -1 minus the number of a load
}

// heap holds entries with the earliest on top. Each node has four children, which lie side by side: in two
// cache lines at most. Entries of an indexed heap can be moved and removed by their id.
type heap struct {
	entries []entry
	indexed bool
	places  []int32 // the position of each id in entries, or none
}

// indexedHeap returns an empty heap for ids below n.
func indexedHeap(n int) heap {
	h := heap{indexed: true, places: make([]int32, n)}
	for i := range h.places {
		h.places[i] = none
	}
	return h
}

func (h *heap) push(at float64, id int32) {
	h.entries = append(h.entries, entry{})
	h.up(len(h.entries)-1, entry{at, id})
}

// pop removes and returns the earliest entry.
func (h *heap) pop() entry {
	top, last := h.entries[0], len(h.entries)-1
	moved := h.entries[last]
	h.entries = h.entries[:last]
	if h.indexed {
		h.places[top.id] = none
	}
	if last > 0 {
		h.down(0, moved)
	}
	return top
}

// set makes an id due at a time: it moves the id in an indexed heap, or adds it if it is not there.
func (h *heap) set(id int32, at float64) {
	i := h.places[id]
	switch {
	case i == none:
		h.push(at, id)
	case at < h.entries[i].at:
		h.up(int(i), entry{at, id})
	default:
		h.down(int(i), entry{at, id})
	}
}

// remove takes an id out of an indexed heap, if it is there.
func (h *heap) remove(id int32) {
	i := h.places[id]
	if i == none {
		return
	}
	last := len(h.entries) - 1
	moved, removed := h.entries[last], h.entries[i]
	h.entries = h.entries[:last]
	h.places[id] = none
	switch {
	case int(i) == last:
	case moved.at < removed.at:
		h.up(int(i), moved)
	default:
		h.down(int(i), moved)
	}
}

// up puts an entry at position i or nearer to the top.
func (h *heap) up(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 4
		if h.entries[parent].at <= e.at {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	h.put(i, e)
}

// down puts an entry at position i or further from the top.
func (h *heap) down(i int, e entry) {
	for {
		first := 4*i + 1
		if first >= len(h.entries) {
			break
		}
		least := first
		children := h.entries[first:min(first+4, len(h.entries))]
		earliest := children[0].at
		for c := 1; c < len(children); c++ {
			if children[c].at < earliest {
				least, earliest = first+c, children[c].at
			}
		}
		if earliest >= e.at {
			break
		}
		h.put(i, h.entries[least])
		i = least
	}
	h.put(i, e)
}

func (h *heap) put(i int, e entry) {
	h.entries[i] = e
	if h.indexed {
		h.places[e.id] = int32(i)
	}
}

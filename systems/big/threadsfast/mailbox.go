package threadsfast

import "sync/atomic"

// message is a node of mailbox lists. Every worker owns one: it is sent as a ping, the worker that answers
// turns it into the pong, and it returns to its owner, so that nothing is allocated per round trip. Only the
// worker that has it may access it.
type message struct {
	next slot // the next message of its list, or vacant
	from slot // of a ping its sender, of a pong the worker that answers; or kickOff
}

// kickOff is the sender of the pong that starts a worker.
const kickOff slot = 0

// slot is the index of a worker, and of the message it owns, in the arrays of workers. Lists link slots
// instead of pointers, which saves the write barrier.
type slot = uint32

// The states of a mailbox without pings, and after them the first slot of a worker: any greater state is the
// head of a list of pings.
const (
	idle      slot = iota // empty, its worker is in no run queue
	vacant                // no pings, its worker is queued or runs
	firstSlot             // worker 0
)

// pongFlag is set in a mailbox when the worker's own message has returned as a pong.
const pongFlag = 1 << 31

// mailbox replaces the two channels of a worker by one word: an intrusive list of pings with many senders,
// and a flag for the one pong that can be outstanding. Adding a message takes a compare-and-swap, taking all
// messages one swap.
type mailbox struct{ state atomic.Uint32 }

// putPing adds a ping and reports whether the mailbox was idle: then the caller
// must queue its worker.
func (m *mailbox) putPing(messages []message, at slot) (wasIdle bool) {
	for {
		state := m.state.Load()
		messages[at].next = max(state&^pongFlag, vacant)
		if m.state.CompareAndSwap(state, at|state&pongFlag) {
			return state == idle
		}
	}
}

// putPong notes that the worker's own message has returned, and reports the same as putPing.
func (m *mailbox) putPong() (wasIdle bool) {
	for {
		state := m.state.Load()
		if m.state.CompareAndSwap(state, max(state, vacant)|pongFlag) {
			return state == idle
		}
	}
}

// takeAll empties the mailbox. It returns whether a pong was there, and the head of the list of pings, newest
// first; vacant if there are none. No sender has two in the list, so no sender's pings are reordered. The
// worker counts as queued until rest.
func (m *mailbox) takeAll() (pong bool, newest slot) {
	state := m.state.Swap(vacant)
	return state&pongFlag != 0, state &^ pongFlag
}

// rest makes the mailbox idle and returns true; or false if a message has arrived since takeAll: then the
// caller must queue the worker again.
func (m *mailbox) rest() bool { return m.state.CompareAndSwap(vacant, idle) }

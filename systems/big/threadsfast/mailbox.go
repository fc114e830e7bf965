package threadsfast

import "sync/atomic"

// message is a node of mailbox lists. Every worker owns one: it leaves as a
// ping, is turned into the pong by the worker that answers and comes home, so
// that nothing is allocated per round trip. Only who holds it may touch it.
type message struct {
	next place // of the list it is in, or vacant
	from place // the sender, or kickOff
}

// kickOff is the sender of the pong that makes a worker begin.
const kickOff place = 0

// place is the index of a worker and of the message it owns. Lists link places
// instead of pointers, which spares the write barrier.
type place = uint32

// The states of a mailbox besides a list of pings. The places of workers follow
// upon them.
const (
	idle       place = iota // empty, its worker is in no run queue
	vacant                  // no pings, its worker is queued or runs
	firstPlace              // worker 0
)

// pongFlag is set in a mailbox when the worker's own message is back.
const pongFlag = 1 << 31

// mailbox is the two channels of a worker in one word: an intrusive list of
// pings with many senders, and room for the one pong that can be outstanding.
// A message costs a compare-and-swap, taking all that have arrived one swap.
type mailbox struct{ state atomic.Uint32 }

// putPing adds a ping and reports whether the mailbox was idle: then the caller
// must queue its worker.
func (m *mailbox) putPing(messages []message, at place) (wasIdle bool) {
	for {
		state := m.state.Load()
		messages[at].next = max(state&^pongFlag, vacant)
		if m.state.CompareAndSwap(state, at|state&pongFlag) {
			return state == idle
		}
	}
}

// putPong announces that the worker's own message is back, and reports like
// putPing.
func (m *mailbox) putPong() (wasIdle bool) {
	for {
		state := m.state.Load()
		if m.state.CompareAndSwap(state, max(state, vacant)|pongFlag) {
			return state == idle
		}
	}
}

// takeAll empties the mailbox and returns the pings as a list, newest first: no
// sender has two in it, so each sender's order holds. Its worker counts as queued
// until rest.
func (m *mailbox) takeAll() (pong bool, newest place) {
	state := m.state.Swap(vacant)
	return state&pongFlag != 0, state &^ pongFlag
}

// rest makes the mailbox idle unless more has arrived; then it reports false
// and the caller must queue the worker again.
func (m *mailbox) rest() bool { return m.state.CompareAndSwap(vacant, idle) }

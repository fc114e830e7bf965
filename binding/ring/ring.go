package ring

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// ErrFull means that a message was not sent because the inbox has no free slot.
var ErrFull = errors.New("the inbox is full")

const (
	// Line is the size of a cache line in bytes. Inboxes are aligned to it, so
	// that senders to different inboxes do not slow each other down.
	Line = 64
	// maxCapacity is the largest number of slots.
	maxCapacity = 1 << 30

	slotBytes = 8
	lapShift  = 32 // a slot has the lap in its upper half and the message in its lower
	filled    = 1  // bit 0 of the upper half: the slot holds a message
)

// Row is a process's view of a row of inboxes, which have the same capacity and lie next
// to each other in shared memory. Any number of processes and goroutines may send. A Row
// is small and has pointers into the shared memory only, so that a process that runs for
// a microsecond at a time touches few pages.
type Row struct {
	start   unsafe.Pointer // of the first inbox
	stride  uintptr
	inboxes uint32
	mask    uint32 // number of slots of an inbox, minus 1
}

// header is the first line of an inbox; the slots follow.
type header struct {
	tail     atomic.Uint32 // next position to be reserved by a sender
	sleeping atomic.Uint32 // 1: the reader sleeps or is about to sleep
	_        [Line - 8]byte
}

// Inbox is the reader's side of an inbox. An inbox must have only one during its whole
// life: a second one would begin to read at position 0 again.
type Inbox struct {
	header *header
	mask   uint32
	head   uint32 // next position to be read
}

// slotsFor returns the number of slots of an inbox for capacity messages: the lowest power
// of two that suffices, and at least 2.
func slotsFor(capacity int) int {
	return 1 << bits.Len(uint(max(capacity, 2)-1))
}

// Size returns the number of bytes of an inbox that holds at least capacity unread
// messages. It is a multiple of Line.
func Size(capacity int) int {
	bytes := Line + slotsFor(capacity)*slotBytes
	return (bytes + Line - 1) / Line * Line
}

// Attach returns the row of inboxes in shared memory, which must start at a multiple of
// Line and have at least inboxes * Size(capacity) bytes. All processes must pass the same
// capacity.
func Attach(memory []byte, inboxes, capacity int) (Row, error) {
	if capacity < 1 || capacity > maxCapacity || inboxes < 1 {
		return Row{}, fmt.Errorf("%d inboxes of %d messages: choose at least 1 of 1 to %d", inboxes, capacity,
			maxCapacity)
	}
	size := Size(capacity)
	if fit := len(memory) / size; inboxes > fit { // inboxes * size could overflow
		return Row{}, fmt.Errorf("%d inboxes of %d messages have %d bytes each: the memory of %d bytes has room "+
			"for %d", inboxes, capacity, size, len(memory), fit)
	}
	start := unsafe.Pointer(unsafe.SliceData(memory))
	if uintptr(start)%Line != 0 {
		return Row{}, fmt.Errorf("inboxes at address %p: align them to %d bytes", start, Line)
	}
	return Row{
		start: start, stride: uintptr(size), inboxes: uint32(inboxes),
		mask: uint32(slotsFor(capacity) - 1),
	}, nil
}

// header returns the first line of an inbox of the row.
func (r *Row) header(inbox int) *header {
	if uint(inbox) >= uint(r.inboxes) {
		panic(fmt.Sprintf("inbox %d of a row of %d", inbox, r.inboxes)) // as for an index of a slice
	}
	return (*header)(unsafe.Add(r.start, uintptr(inbox)*r.stride))
}

// slot returns the slot of a position of an inbox.
func (h *header) slot(position, mask uint32) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Add(unsafe.Pointer(h), Line+uintptr(position&mask)*slotBytes))
}

// Reader returns the reader's side of an inbox. It must be called once per inbox, over all processes.
func (r *Row) Reader(inbox int) Inbox { return Inbox{header: r.header(inbox), mask: r.mask} }

// Send puts a message into an inbox and wakes the reader if the reader sleeps. It never
// blocks: it returns ErrFull if no slot is free. After any other error the message is in
// the inbox, but the reader could not be woken.
//
// The lap in a slot decides who may use the slot. The lap of a position is the position
// without its slot index. All positions of one pass around the ring have the same lap. Bit 0
// of a lap is 0, because a ring has at least two slots. A slot with the lap of a position is
// free for the sender of that position. The sender stores the message and sets bit 0 (filled).
// The reader takes the message and sets the slot to the next lap. Positions wrap at 2^32, and
// laps with them.
func (r *Row) Send(inbox int, message uint32) error {
	h := r.header(inbox)
	for {
		position := h.tail.Load()
		lap := position &^ r.mask
		slot := h.slot(position, r.mask)
		found := uint32(slot.Load() >> lapShift)
		if found == lap {
			if !h.tail.CompareAndSwap(position, position+1) {
				continue // another sender was faster
			}
			slot.Store(uint64(lap|filled)<<lapShift | uint64(message))
			if h.sleeping.Load() == 1 {
				return h.wakeReader()
			}
			return nil
		}
		if int32(found-lap) < 0 {
			return ErrFull // the message of an earlier lap has not been stored or not been read
		}
	}
}

// Receive takes the oldest message. It returns false if there is none, or if its sender has
// reserved the slot and not stored the message yet.
func (i *Inbox) Receive() (message uint32, ok bool) {
	lap := i.head &^ i.mask
	slot := i.header.slot(i.head, i.mask)
	word := slot.Load()
	if uint32(word>>lapShift) != lap|filled {
		return 0, false
	}
	slot.Store(uint64(lap+i.mask+1) << lapShift)
	i.head++
	return uint32(word), true
}

// Sleep waits until a message can be received. Other goroutines run meanwhile.
func (i *Inbox) Sleep() error { return i.sleep(Wait) }

// SleepAlone is Sleep for a process whose only goroutine is the reader: it sleeps
// without informing the Go scheduler, which would cost more than the switch to another
// process. Other goroutines may starve, and a garbage collection cannot begin.
func (i *Inbox) SleepAlone() error { return i.sleep(WaitAlone) }

// sleep announces in header.sleeping that the reader sleeps, and then checks the ring once
// more. A sender stores its message, and then checks for the announcement. These four
// operations are sequentially consistent: either the reader sees the message, or the sender
// sees the announcement.
func (i *Inbox) sleep(wait func(word *atomic.Uint32, value uint32) error) error {
	for {
		i.header.sleeping.Store(1)
		if i.pending() {
			i.header.sleeping.Store(0)
			return nil
		}
		if err := wait(&i.header.sleeping, 1); err != nil {
			return err
		}
		if i.pending() {
			return nil
		}
	}
}

// pending reports whether Receive would find a message.
func (i *Inbox) pending() bool {
	return uint32(i.header.slot(i.head, i.mask).Load()>>lapShift) == i.head&^i.mask|filled
}

// wakeReader wakes the reader. Of several senders that see one announcement, only one makes the system
// call.
func (h *header) wakeReader() error {
	if !h.sleeping.CompareAndSwap(1, 0) {
		return nil
	}
	return Wake(&h.sleeping, 1)
}

package ring

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/cleave-lab/cleave/internal/testset"
)

// newMemory returns zeroed memory that starts at a cache line.
func newMemory(bytes int) []byte {
	memory := make([]byte, bytes+Line)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % Line
	return memory[skip:][:bytes]
}

func newRow(tb testing.TB, inboxes, capacity int) Row {
	tb.Helper()
	row, err := Attach(newMemory(inboxes*Size(capacity)), inboxes, capacity)
	testset.Must(tb, err)
	return row
}

// at prepares inbox 0 of the row as if it had passed this many messages, and returns it.
func (r *Row) at(position uint32) Inbox {
	reader := r.Reader(0)
	reader.header.tail.Store(position)
	reader.head = position
	for p := position; p != position+r.mask+1; p++ {
		reader.header.slot(p, r.mask).Store(uint64(p&^r.mask) << lapShift)
	}
	return reader
}

func TestSlotsAndSize(t *testing.T) {
	for _, test := range []struct{ capacity, slots, size int }{
		{1, 2, 128}, {2, 2, 128}, {3, 4, 128}, {8, 8, 128}, {9, 16, 192}, {11, 16, 192}, {51, 64, 576},
	} {
		if slots, size := slotsFor(test.capacity), Size(test.capacity); slots != test.slots || size != test.size {
			t.Errorf("capacity %d: %d slots in %d bytes, want %d in %d", test.capacity, slots, size, test.slots,
				test.size)
		}
	}
}

func TestAttachRefuses(t *testing.T) {
	for _, test := range []struct {
		name              string
		memory            []byte
		inboxes, capacity int
		want              string
	}{
		{"no room", newMemory(2*Size(4) - 1), 2, 4, "have 128 bytes each: the memory of 255 bytes has room for 1"},
		{"too many for an int", newMemory(Size(4)), math.MaxInt/Size(4) + 2, 4, "has room for 1"},
		{"not aligned", newMemory(Size(4) + 8)[8:], 1, 4, "align"},
		{"no capacity", newMemory(Size(4)), 1, 0, "choose at least 1 of 1"},
		{"no inboxes", newMemory(Size(4)), 0, 4, "choose at least 1 of 1"},
		{"too many", newMemory(Size(4)), 1, maxCapacity + 1, "choose at least 1 of 1"},
	} {
		if _, err := Attach(test.memory, test.inboxes, test.capacity); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}

func TestInboxOutsideTheRow(t *testing.T) {
	row := newRow(t, 2, 4)
	for _, inbox := range []int{-1, 2} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a message to inbox %d of 2 did not panic", inbox)
				}
			}()
			_ = row.Send(inbox, 1)
		}()
	}
}

func TestFullInboxIsAnError(t *testing.T) {
	for _, position := range []uint32{0, 5, 1<<32 - 3} {
		row := newRow(t, 2, 4)
		reader := row.at(position)
		for i := range uint32(4) {
			if err := row.Send(0, i); err != nil {
				t.Fatalf("from position %d: message %d: %v", position, i, err)
			}
		}
		if err := row.Send(0, 4); !errors.Is(err, ErrFull) {
			t.Errorf("from position %d: message 4 of 4: got %v, want %v", position, err, ErrFull)
		}
		if err := row.Send(1, 7); err != nil {
			t.Errorf("the neighbour of a full inbox refuses a message: %v", err)
		}
		if got, ok := reader.Receive(); !ok || got != 0 {
			t.Errorf("from position %d: got %d, %t, want the oldest", position, got, ok)
		}
		if err := row.Send(0, 5); err != nil {
			t.Errorf("from position %d: no room after a message was read: %v", position, err)
		}
	}
}

// TestReservedSlot: a slot that is reserved but not filled, because its sender has died,
// counts as full for senders and as empty for the reader.
func TestReservedSlot(t *testing.T) {
	row := newRow(t, 1, 2)
	reader := row.Reader(0)
	reader.header.tail.Store(1)
	testset.Must(t, row.Send(0, 1))
	if err := row.Send(0, 2); !errors.Is(err, ErrFull) {
		t.Errorf("got %v for the lap after a reserved slot, want %v", err, ErrFull)
	}
	if message, ok := reader.Receive(); ok {
		t.Errorf("received %d from beyond a reserved slot", message)
	}
}

// FuzzInbox compares an inbox with a slice. It begins at any position. Each byte is a
// step: an even byte sends, and an odd byte receives.
func FuzzInbox(f *testing.F) {
	f.Add(uint32(0), uint8(4), []byte{0, 2, 4, 1, 3, 6, 8, 10, 12, 1, 1, 1, 1, 1})
	f.Add(uint32(1<<32-2), uint8(2), []byte{0, 2, 4, 1, 6, 1, 8, 1, 1, 1})
	f.Add(uint32(1<<31-1), uint8(9), []byte{0, 1, 0, 1, 0, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, position uint32, capacity uint8, steps []byte) {
		row := newRow(t, 1, int(max(capacity, 1)))
		reader := row.at(position)
		var model []uint32
		for i, step := range steps {
			if step%2 == 0 {
				err := row.Send(0, uint32(i))
				if full := len(model) == int(row.mask)+1; errors.Is(err, ErrFull) != full {
					t.Fatalf("step %d: got %v with %d of %d slots in use", i, err, len(model), row.mask+1)
				} else if !full {
					model = append(model, uint32(i))
				}
				continue
			}
			got, ok := reader.Receive()
			if ok != (len(model) > 0) || ok && got != model[0] {
				t.Fatalf("step %d: received %d, %t, want the first of %v", i, got, ok, model)
			}
			if ok {
				model = model[1:]
			}
		}
	})
}

// sequence returns message number i of a sender.
func sequence(sender, i int) uint32 { return uint32(sender)<<24 | uint32(i) }

// order checks that the messages of each sender come in the order of their numbers.
type order struct {
	next map[int]int // the message expected next, by sender
	got  int
}

func (o *order) take(message uint32) error {
	sender, i := int(message>>24), int(message&(1<<24-1))
	if o.next[sender] != i {
		return fmt.Errorf("sender %d: got message %d, want %d", sender, i, o.next[sender])
	}
	o.next[sender]++
	o.got++
	return nil
}

// sendAll sends a sequence to inbox 0. While the inbox is full it calls wait and retries.
func sendAll(row *Row, sender, messages int, wait func()) error {
	for i := 0; i < messages; {
		err := row.Send(0, sequence(sender, i))
		if errors.Is(err, ErrFull) {
			wait()
			continue
		}
		if err != nil {
			return err
		}
		i++
	}
	return nil
}

// receiveAll receives this many messages. It sleeps while there is none.
func receiveAll(reader *Inbox, messages int) error {
	o := order{next: map[int]int{}}
	for o.got < messages {
		message, ok := reader.Receive()
		if !ok {
			if err := reader.Sleep(); err != nil {
				return err
			}
			continue
		}
		if err := o.take(message); err != nil {
			return err
		}
	}
	if message, ok := reader.Receive(); ok {
		return fmt.Errorf("message %x came twice or from nowhere", message)
	}
	return nil
}

func TestManySenders(t *testing.T) {
	const senders, each = 4, 20_000
	for _, position := range []uint32{0, 1<<32 - each} { // the second wraps positions
		row := newRow(t, 1, 8)
		reader := row.at(position)
		failures := make(chan error, senders)
		for sender := range senders {
			go func() { failures <- sendAll(&row, sender, each, runtime.Gosched) }()
		}
		testset.Must(t, receiveAll(&reader, senders*each))
		for range senders {
			testset.Must(t, <-failures)
		}
	}
}

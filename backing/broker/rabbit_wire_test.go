package broker

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// socket is a connection that keeps each write as an entry of writes.
type socket struct {
	net.Conn
	writes []string
	err    error
	closed bool
}

func (s *socket) Write(text []byte) (int, error) {
	s.writes = append(s.writes, string(text))
	return len(text), s.err
}

func (s *socket) Close() error {
	s.closed = true
	return nil
}

func write(t *testing.T, w *wire, text string) {
	t.Helper()
	if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("wrote %d bytes of %d (%v)", n, len(text), err)
	}
}

func expectWrites(t *testing.T, s *socket, want ...string) {
	t.Helper()
	if len(s.writes) != len(want) {
		t.Fatalf("%d writes, want %d", len(s.writes), len(want))
	}
	for i := range want {
		if s.writes[i] != want[i] {
			t.Errorf("write %d has %d bytes, want %d", i, len(s.writes[i]), len(want[i]))
		}
	}
}

func TestWireGathersUntilItSends(t *testing.T) {
	s := &socket{}
	w := &wire{Conn: s}
	write(t, w, "alone")
	w.gather()
	write(t, w, "a")
	w.gather() // a second caller
	write(t, w, "b")
	expectWrites(t, s, "alone")
	w.send()
	expectWrites(t, s, "alone", "ab")
	write(t, w, "c")
	w.send()
	write(t, w, "after")
	expectWrites(t, s, "alone", "ab", "c", "after")
}

func TestWireHoldsNoMoreThanItsBound(t *testing.T) {
	s := &socket{}
	w := &wire{Conn: s}
	w.gather()
	part := string(bytes.Repeat([]byte("x"), maxGathered/2))
	write(t, w, part)
	expectWrites(t, s)
	write(t, w, part)
	expectWrites(t, s, part+part)
}

// TestWireThatBreaksIsClosed checks that when gathered data cannot be sent, the connection is closed, so
// that its user does not wait for an answer.
func TestWireThatBreaksIsClosed(t *testing.T) {
	s := &socket{err: errors.New("broken pipe")}
	w := &wire{Conn: s}
	w.gather()
	write(t, w, "lost")
	w.send()
	if !s.closed {
		t.Error("the connection is still open")
	}
}

package accept

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// peekTimeout is the longest time that a client may take to send the bytes that determine its branch.
const peekTimeout = 10 * time.Second

// branch is a listener that gets some of the connections of another one.
type branch struct {
	net.Listener // the split one
	connections  chan net.Conn
	closed       chan struct{}
	close        func() error
}

// Fork splits a listener into two branches. The first gets the connections whose first bytes are text, the
// second all others. It leaves these bytes unread. The listener is closed when both branches are closed.
// Callers close the branches, not the listener, because only the Close of a branch ends its Accept. The
// listener must accept TCP or Unix sockets: Fork closes connections without a descriptor, such as those of
// TLS.
func Fork(listener net.Listener, text string) (matching, others net.Listener) {
	var open sync.WaitGroup
	newBranch := func() *branch {
		open.Add(1)
		b := &branch{Listener: listener, connections: make(chan net.Conn), closed: make(chan struct{})}
		b.close = sync.OnceValue(func() error { close(b.closed); open.Done(); return nil })
		return b
	}
	first := newBranch()
	second := newBranch()
	go func() {
		open.Wait()
		_ = listener.Close() // there is no caller to return an error to
	}()
	go func() {
		_ = Each(listener, func(c net.Conn) { go share(c, text, first, second) }) // ends when it is closed
	}()
	return first, second
}

// share passes a connection to the branch that its first bytes select. It closes the connection if too few
// bytes arrive within peekTimeout.
func share(connection net.Conn, text string, matching, others *branch) {
	matches, err := begins(connection, text)
	if err != nil {
		_ = connection.Close() // no branch gets it
		return
	}
	to := others
	if matches {
		to = matching
	}
	select {
	case to.connections <- connection:
	case <-to.closed:
		_ = connection.Close() // its branch was closed meanwhile
	}
}

// begins reports whether the first bytes of a connection are text. It leaves them unread.
func begins(connection net.Conn, text string) (bool, error) {
	withDescriptor, ok := connection.(syscall.Conn)
	if !ok {
		return false, errors.ErrUnsupported
	}
	raw, err := withDescriptor.SyscallConn()
	if err != nil {
		return false, err
	}
	if err := connection.SetReadDeadline(time.Now().Add(peekTimeout)); err != nil {
		return false, err
	}
	head := make([]byte, len(text))
	n := 0
	err = raw.Read(func(descriptor uintptr) bool {
		var failed error
		n, _, failed = syscall.Recvfrom(int(descriptor), head, syscall.MSG_PEEK)
		if errors.Is(failed, syscall.EAGAIN) {
			return false
		}
		// Wait for more only while the received bytes are a proper prefix of text. n is 0 if the peer has closed.
		return failed != nil || n == 0 || n == len(text) || string(head[:n]) != text[:n]
	})
	if err != nil {
		return false, err
	}
	return n > 0 && string(head[:n]) == text, connection.SetReadDeadline(time.Time{})
}

// Accept implements net.Listener.
func (b *branch) Accept() (net.Conn, error) {
	select {
	case connection := <-b.connections:
		return connection, nil
	case <-b.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (b *branch) Close() error { return b.close() }

package calls

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/binding/accept"
)

const (
	// greeting is how HTTP/2 begins, and no request of HTTP/1.
	greeting = "PRI"
	// greetingPatience is how long a client may take to send as much.
	greetingPatience = 10 * time.Second
)

// branch is a listener that gets some of the connections of another one.
type branch struct {
	net.Listener // whose connections are shared; it closes with the last branch
	connections  chan net.Conn
	closed       chan struct{}
	close        func() error
}

// Fork shares the connections of a listener: calls are those that begin as HTTP/2 does.
// The listener is closed when both are.
func Fork(listener net.Listener) (calls, others net.Listener) {
	var open sync.WaitGroup
	made := func() *branch {
		open.Add(1)
		b := &branch{Listener: listener, connections: make(chan net.Conn), closed: make(chan struct{})}
		b.close = sync.OnceValue(func() error { close(b.closed); open.Done(); return nil })
		return b
	}
	forCalls, forOthers := made(), made()
	go func() {
		open.Wait()
		_ = listener.Close() // nobody would hear of it
	}()
	go func() {
		for {
			connection, err := accept.Next(listener)
			if err != nil { // it is closed
				return
			}
			go share(connection, forCalls, forOthers)
		}
	}()
	return forCalls, forOthers
}

// share hands a connection to one of two branches.
func share(connection net.Conn, calls, others *branch) {
	begun := make([]byte, len(greeting))
	err := connection.SetReadDeadline(time.Now().Add(greetingPatience))
	if err == nil {
		_, err = io.ReadFull(connection, begun)
	}
	if err == nil {
		err = connection.SetReadDeadline(time.Time{})
	}
	if err != nil {
		_ = connection.Close() // whoever is there says nothing
		return
	}
	to := others
	if string(begun) == greeting {
		to = calls
	}
	select {
	case to.connections <- &begunConn{connection, io.MultiReader(bytes.NewReader(begun), connection)}:
	case <-to.closed:
		_ = connection.Close() // it is late
	}
}

// begunConn is a connection of which something was read.
type begunConn struct {
	net.Conn
	all io.Reader
}

// Read implements net.Conn.
func (c *begunConn) Read(p []byte) (int, error) { return c.all.Read(p) }

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

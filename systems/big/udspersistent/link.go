package udspersistent

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/cleave-lab/cleave/binding/eventloop"
)

// unknown is the index of a neighbour that is not known; slices.Index returns it, too.
const unknown = -1

// link is the connection to one neighbour.
type link struct {
	worker *worker
	conn   *eventloop.Conn
	index  int    // of the neighbour, or unknown
	hello  string // the address in its hello, on connections that it opened
	codec  codec  // nil until the neighbour is known
}

// send sends a ping or a pong.
func (l *link) send(o op) error {
	if err := l.conn.Write(l.codec.encode(o)); err != nil {
		return fmt.Errorf("neighbour %d: %w", l.index, err)
	}
	return nil
}

// Data implements eventloop.Handler.
func (l *link) Data(_ *eventloop.Conn, data []byte) (consumed int, err error) {
	if l.hello == "" && l.index == unknown {
		if consumed, err = l.readHello(data); consumed == 0 || err != nil {
			return consumed, err
		}
	}
	// A neighbour pings only after the kick-off, when all links are settled.
	for l.codec != nil && consumed < len(data) {
		o, n, err := l.codec.decode(data[consumed:])
		if n == 0 || err != nil {
			return consumed, err
		}
		consumed += n
		if err := l.handle(o); err != nil {
			return consumed, err
		}
	}
	return consumed, nil
}

// Closed implements eventloop.Handler. A neighbour may close the connection once this worker has all its
// pongs: the core may then be dismissing the workers.
func (l *link) Closed(_ *eventloop.Conn, err error) {
	if l.worker.rules.Done() && err == nil {
		return
	}
	l.worker.loop.Fail(lost(l.peer(), err))
}

// peer returns what is known of the worker at the other end, for messages.
func (l *link) peer() string {
	switch {
	case l.index != unknown:
		return fmt.Sprintf("neighbour %d", l.index)
	case l.hello != "":
		return l.hello
	}
	return "a worker that has not said hello"
}

// lost returns the error of a lost connection. cause is nil if the peer has closed it.
func lost(peer string, cause error) error {
	if cause == nil {
		cause = net.ErrClosed
	}
	return fmt.Errorf("connection to %s: %w", peer, cause)
}

// handle handles a ping or a pong.
func (l *link) handle(o op) error {
	if o == ping {
		if err := l.worker.rules.Ping(l.index); err != nil {
			return err
		}
		return l.send(pong)
	}
	if err := l.worker.rules.Pong(l.index); err != nil {
		return err
	}
	return l.worker.next()
}

// readHello decodes the hello of the neighbour that opened the connection. Until the core has sent the
// neighbourhood, the link has to wait.
func (l *link) readHello(data []byte) (consumed int, err error) {
	message, n, err := readLine(data)
	if n == 0 || err != nil {
		return 0, err
	}
	if message.Op != opHello {
		return 0, fmt.Errorf("a connection begins with %q, want %q", message.Op, opHello)
	}
	if l.hello, err = message.Address(); err != nil {
		return 0, err
	}
	if l.worker.neighbourhood == nil {
		l.worker.waiting = append(l.worker.waiting, l)
		return n, nil
	}
	return n, l.settle()
}

// settle assigns the link to its neighbour, once hello and neighbourhood are known. Only neighbours with a
// lower index, and the worker itself for self-pings, may have opened it.
func (l *link) settle() (err error) {
	w := l.worker
	if l.index = slices.Index(w.neighbourhood, l.hello); l.index == unknown {
		return errors.New("it is no neighbour")
	}
	own := w.rules.Index()
	isSelf := l.index == own && w.job.SelfPings
	isAwaited := l.index < own && w.links[l.index] == nil
	if !isSelf && !isAwaited {
		return fmt.Errorf("unexpected: worker %d awaits one connection of each neighbour with a lower index", own)
	}
	if l.codec, err = w.codecFor(l.index); err != nil {
		return err
	}
	if l.index != own { // self-pings use the end that the worker opened, which connect has set
		w.links[l.index] = l
	}
	return w.connected()
}

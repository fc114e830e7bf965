// Package udspersistent is the architecture uds-persistent of Big: the study's
// second approach, improved by connections between workers that persist for the
// whole trial. It has one process and one thread per worker, an event loop over
// Unix sockets, and one connection per pair of neighbours, which carries the pings
// and pongs of both directions.
//
// Core and workers exchange the messages of package udsservice, one JSON object
// per line, and two more: a worker identifies itself to a neighbour with hello,
// and reports to the core with ready that all its connections are established.
// Pings and pongs are binary frames of eight bytes or, by the knob encoding, lines
// of JSON.
//
// Entry points: NewCore and RunWorker.
package udspersistent

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/binding/eventloop"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/udsservice"
)

// The messages that udsservice does not have.
const (
	opHello = "hello" // worker to worker, content: its address; the first message of a connection
	opReady = "ready" // worker to core: all its connections are established
)

// core implements big.Workers over connections of the workers. Its event loop runs only during Gather and
// AwaitFinish.
type core struct {
	*big.Reception
	job       big.UnitJob
	address   string
	loop      *eventloop.Loop
	members   map[string]*member // by address
	ready     int                // workers that have sent ready
	dismissed bool               // workers may close their connections
	complete  bool               // all workers have registered and know their neighbourhood
}

// member is the connection of one worker.
type member struct {
	core    *core
	conn    *eventloop.Conn
	address string // known once registered
}

// NewCore returns the core of a job, which listens for registrations.
func NewCore(job big.UnitJob) (big.Workers, error) {
	address, err := udsservice.CoreAddress()
	if err != nil {
		return nil, err
	}
	loop, err := eventloop.New(eventloop.Config{})
	if err != nil {
		return nil, err
	}
	c := &core{Reception: big.NewReception(job.Job), job: job, address: address, loop: loop,
		members: map[string]*member{}}
	_, err = loop.Listen("unix", address, func(conn *eventloop.Conn) eventloop.Handler {
		return &member{core: c, conn: conn}
	})
	if err != nil {
		return nil, errors.Join(err, loop.Close())
	}
	return c, nil
}

// Gather implements big.Workers: it returns when all connections are established.
func (c *core) Gather() error { return c.loop.Run() }

// KickOff implements big.Workers: it sends a pong to every worker.
func (c *core) KickOff() error { return c.sendAll(udsservice.OpPong, c.address) }

// AwaitFinish implements big.Workers.
func (c *core) AwaitFinish() error { return c.loop.Run() }

// Dismiss implements big.Workers. The sockets take the stop messages at once: a worker that has finished has
// read all that the core sent before. So none is unsent when the loop closes.
func (c *core) Dismiss() error {
	c.dismissed = true
	return errors.Join(c.sendAll(udsservice.OpStop, nil), c.loop.Close())
}

// sendAll sends a message to every worker.
func (c *core) sendAll(op string, content any) error {
	for _, address := range c.Addresses() {
		if err := sendLine(c.members[address].conn, op, content); err != nil {
			return fmt.Errorf("worker %s: %w", address, err)
		}
	}
	return nil
}

// introduce sends every worker its neighbourhood.
func (c *core) introduce() error {
	for number, address := range c.Addresses() {
		err := sendLine(c.members[address].conn, udsservice.OpNeighbourhood, c.NeighbourhoodOf(number))
		if err != nil {
			return fmt.Errorf("worker %s: %w", address, err)
		}
	}
	c.complete = true
	return nil
}

// Data implements eventloop.Handler.
func (m *member) Data(_ *eventloop.Conn, data []byte) (consumed int, err error) {
	return eachLine(data, m.handle)
}

// Closed implements eventloop.Handler: the trial needs every worker.
func (m *member) Closed(_ *eventloop.Conn, err error) {
	if !m.core.dismissed {
		m.core.loop.Fail(lost(cmp.Or(m.address, "a worker that has not registered"), err))
	}
}

// handle handles a message of the worker.
func (m *member) handle(message udsservice.Message) error {
	c := m.core
	switch {
	case message.Op == udsservice.OpRegister && m.address == "":
		return m.register(message)
	case message.Op == opReady && c.complete && c.ready < c.job.Total():
		if c.ready++; c.ready == c.job.Total() {
			c.loop.Stop()
		}
		return nil
	case message.Op == udsservice.OpFinish && c.ready == c.job.Total():
		if c.Finish() {
			c.loop.Stop()
		}
		return nil
	}
	return fmt.Errorf("got a %q message out of turn", message.Op)
}

// register adds the worker. After the last one it sends all workers their neighbourhoods.
func (m *member) register(message udsservice.Message) error {
	address, err := message.Address()
	if err != nil {
		return err
	}
	if _, twice := m.core.members[address]; twice {
		return fmt.Errorf("address %s registers twice", address)
	}
	complete, err := m.core.Register(address)
	if err != nil {
		return err
	}
	m.address = address
	m.core.members[address] = m
	if complete {
		return m.core.introduce()
	}
	return nil
}

// Package udsservice is the architecture uds of Big, the study's second
// approach: one single-threaded process per worker, Unix sockets, a new
// connection for every message, and messages as JSON objects with the fields op
// and content. Core and workers block until a connection comes, read it to its
// end, handle its message, and block again. It is written with net and
// encoding/json as a Go developer would, as a baseline: neither tuned nor slowed
// down.
//
// Differences from the study: a worker goes on answering until the core's stop
// message; the kick-off is a pong of the core but not counted as one; every pong
// names its sender, which is checked.
//
// Entry points: NewCore and RunWorker. Package udspersistent uses the same
// messages.
package udsservice

import (
	"errors"
	"fmt"
	"net"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/rendezvous"
)

// core implements big.Workers by messages to the worker processes.
type core struct {
	*big.Reception
	address  string
	listener net.Listener
}

// NewCore returns the core of a job, which listens for registrations.
func NewCore(job big.UnitJob) (big.Workers, error) {
	address, err := CoreAddress()
	if err != nil {
		return nil, err
	}
	listener, err := rendezvous.Listen("unix", address)
	if err != nil {
		return nil, err
	}
	return &core{Reception: big.NewReception(job.Job), address: address, listener: listener}, nil
}

// Gather implements big.Workers: it awaits the registrations and then sends every worker its neighbourhood.
func (c *core) Gather() error {
	for complete := false; !complete; {
		message, err := c.expect(OpRegister)
		if err != nil {
			return err
		}
		address, err := message.Address()
		if err != nil {
			return err
		}
		if complete, err = c.Register(address); err != nil {
			return err
		}
	}
	for number, worker := range c.Addresses() {
		if err := send(worker, OpNeighbourhood, c.NeighbourhoodOf(number)); err != nil {
			return err
		}
	}
	return nil
}

// KickOff implements big.Workers: it sends a pong to every worker.
func (c *core) KickOff() error { return c.sendAll(OpPong, c.address) }

// AwaitFinish implements big.Workers.
func (c *core) AwaitFinish() error {
	for last := false; !last; {
		if _, err := c.expect(OpFinish); err != nil {
			return err
		}
		last = c.Finish()
	}
	return nil
}

// Dismiss implements big.Workers.
func (c *core) Dismiss() error {
	return errors.Join(c.sendAll(OpStop, nil), c.listener.Close())
}

// expect returns the next message, which must have the given operation.
func (c *core) expect(op string) (Message, error) {
	message, err := receive(c.listener)
	if err == nil && message.Op != op {
		err = fmt.Errorf("core got a %q message, want %q", message.Op, op)
	}
	return message, err
}

// sendAll sends a message to every worker, also after an error.
func (c *core) sendAll(op string, content any) (err error) {
	for _, worker := range c.Addresses() {
		err = errors.Join(err, send(worker, op, content))
	}
	return err
}

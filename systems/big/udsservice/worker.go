package udsservice

import (
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/rendezvous"
)

// worker is one worker process.
type worker struct {
	rules         *big.Worker
	address       string
	core          string
	neighbourhood []string
	indexes       map[string]int // of neighbours, by address
	stopped       bool
}

// RunWorker runs the job's worker: it registers at the core and handles messages until the stop message.
func RunWorker(job big.UnitJob) (big.Account, error) {
	return big.PlayWorker(job, func(rules *big.Worker) error {
		w, err := newWorker(job.Worker, rules)
		if err != nil {
			return err
		}
		return w.serve()
	})
}

// newWorker returns the worker with a number.
func newWorker(number int, rules *big.Worker) (*worker, error) {
	address, err := WorkerAddress(number)
	if err != nil {
		return nil, err
	}
	core, err := CoreAddress()
	if err != nil {
		return nil, err
	}
	return &worker{rules: rules, address: address, core: core}, nil
}

// serve listens, registers, and handles one message after the other.
func (w *worker) serve() error {
	listener, err := rendezvous.Listen("unix", w.address)
	if err != nil {
		return err
	}
	if err := rendezvous.WithCore(func() error { return send(w.core, OpRegister, w.address) }); err != nil {
		return errors.Join(err, listener.Close())
	}
	for !w.stopped {
		message, err := receive(listener)
		if err == nil {
			err = w.handle(message)
		}
		if err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	return listener.Close()
}

// handle handles a message of the core or of a neighbour.
func (w *worker) handle(message Message) error {
	switch message.Op {
	case OpPing:
		return w.ping(message)
	case OpPong:
		return w.pong(message)
	case OpNeighbourhood:
		return w.meet(message)
	case OpStop:
		w.stopped = true
		return nil
	}
	return fmt.Errorf("got a message with op %q, want %s, %s, %s or %s",
		message.Op, OpNeighbourhood, OpPing, OpPong, OpStop)
}

// meet stores the neighbourhood, in which the worker must be at its index.
func (w *worker) meet(message Message) error {
	neighbourhood, err := message.Addresses()
	if err != nil {
		return err
	}
	w.neighbourhood = neighbourhood
	w.indexes = map[string]int{}
	for index, address := range neighbourhood {
		w.indexes[address] = index
	}
	if index, ok := w.indexes[w.address]; !ok || index != w.rules.Index() {
		return fmt.Errorf("neighbourhood %q: want %s at index %d", neighbourhood, w.address, w.rules.Index())
	}
	return nil
}

// ping answers the sender of a ping.
func (w *worker) ping(message Message) error {
	sender, index, err := w.sender(message)
	if err != nil {
		return err
	}
	if err := w.rules.Ping(index); err != nil {
		return err
	}
	return send(sender, OpPong, w.address)
}

// pong counts a pong and sends the next ping. A pong of the core is the kick-off, not an answer.
func (w *worker) pong(message Message) error {
	sender, err := message.Address()
	if err != nil {
		return err
	}
	if sender == w.core {
		return w.next()
	}
	_, index, err := w.sender(message)
	if err != nil {
		return err
	}
	if err := w.rules.Pong(index); err != nil {
		return err
	}
	return w.next()
}

// next pings a neighbour, or reports to the core that the limit is reached.
func (w *worker) next() error {
	target, more := w.rules.Next()
	if !more {
		return send(w.core, OpFinish, nil)
	}
	return send(w.neighbourhood[target], OpPing, w.address)
}

// sender returns the address and index of the neighbour that the message names as its sender.
func (w *worker) sender(message Message) (address string, index int, err error) {
	if address, err = message.Address(); err != nil {
		return "", 0, err
	}
	index, ok := w.indexes[address]
	if !ok {
		return "", 0, fmt.Errorf("%s from %s, which is no neighbour", message.Op, address)
	}
	return address, index, nil
}

package udspersistent

import (
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/binding/eventloop"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/rendezvous"
	"github.com/cleave-lab/cleave/systems/big/udsservice"
)

// worker is one worker process.
type worker struct {
	job           big.UnitJob
	rules         *big.Worker
	loop          *eventloop.Loop
	address       string
	coreAddress   string
	core          *eventloop.Conn
	neighbourhood []string // addresses, by index; nil until the core has sent them
	waiting       []*link  // links whose hello came before the neighbourhood
	links         []*link  // the links for pings, by index; nil: not connected
	missing       int      // connections that are not established yet
	started       bool
	stopped       bool
}

// RunWorker runs the job's worker: it registers at the core, connects to its neighbours and serves until the
// stop message.
func RunWorker(job big.UnitJob) (big.Account, error) {
	return big.PlayWorker(job, func(rules *big.Worker) error {
		loop, err := eventloop.New(eventloop.Config{Dedicated: true, Yield: true})
		if err != nil {
			return err
		}
		w := &worker{job: job, rules: rules, loop: loop}
		return errors.Join(w.run(), loop.Close())
	})
}

// run listens, registers and serves.
func (w *worker) run() (err error) {
	if w.address, err = udsservice.WorkerAddress(w.job.Worker); err != nil {
		return err
	}
	if w.coreAddress, err = udsservice.CoreAddress(); err != nil {
		return err
	}
	_, err = w.loop.Listen("unix", w.address, func(conn *eventloop.Conn) eventloop.Handler {
		return &link{worker: w, conn: conn, index: unknown}
	})
	if err != nil {
		return err
	}
	err = rendezvous.WithCore(func() error {
		w.core, err = w.loop.Dial("unix", w.coreAddress, &coreLink{worker: w})
		return err
	})
	if err != nil {
		return err
	}
	if err := sendLine(w.core, udsservice.OpRegister, w.address); err != nil {
		return err
	}
	return w.loop.Run()
}

// meet checks the neighbourhood and connects to the neighbours with a higher index; those with a lower one
// connect to this worker. For self-pings it also connects to itself. A neighbourhood has two workers at least
// (big.System), so there is a connection to wait for.
func (w *worker) meet(message udsservice.Message) error {
	neighbourhood, err := message.Addresses()
	if err != nil {
		return err
	}
	own := w.rules.Index()
	if len(neighbourhood) != w.job.Workers || neighbourhood[own] != w.address {
		return fmt.Errorf("neighbourhood %q: want %d with %s at index %d", neighbourhood, w.job.Workers, w.address,
			own)
	}
	w.neighbourhood = neighbourhood
	w.links = make([]*link, len(neighbourhood))
	first := own + 1
	w.missing = len(neighbourhood) - 1
	if w.job.SelfPings {
		first = own
		w.missing = len(neighbourhood) + 1 // both ends of its own connection
	}
	for index := first; index < len(neighbourhood); index++ {
		if err := w.connect(index); err != nil {
			return err
		}
	}
	for _, l := range w.waiting {
		if err := l.settle(); err != nil {
			return lost(l.peer(), err)
		}
	}
	return nil
}

// connect opens the link to a neighbour and sends hello.
func (w *worker) connect(index int) (err error) {
	l := &link{worker: w, index: index}
	if l.codec, err = w.codecFor(index); err != nil {
		return err
	}
	if l.conn, err = w.loop.Dial("unix", w.neighbourhood[index], l); err != nil {
		return fmt.Errorf("neighbour %d: %w", index, err)
	}
	if err := sendLine(l.conn, opHello, w.address); err != nil {
		return fmt.Errorf("neighbour %d: %w", index, err)
	}
	w.links[index] = l
	return w.connected()
}

// connected counts an established connection. After the last one the worker sends ready to the core.
func (w *worker) connected() error {
	if w.missing--; w.missing > 0 {
		return nil
	}
	return sendLine(w.core, opReady, nil)
}

// codecFor returns the codec of the link to a neighbour.
func (w *worker) codecFor(index int) (codec, error) {
	switch encoding := w.job.Knobs[big.KnobEncoding]; encoding {
	case "json":
		return newJSONCodec(w.address, w.neighbourhood[index]), nil
	case "binary":
		return &binaryCodec{own: w.rules.Index(), peer: index}, nil
	default:
		return nil, fmt.Errorf("encoding %q: want binary or json", encoding)
	}
}

// next pings a neighbour, or reports to the core that the limit is reached.
func (w *worker) next() error {
	target, more := w.rules.Next()
	if !more {
		return sendLine(w.core, udsservice.OpFinish, nil)
	}
	return w.links[target].send(ping)
}

// coreLink handles the messages of the core.
type coreLink struct{ worker *worker }

// Data implements eventloop.Handler.
func (c *coreLink) Data(_ *eventloop.Conn, data []byte) (consumed int, err error) {
	return eachLine(data, c.handle)
}

// Closed implements eventloop.Handler. Until the stop message the worker needs the core.
func (c *coreLink) Closed(_ *eventloop.Conn, err error) {
	if c.worker.stopped {
		return
	}
	c.worker.loop.Fail(lost("the core", err))
}

// handle handles a message of the core.
func (c *coreLink) handle(message udsservice.Message) error {
	w := c.worker
	switch {
	case message.Op == udsservice.OpNeighbourhood && w.neighbourhood == nil:
		if err := w.meet(message); err != nil {
			w.loop.Fail(err) // not of the connection to the core
		}
		return nil
	case message.Op == udsservice.OpPong && !w.started && w.neighbourhood != nil && w.missing == 0:
		w.started = true // the kick-off is a pong, as in the study
		return w.next()
	case message.Op == udsservice.OpStop:
		w.stopped = true
		w.loop.Stop()
		return nil
	}
	return fmt.Errorf("got a %q message out of turn", message.Op)
}

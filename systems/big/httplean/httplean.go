// Package httplean is the architecture http-lean of Big: the endpoints and JSON messages of the architecture
// http, implemented for speed. A worker is one thread with one event loop, keeps its connections, and reads
// and writes HTTP itself (package leanhttp). The core is that of package httpservice: it is not involved in
// pings.
//
// As in package httpservice, the worker that answers a ping is identified by the address of the request. Here
// each connection leads to one neighbour for the whole trial.
//
// Entry point: RunWorker.
package httplean

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/cleave-lab/cleave/binding/eventloop"
	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/httpservice"
	"github.com/cleave-lab/cleave/systems/big/rendezvous"
)

// limits holds the size limits of messages from peers, in bytes: a start message has up to 24 per neighbour.
var limits = leanhttp.Limits{Head: 4 << 10, Body: 256 << 10}

const (
	jsonType = "application/json"
	textType = "text/plain; charset=utf-8"
)

// worker is one worker process.
type worker struct {
	job        big.UnitJob
	rules      *big.Worker
	loop       *eventloop.Loop
	address    string
	core       *leanhttp.Client
	neighbours []neighbour // by index
	started    bool
	pong       []byte // the body of every answer to a ping
}

// neighbour is one of the neighbours of a worker. It receives the answers to the pings.
type neighbour struct {
	worker  *worker
	index   int
	address string
	client  *leanhttp.Client // nil until the first ping
}

// RunWorker runs the job's worker: it registers at the core and serves until POST /stop.
func RunWorker(job big.UnitJob) (big.Account, error) {
	return big.PlayWorker(job, func(rules *big.Worker) error {
		loop, err := eventloop.New(eventloop.Config{Dedicated: true, Yield: true})
		if err != nil {
			return err
		}
		w := &worker{job: job, rules: rules, loop: loop, pong: []byte("pong")}
		return errors.Join(w.run(), loop.Close())
	})
}

// run listens, registers and serves.
func (w *worker) run() error {
	address, coreAddress, err := rendezvous.Addresses()
	if err != nil {
		return err
	}
	w.address = address
	if _, err := leanhttp.Serve(w.loop, address, limits, w); err != nil {
		return err
	}
	err = rendezvous.WithCore(func() error {
		w.core, err = leanhttp.Dial(w.loop, coreAddress, limits, &coreLink{worker: w})
		return err
	})
	if err != nil {
		return err
	}
	registration, err := json.Marshal(httpservice.RegisterMessage{Address: w.address})
	if err != nil {
		return fmt.Errorf("encode the registration: %w", err)
	}
	if err := w.core.Send(http.MethodPost, "/register", jsonType, registration); err != nil {
		return err
	}
	return w.loop.Run()
}

// Handle implements leanhttp.Handler. It serves the endpoints of a worker.
func (w *worker) Handle(r *leanhttp.Request, a *leanhttp.Answer) {
	switch {
	case is(r, http.MethodGet, "/ping"):
		w.rules.Answered()
		a.ContentType = textType
		a.Body = w.pong
	case is(r, http.MethodPost, "/start"):
		if status, err := w.start(r.Body); err != nil {
			a.Status = status
			a.ContentType = textType
			a.Body = []byte(err.Error() + "\n")
		}
	case is(r, http.MethodPost, "/stop"):
		w.loop.Stop() // after this batch of events, in which the answer is still written
	default:
		a.Status = http.StatusNotFound
	}
}

// is reports whether a request has this method and target.
func is(r *leanhttp.Request, method, target string) bool {
	return string(r.Method) == method && string(r.Target) == target
}

// start checks the start message and sends the first ping. It returns the status of the answer, and an error
// if the message is refused.
func (w *worker) start(body []byte) (status int, err error) {
	var message httpservice.StartMessage
	if err := json.Unmarshal(body, &message); err != nil {
		return http.StatusBadRequest, fmt.Errorf("start message: %w", err)
	}
	if err := message.Check(w.rules.Index(), w.address, w.job.Workers, w.job.Pings); err != nil {
		return http.StatusBadRequest, err
	}
	if w.started {
		return http.StatusConflict, errors.New("started already")
	}
	w.started = true
	w.neighbours = make([]neighbour, len(message.Neighbourhood))
	for index, address := range message.Neighbourhood {
		w.neighbours[index] = neighbour{worker: w, index: index, address: address}
	}
	w.next()
	return http.StatusOK, nil
}

// next pings a neighbour, or reports to the core that the limit is reached.
func (w *worker) next() {
	target, more := w.rules.Next()
	var err error
	if more {
		err = w.neighbours[target].ping()
	} else {
		err = w.core.Send(http.MethodPost, "/finish", jsonType, nil)
	}
	if err != nil {
		w.loop.Fail(err)
	}
}

// ping sends a ping, over a connection that the first ping opens.
func (n *neighbour) ping() (err error) {
	if n.client == nil {
		if n.client, err = leanhttp.Dial(n.worker.loop, n.address, limits, n); err != nil {
			return fmt.Errorf("ping neighbour %d: %w", n.index, err)
		}
	}
	return n.client.Send(http.MethodGet, "/ping", "", nil)
}

// Response implements leanhttp.Receiver: after a pong it sends the next ping.
func (n *neighbour) Response(_ *leanhttp.Client, r *leanhttp.Response) {
	if r.Status != http.StatusOK || string(r.Body) != "pong" {
		n.worker.loop.Fail(fmt.Errorf("neighbour %d answered ping with status %d and %.60q, want 200 and \"pong\"",
			n.index, r.Status, r.Body))
		return
	}
	if err := n.worker.rules.Pong(n.index); err != nil {
		n.worker.loop.Fail(err)
		return
	}
	n.worker.next()
}

// Lost implements leanhttp.Receiver.
func (n *neighbour) Lost(_ *leanhttp.Client, err error) {
	n.worker.lost(fmt.Sprint("neighbour ", n.index), err)
}

// lost fails for a lost connection. cause is nil if the peer has closed it. Once this worker has all its
// pongs, peers may close: the core may be dismissing the workers.
func (w *worker) lost(peer string, cause error) {
	if w.rules.Done() {
		return
	}
	if cause == nil {
		cause = net.ErrClosed
	}
	w.loop.Fail(fmt.Errorf("connection to %s: %w", peer, cause))
}

// coreLink receives the core's answers.
type coreLink struct{ worker *worker }

// Response implements leanhttp.Receiver.
func (c *coreLink) Response(_ *leanhttp.Client, r *leanhttp.Response) {
	if r.Status != http.StatusOK {
		c.worker.loop.Fail(fmt.Errorf("the core answered with status %d: %.200s", r.Status, r.Body))
	}
}

// Lost implements leanhttp.Receiver.
func (c *coreLink) Lost(_ *leanhttp.Client, err error) { c.worker.lost("the core", err) }

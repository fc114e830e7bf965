package httpservice

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/rendezvous"
)

// worker is one worker process.
type worker struct {
	job     big.UnitJob
	address string // its own
	core    string
	client  *http.Client
	mu      sync.Mutex // guards rules and started
	rules   *big.Worker
	started bool
	outcome big.Outcome // receives nil when the core dismisses the worker
}

// RunWorker runs the job's worker: it registers at the core and serves until POST /stop.
func RunWorker(job big.UnitJob) (big.Account, error) {
	return big.PlayWorker(job, func(rules *big.Worker) error {
		w := &worker{job: job, client: newClient(job), rules: rules, outcome: big.NewOutcome()}
		return w.run()
	})
}

// newClient returns the client for pings. Two idle connections per host, as in the default transport, suffice
// for one ping at a time. But the default limit of a hundred for all hosts is too low for many neighbours.
func newClient(job big.UnitJob) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives:   job.Knobs[big.KnobKeepAlive] == "off",
		MaxIdleConns:        2*job.Workers + 2,
		MaxIdleConnsPerHost: 2,
	}}
}

// run listens, registers and serves.
func (w *worker) run() error {
	var err error
	if w.address, w.core, err = rendezvous.Addresses(); err != nil {
		return err
	}
	listener, err := rendezvous.Listen("tcp", w.address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: w.routes()}
	// Like the study's, the worker registers before it serves. The kernel queues connections until then.
	err = rendezvous.WithCore(func() error {
		return post(w.client, w.core, "/register", RegisterMessage{Address: w.address})
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	serve(server, listener, w.outcome.Set)
	if err := <-w.outcome; err != nil {
		return errors.Join(err, server.Close())
	}
	w.client.CloseIdleConnections()
	return shutdown(server)
}

// routes returns the endpoints of a worker.
func (w *worker) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start", w.start)
	mux.HandleFunc("GET /ping", w.ping)
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) { w.outcome.Set(nil) })
	return mux
}

// start checks the start message and begins to ping.
func (w *worker) start(response http.ResponseWriter, r *http.Request) {
	var message StartMessage
	err := decode(r.Body, &message)
	if err == nil {
		err = message.Check(w.rules.Index(), w.address, w.job.Workers, w.job.Pings)
	}
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		http.Error(response, "started already", http.StatusConflict)
		return
	}
	w.started = true
	go func() {
		if err := w.pingAll(message.Neighbourhood); err != nil {
			w.outcome.Set(err)
		}
	}()
}

// ping answers a neighbour.
func (w *worker) ping(response http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	w.rules.Answered()
	w.mu.Unlock()
	if _, err := response.Write([]byte("pong")); err != nil {
		w.outcome.Set(fmt.Errorf("answer ping: %w", err))
	}
}

// pingAll pings until the limit is reached and reports that to the core.
func (w *worker) pingAll(neighbourhood []string) error {
	urls := make([]string, len(neighbourhood))
	for index, address := range neighbourhood {
		urls[index] = url(address, "/ping")
	}
	for {
		w.mu.Lock()
		target, more := w.rules.Next()
		w.mu.Unlock()
		if !more {
			return post(w.client, w.core, "/finish", nil)
		}
		if err := w.pingOne(target, urls[target]); err != nil {
			return err
		}
	}
}

// pingOne pings one neighbour and awaits its pong.
func (w *worker) pingOne(target int, url string) error {
	response, err := w.client.Get(url)
	if err != nil {
		return fmt.Errorf("ping neighbour %d: %w", target, err)
	}
	body, err := readAll(response)
	if err != nil {
		return fmt.Errorf("ping neighbour %d: %w", target, err)
	}
	if response.StatusCode != http.StatusOK || string(body) != "pong" {
		return fmt.Errorf("neighbour %d answered ping with status %d and %.60q, want 200 and \"pong\"",
			target, response.StatusCode, body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rules.Pong(target)
}

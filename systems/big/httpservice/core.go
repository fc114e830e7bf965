// Package httpservice is the architecture http of Big, the study's first
// approach: one process per worker, each a complete HTTP server, messages as
// JSON in requests over TCP. It is written with net/http and encoding/json as a
// Go developer would today. The core serves POST /register and POST /finish;
// a worker serves POST /start, GET /ping (answered "pong") and POST /stop. As in
// the study, requests are served concurrently and a goroutine of its own pings.
//
// Differences from the study: the deployer chooses the port; workers are known by
// address and port, so that they need not share a host; a worker goes on answering until
// POST /stop; whether connections are kept is a knob, which the study does not say.
//
// Neither pings nor pongs name their senders: the worker that answers is
// identified by the address of the request, which belongs to one worker for the
// whole trial.
//
// Entry points: NewCore and RunWorker. Package httplean uses the same core.
package httpservice

import (
	"errors"
	"net/http"
	"net/netip"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/rendezvous"
	"github.com/cleave-lab/cleave/unit"
)

// core implements big.Workers by requests to the worker processes.
type core struct {
	*big.Reception
	job    big.UnitJob
	server *http.Server
	client *http.Client
}

// NewCore returns the core of a job, which serves registrations at its address.
func NewCore(job big.UnitJob) (big.Workers, error) {
	address, err := unit.Address()
	if err != nil {
		return nil, err
	}
	listener, err := rendezvous.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &core{Reception: big.NewReception(job.Job), job: job,
		client: &http.Client{Transport: &http.Transport{}}}
	c.server = &http.Server{Handler: c.routes()}
	serve(c.server, listener, c.Fail)
	return c, nil
}

// routes returns the endpoints of the core.
func (c *core) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /register", c.register)
	mux.HandleFunc("POST /finish", c.finish)
	return mux
}

// register answers POST /register: it adds the address of a worker.
func (c *core) register(w http.ResponseWriter, r *http.Request) {
	var message RegisterMessage
	err := decode(r.Body, &message)
	if _, wrong := netip.ParseAddrPort(message.Address); err != nil || wrong != nil {
		http.Error(w, `want a body like {"address":"host:port"}, with an address of numbers`, http.StatusBadRequest)
		return
	}
	if _, err := c.Register(message.Address); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// finish answers POST /finish.
func (c *core) finish(http.ResponseWriter, *http.Request) { c.Finish() }

// KickOff implements big.Workers: it sends every worker its neighbourhood, which starts the worker.
func (c *core) KickOff() error {
	for number, address := range c.Addresses() {
		if err := post(c.client, address, "/start", StartMessage{PingLimit: c.job.Pings,
			Neighbourhood: c.NeighbourhoodOf(number)}); err != nil {
			return err
		}
	}
	return nil
}

// Dismiss implements big.Workers.
func (c *core) Dismiss() error {
	var stops errgroup.Group
	stops.SetLimit(big.StopsAtOnce)
	for _, address := range c.Addresses() {
		stops.Go(func() error { return post(c.client, address, "/stop", nil) })
	}
	err := stops.Wait()
	c.client.CloseIdleConnections()
	return errors.Join(err, shutdown(c.server))
}

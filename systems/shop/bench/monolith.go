package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/system"
)

// playMonolith has clients order over HTTP, in this process, and returns the time of all
// orders. It is an error if the audit finds a problem in the records.
func playMonolith(
	ctx context.Context, place *place, jobs []*shoppb.CreateOrderRequest, o options,
) (took time.Duration, err error) {
	config, err := place.fresh(ctx)
	if err != nil {
		return 0, err
	}
	config.Connections = o.connections
	db, err := database.Open(ctx, config)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	address, stop, err := serve(ctx, db)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	sent := requests(jobs)
	began := time.Now()
	if err := sendAll(address, o.clients, sent, shop.StateConfirmed); err != nil {
		return 0, err
	}
	return time.Since(began), judge(ctx, audit.InOne(db), architecture.Design{Coordination: architecture.ACID},
		seed(), jobs)
}

// serve runs the monolith until stop is called.
func serve(ctx context.Context, db *database.DB) (address string, stop func() error, err error) {
	parts, err := assembly.Monolith(db)
	if err != nil {
		return "", nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	serving, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(serving, listener, api.NewHandler(parts, db.Ping, nil)) }()
	return listener.Addr().String(), func() error {
		cancel()
		return <-ended
	}, nil
}

// judge audits a trial in which every order was accepted. filled is the shop before the
// first order.
func judge(
	ctx context.Context, from map[string]*database.DB, design architecture.Design, filled shop.Seed,
	jobs []*shoppb.CreateOrderRequest,
) error {
	in, err := system.Recorded(ctx, design, from)
	if err != nil {
		return err
	}
	in.Seed = filled
	in.Fresh = filled
	in.Drained = true
	for _, job := range jobs {
		in.History = append(in.History, audit.Attempt{Operation: audit.OperationCreate, Outcome: audit.OutcomeOK,
			Key: job.GetIdempotencyKey(), Asked: audit.AskedBy(job)})
	}
	judged := audit.Judge(in)
	if judged.Verdict != lab.AuditValid {
		return fmt.Errorf("the audit says %s: %v", judged.Verdict, judged.Problems)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// makeJobs returns orders of one to three products, the same ones for the same random seed.
func makeJobs(randomSeed uint64, count int) []*shoppb.CreateOrderRequest {
	random := rand.New(rand.NewPCG(randomSeed, 1))
	jobs := make([]*shoppb.CreateOrderRequest, count)
	for n := range jobs {
		job := &shoppb.CreateOrderRequest{IdempotencyKey: fmt.Sprintf("bench-%d", n),
			CustomerId: 1 + random.Int64N(seed().Customers)}
		first := random.Int64N(seed().Products)
		for i := range 1 + random.Int64N(3) {
			product := 1 + (first+i*317)%seed().Products
			job.Lines = append(job.Lines, &shoppb.Line{ProductId: product, Quantity: 1 + random.Int64N(3)})
		}
		jobs[n] = job
	}
	return jobs
}

// script lists the statements of one order between BEGIN and COMMIT.
type script []database.Statement

// recorder keeps the statements of one transaction after the other.
type recorder struct {
	scripts []script
	current script
}

// Observe implements database.Observer.
func (r *recorder) Observe(_ context.Context, s database.Statement) {
	switch s.Kind {
	case database.KindBegin:
		r.current = nil
	case database.KindCommit:
		r.scripts = append(r.scripts, r.current)
	default:
		s.Args = slices.Clone(s.Args)
		r.current = append(r.current, s)
	}
}

// record places every order once, alone, and returns the statements of each.
func record(
	ctx context.Context, place *place, jobs []*shoppb.CreateOrderRequest,
) (scripts []script, err error) {
	config, err := place.fresh(ctx)
	if err != nil {
		return nil, err
	}
	seen := &recorder{}
	config.Observer = seen
	db, err := database.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	monolith, err := assembly.Monolith(db)
	if err != nil {
		return nil, err
	}
	for _, job := range jobs {
		created, err := monolith.Orders.CreateOrder(ctx, job)
		if err != nil {
			return nil, err
		}
		if state := created.GetOrder().GetState(); state != string(shop.StateConfirmed) {
			return nil, fmt.Errorf("order %s is %s, want all of them confirmed", job.GetIdempotencyKey(), state)
		}
	}
	if len(seen.scripts) != len(jobs) {
		return nil, fmt.Errorf("%d orders made %d transactions", len(jobs), len(seen.scripts))
	}
	return seen.scripts, nil
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// playSecurity compares protected calls with unprotected ones over each binding: on connections that are
// kept, and with a connection for every call.
func playSecurity(ctx context.Context, o options) (all []figures.Figure, err error) {
	// A connection costs as much as many calls, and its port is free again only later.
	few := o
	few.calls = max(o.calls/40, 1)
	for _, binding := range []string{"net/http", "grpc-go", "httpjson", "grpcunary"} {
		kept, err := playProtected(ctx, o, binding+" call", callJob{Binding: binding, Callers: 16})
		if err != nil {
			return nil, err
		}
		anew, err := playProtected(ctx, few, binding+" connection with one call",
			callJob{Binding: binding, Callers: 1, Anew: true})
		if err != nil {
			return nil, err
		}
		all = append(append(all, kept...), anew...)
	}
	return all, nil
}

// playProtected plays a trial with every protection.
func playProtected(
	ctx context.Context, o options, what string, job callJob,
) (all []figures.Figure, err error) {
	values := kit.Security().Values
	var sides []figures.Side[callCost]
	for _, security := range values {
		job.Security = security
		side := callSide(o, job)
		side.Name = what + ", " + security
		sides = append(sides, side)
	}
	results, err := figures.Play(ctx, o.taking(), sides...)
	if err != nil {
		return nil, err
	}
	plain := results[0]
	for i, security := range values {
		name := what + ", " + security
		all = append(all,
			figures.Median(name+", CPU", "s", lab.LowerIsBetter, figures.Each(results[i], callCost.cpu)),
			figures.Median(name+", wall", "s", lab.LowerIsBetter, figures.Each(results[i], callCost.wall)))
		if i == 0 {
			continue
		}
		ratio, err := figures.Ratio(name+" / "+values[0]+", CPU", lab.LowerIsBetter,
			figures.Each(results[i], callCost.cpu), figures.Each(plain, callCost.cpu))
		if err != nil {
			return nil, err
		}
		all = append(all, ratio)
	}
	return all, nil
}

// callee is the unit that is called in trials of bindings; the caller has the same identity.
const callee = "catalog"

// protection returns what protects both ends.
func protection(security string) (*secure.Transport, error) {
	if security == kit.Plain {
		return nil, nil
	}
	authority, err := secure.NewAuthority()
	if err != nil {
		return nil, err
	}
	identity, err := authority.Issue(callee)
	if err != nil {
		return nil, err
	}
	return secure.New(identity, security == kit.MutualTLS)
}

// anew is a catalog that is called over a connection of its own each time.
type anew struct {
	shop.Catalog
	connect func() (rpc.Client, error)
}

// Quote implements shop.Catalog.
func (a anew) Quote(ctx context.Context, in *shoppb.QuoteRequest) (_ *shoppb.QuoteResponse, err error) {
	client, err := a.connect()
	if err != nil {
		return nil, fmt.Errorf("call the catalog: %w", err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return shoppb.CallCatalog(client).Quote(ctx, in)
}

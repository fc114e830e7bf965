package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/internal/figures"
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
		protected := func(job callJob) func(string) callJob {
			return func(value string) callJob {
				job.Security = value
				return job
			}
		}
		values := kit.Security().Values
		kept, err := playEach(ctx, o, binding+" call", values, protected(callJob{Binding: binding, Callers: 16}))
		if err != nil {
			return nil, err
		}
		anew, err := playEach(ctx, few, binding+" connection with one call", values,
			protected(callJob{Binding: binding, Callers: 1, Anew: true}))
		if err != nil {
			return nil, err
		}
		all = append(append(all, kept...), anew...)
	}
	return all, nil
}

// callee is the unit that is called in trials of bindings; the caller has the same identity.
const callee = "catalog"

// protection returns the TLS settings of client and server; nil for unprotected calls.
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

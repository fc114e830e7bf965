package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// transports returns our bindings and those that they are compared with, by their names in figures. Units of
// the shop use the same.
func transports() map[string]architecture.Binding {
	return map[string]architecture.Binding{
		"httpjson": architecture.HTTPLean, "net/http": architecture.HTTP, "grpcunary": architecture.GRPCLean,
		"grpc-go": architecture.GRPC,
	}
}

// serveQuotes serves quotes over loopback and returns a catalog that asks for them. The bytes of all
// connections are added to count, unless it is nil.
func serveQuotes(job callJob, count *atomic.Int64) (catalog shop.Catalog, stop func() error, err error) {
	binding, known := transports()[job.Binding]
	if !known {
		return nil, nil, fmt.Errorf("there is no binding %q", job.Binding)
	}
	calls := assembly.Calls(binding)
	calls.Encoding = hosting.Encoding(job.Encoding)
	if calls.Security, err = protection(job.Security); err != nil {
		return nil, nil, err
	}
	server, err := calls.NewServer(rpc.Serving{})
	if err != nil {
		return nil, nil, err
	}
	shoppb.OfferCatalog(server, quotes{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	if count != nil {
		listener = assembly.Counting{Listener: listener, Bytes: count}
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(calls.Security.Listener(listener)) }()
	connect := func() (rpc.Client, error) { return calls.NewClient(callee, listener.Addr().String()) }
	client, err := connect()
	if err != nil {
		return nil, nil, errors.Join(err, server.Shutdown(context.Background()))
	}
	catalog = shoppb.CallCatalog(client)
	if job.Anew {
		catalog = anew{connect: connect}
	}
	return catalog, func() error {
		return errors.Join(client.Close(), server.Shutdown(context.Background()), <-served)
	}, nil
}

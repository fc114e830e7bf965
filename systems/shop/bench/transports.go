package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cleave-lab/cleave/binding/grpcunary"
	"github.com/cleave-lab/cleave/binding/httpjson"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/remote"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// transport serves quotes over loopback and returns a catalog that asks for them.
type transport func(callers int) (catalog shop.Catalog, stop func() error, err error)

// transports are our bindings and what they are held against.
func transports() map[string]transport {
	return map[string]transport{"httpjson": overHTTPJSON, "grpcunary": overGRPCUnary, "net/http": overNetHTTP, "grpc-go": overGRPCGo}
}

// maxBody is the longest message, in bytes, as between units.
const maxBody = 1 << 20

// serveBeside serves until the returned function, which is called after stop,
// says how it went.
func serveBeside(serve func(net.Listener) error) (address string, ended func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	result := make(chan error, 1)
	go func() { result <- serve(listener) }()
	return listener.Addr().String(), func() error { return <-result }, nil
}

func overHTTPJSON(callers int) (shop.Catalog, func() error, error) {
	server, err := httpjson.NewServer(maxBody, remote.Faults{})
	if err != nil {
		return nil, nil, err
	}
	remote.RegisterCatalog(server, quotes{})
	address, ended, err := serveBeside(server.Serve)
	if err != nil {
		return nil, nil, err
	}
	client := httpjson.NewClient(address, callers, remote.Faults{})
	return remote.NewCatalog(client), func() error {
		return errors.Join(client.Close(), server.Shutdown(context.Background()), ended())
	}, nil
}

func overGRPCUnary(int) (shop.Catalog, func() error, error) {
	server := grpcunary.NewServer(maxBody, remote.Faults{})
	remote.RegisterCatalog(server, quotes{})
	address, ended, err := serveBeside(server.Serve)
	if err != nil {
		return nil, nil, err
	}
	client, err := grpcunary.NewClient(address, remote.Faults{})
	if err != nil {
		return nil, nil, err
	}
	return remote.NewCatalog(client), func() error {
		err := client.Close()
		server.Stop()
		return errors.Join(err, ended())
	}, nil
}

// overGRPCGo is grpc-go as its documentation shows it.
func overGRPCGo(int) (shop.Catalog, func() error, error) {
	server := grpc.NewServer()
	remote.RegisterCatalog(server, quotes{})
	address, ended, err := serveBeside(server.Serve)
	if err != nil {
		return nil, nil, err
	}
	client, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	return remote.NewCatalog(client), func() error {
		err := client.Close()
		server.Stop()
		return errors.Join(err, ended())
	}, nil
}

// overNetHTTP is net/http with encoding/json, with as many kept connections as
// there are callers.
func overNetHTTP(callers int) (shop.Catalog, func() error, error) {
	server := &http.Server{Handler: http.HandlerFunc(answerQuote)}
	address, ended, err := serveBeside(server.Serve)
	if err != nil {
		return nil, nil, err
	}
	kept := &http.Transport{MaxIdleConnsPerHost: callers}
	client := httpQuotes{client: &http.Client{Transport: kept}, url: "http://" + address + shoppb.Catalog_Quote_FullMethodName}
	return client, func() error {
		kept.CloseIdleConnections()
		err := server.Shutdown(context.Background())
		if served := ended(); !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// answerQuote is the handler of a bare HTTP server.
func answerQuote(w http.ResponseWriter, r *http.Request) {
	in := &shoppb.QuoteRequest{}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, err := quotes{}.Quote(r.Context(), in)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the client notices
}

// httpQuotes asks a bare HTTP server.
type httpQuotes struct {
	shop.Catalog
	client *http.Client
	url    string
}

// Quote implements shop.Catalog.
func (h httpQuotes) Quote(ctx context.Context, in *shoppb.QuoteRequest) (out *shoppb.QuoteResponse, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := h.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	out = &shoppb.QuoteResponse{}
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, response.Body) // so that the connection is kept
	return out, err
}

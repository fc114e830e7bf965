package crossingunit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cleave-lab/cleave/lab"
)

// dialHTTP returns a client over HTTP/1.1, with a connection for each caller. It connects with the first
// calls.
func dialHTTP(address string, callers int) client {
	network, at := lab.SplitAddress(address)
	host := at
	if network == "unix" {
		host = "callee" // a path cannot be the host of a URL
	}
	url := "http://" + host + "/echo"
	over := &http.Client{Timeout: callTimeout, Transport: &http.Transport{
		MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, at)
		},
	}}
	call := func(ctx context.Context, text string) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
		if err != nil {
			return "", err
		}
		response, err := over.Do(request)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(response.Body)
		err = errors.Join(err, response.Body.Close())
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("POST %s: %s", url, response.Status)
		}
		return string(body), err
	}
	return client{call, func() error {
		over.CloseIdleConnections()
		return nil
	}}
}

// maxText is the size limit of a request, in bytes.
const maxText = 1 << 20

// serveHTTP answers calls over HTTP/1.1 until ctx ends, and counts them.
func serveHTTP(ctx context.Context, listener net.Listener, served *atomic.Int64) error {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxText))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		served.Add(1)
		_, _ = w.Write(text) // on an error the call fails at the caller
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // all calls have been answered
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// The gRPC service. It has one method, from text to text, and uses the messages of wrapperspb.
const service, method = "cleave.Echo", "Echo"

// dialGRPC returns a client over gRPC, with one connection for all callers. It connects with the first call.
func dialGRPC(address string) (client, error) {
	target := address
	if network, _ := lab.SplitAddress(address); network == "tcp" {
		target = "passthrough:///" + address
	}
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return client{}, err
	}
	call := func(ctx context.Context, text string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		var answer wrapperspb.StringValue
		err := connection.Invoke(ctx, "/"+service+"/"+method, wrapperspb.String(text), &answer)
		return answer.GetValue(), err
	}
	return client{call, connection.Close}, nil
}

// serveGRPC answers calls over gRPC until ctx ends, and counts them.
func serveGRPC(ctx context.Context, listener net.Listener, served *atomic.Int64) error {
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: method,
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any,
				error) {
				text := new(wrapperspb.StringValue)
				if err := decode(text); err != nil {
					return nil, err
				}
				served.Add(1)
				return text, nil
			},
		}}}, nil)
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(listener); !errors.Is(err, grpc.ErrServerStopped) { // ctx ended first
		return err
	}
	return nil
}

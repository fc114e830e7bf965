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
)

// httpClient calls over HTTP/1.1, with a connection for each caller.
type httpClient struct {
	client *http.Client
	url    string
}

// dialHTTP returns a client. It connects with the first calls.
func dialHTTP(network, address string, callers int) httpClient {
	host := address
	if network == "unix" {
		host = "callee" // a path cannot be the host of a URL
	}
	return httpClient{&http.Client{Timeout: callTimeout, Transport: &http.Transport{
		MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}, "http://" + host + "/echo"}
}

func (c httpClient) call(ctx context.Context, text string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("POST %s: %s", c.url, response.Status)
	}
	return string(body), err
}

func (c httpClient) close() error {
	c.client.CloseIdleConnections()
	return nil
}

// httpServer answers calls over HTTP/1.1.
type httpServer struct{ *http.Server }

// maxText is the size limit of a request, in bytes.
const maxText = 1 << 20

// newHTTP returns a server that counts the calls that it serves.
func newHTTP(served *atomic.Int64) httpServer {
	return httpServer{&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxText))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		served.Add(1)
		_, _ = w.Write(text) // on an error the call fails at the caller
	})}}
}

func (s httpServer) serve(listener net.Listener) error {
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s httpServer) close() { _ = s.Close() } // all calls have been answered

// The gRPC service. It has one method, from text to text, and uses the messages of wrapperspb.
const service, method = "cleave.Echo", "Echo"

// grpcClient calls over gRPC, with one connection for all callers.
type grpcClient struct{ connection *grpc.ClientConn }

// dialGRPC returns a client. It connects with the first call.
func dialGRPC(network, address string) (grpcClient, error) {
	target := "passthrough:///" + address
	if network == "unix" {
		target = "unix:" + address
	}
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return grpcClient{connection}, err
}

func (c grpcClient) call(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var answer wrapperspb.StringValue
	err := c.connection.Invoke(ctx, "/"+service+"/"+method, wrapperspb.String(text), &answer)
	return answer.GetValue(), err
}

func (c grpcClient) close() error { return c.connection.Close() }

// grpcServer answers calls over gRPC.
type grpcServer struct{ *grpc.Server }

// newGRPC returns a server that counts the calls that it serves.
func newGRPC(served *atomic.Int64) grpcServer {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil),
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
	return grpcServer{s}
}

func (s grpcServer) serve(listener net.Listener) error {
	if err := s.Serve(listener); !errors.Is(err, grpc.ErrServerStopped) { // close came first
		return err
	}
	return nil
}

func (s grpcServer) close() { s.Stop() }

package grpcgo

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/bindingtest"
	"github.com/cleave-lab/cleave/binding/grpcunary"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
)

func TestContract(t *testing.T) { bindingtest.Run(t, binding) }

// TestInteroperatesWithGrpcunary tests each end with the other end of grpcunary.
func TestInteroperatesWithGrpcunary(t *testing.T) {
	t.Run("client of grpcunary", func(t *testing.T) {
		bindingtest.Run(t, bindingtest.Binding{NewServer: binding.NewServer, NewClient: unary.NewClient})
	})
	t.Run("server of grpcunary", func(t *testing.T) {
		bindingtest.Run(t, bindingtest.Binding{NewServer: unary.NewServer, NewClient: binding.NewClient})
	})
}

// The bindings of this package and of grpcunary.
var (
	binding = bindingtest.Binding{
		NewServer: func(serving rpc.Serving) (bindingtest.Server, error) { return NewServer(serving), nil },
		NewClient: func(address string, secured *tls.Config, codec rpc.Codec) (rpc.Client, error) {
			return NewClient(address, secured, codec)
		}}
	unary = bindingtest.Binding{
		NewServer: func(serving rpc.Serving) (bindingtest.Server, error) {
			return grpcunary.NewServer(serving), nil
		},
		NewClient: func(address string, secured *tls.Config, codec rpc.Codec) (rpc.Client, error) {
			return grpcunary.NewClient(address, secured, codec)
		}}
)

// TestALongRequestIsTheCallersFault: a request that the server refuses for its length is not taken for an
// answer that the client has refused, even if both have the usual limit.
func TestALongRequestIsTheCallersFault(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	usual := bindingtest.Binding{NewServer: func(serving rpc.Serving) (bindingtest.Server, error) {
		serving.MaxBody = rpc.MaxAnswer
		return NewServer(serving), nil
	}}
	stop := usual.Serve(t, listener, func(r grpc.ServiceRegistrar) {
		grpc_health_v1.RegisterHealthServer(r, grpc_health_v1.UnimplementedHealthServer{})
	}, rpc.Serving{})
	health := grpc_health_v1.NewHealthClient(binding.Client(t, listener.Addr().String(), nil))
	_, err = health.Check(t.Context(),
		&grpc_health_v1.HealthCheckRequest{Service: strings.Repeat("x", rpc.MaxAnswer)})
	var problem *rpc.Problem
	if !errors.As(err, &problem) || problem.Kind != rpc.InvalidArgument {
		t.Errorf("error %.200v, want %s", err, rpc.InvalidArgument)
	}
	testset.Must(t, stop(t.Context()))
}

// TestPeersWithoutAPrefaceAreCutOff: the server closes connections on which the preface of HTTP/2
// does not come.
func TestPeersWithoutAPrefaceAreCutOff(t *testing.T) {
	for name, sent := range map[string]string{"nothing": "", "half a preface": "PRI * HTTP/2.0\r\n",
		"no gRPC": "GET / HTTP/1.1\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			testset.Must(t, err)
			stop := binding.Serve(t, listener, func(grpc.ServiceRegistrar) {}, rpc.Serving{})
			defer func() {
				if err := stop(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			connection, err := net.Dial("tcp", listener.Addr().String())
			testset.Must(t, err)
			defer func() { _ = connection.Close() }() // the server has closed it before
			testset.Must(t, connection.SetDeadline(time.Now().Add(3*time.Minute)))
			if _, err := connection.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			for {
				_, err := connection.Read(make([]byte, 100))
				var late net.Error
				if errors.As(err, &late) && late.Timeout() {
					t.Fatal("the connection stays open")
				}
				if err != nil {
					break
				}
			}
		})
	}
}

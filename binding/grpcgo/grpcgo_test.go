package grpcgo

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/bindingtest"
	"github.com/cleave-lab/cleave/binding/grpcunary"
	"github.com/cleave-lab/cleave/binding/rpc"
)

func TestContract(t *testing.T) {
	bindingtest.Run(t, bindingtest.Binding{Serve: serve, Client: client})
}

// TestTheLeanOneSpeaksTheSame tests the client with the server of grpcunary, and the server with its client.
func TestTheLeanOneSpeaksTheSame(t *testing.T) {
	t.Run("its client", func(t *testing.T) {
		bindingtest.Run(t, bindingtest.Binding{Serve: serve, Client: leanClient})
	})
	t.Run("its server", func(t *testing.T) {
		bindingtest.Run(t, bindingtest.Binding{Serve: leanServe, Client: client})
	})
}

func client(
	t *testing.T, address string, faults rpc.Faults, secured *tls.Config, options ...rpc.Option,
) grpc.ClientConnInterface {
	made, err := NewClient(address, faults, secured, options...)
	return bindingtest.Closed(t, made, err)
}

func leanClient(
	t *testing.T, address string, faults rpc.Faults, secured *tls.Config, options ...rpc.Option,
) grpc.ClientConnInterface {
	made, err := grpcunary.NewClient(address, faults, secured, options...)
	return bindingtest.Closed(t, made, err)
}

func serve(
	t *testing.T, listener net.Listener, register func(grpc.ServiceRegistrar), faults rpc.Faults,
	options ...rpc.Option,
) func(context.Context) error {
	return bindingtest.Begin(t, NewServer(bindingtest.MaxBody, faults, options...), listener, register)
}

func leanServe(
	t *testing.T, listener net.Listener, register func(grpc.ServiceRegistrar), faults rpc.Faults,
	options ...rpc.Option,
) func(context.Context) error {
	return bindingtest.Begin(t, grpcunary.NewServer(bindingtest.MaxBody, faults, options...), listener, register)
}

// TestWhoSaysNothingIsCutOff: the server closes connections that do not send the preface
// of HTTP/2, or send nothing after it.
func TestWhoSaysNothingIsCutOff(t *testing.T) {
	for name, sent := range map[string]string{"nothing": "", "half a greeting": "PRI * HTTP/2.0\r\n",
		"no gRPC": "GET / HTTP/1.1\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			bindingtest.Must(t, err)
			stop := serve(t, listener, func(grpc.ServiceRegistrar) {}, nil)
			defer func() {
				if err := stop(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			connection, err := net.Dial("tcp", listener.Addr().String())
			bindingtest.Must(t, err)
			defer func() { _ = connection.Close() }() // the server has closed it before
			bindingtest.Must(t, connection.SetDeadline(time.Now().Add(3*time.Minute)))
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

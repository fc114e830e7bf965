package grpcunary

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/bindingtest"
	"github.com/cleave-lab/cleave/binding/rpc"
)

func TestContract(t *testing.T) {
	bindingtest.Run(t, bindingtest.Binding{Serve: serve,
		Client: func(
			t *testing.T, address string, faults rpc.Faults, secured *tls.Config, options ...rpc.Option,
		) grpc.ClientConnInterface {
			client, err := NewClient(address, faults, secured, options...)
			return bindingtest.WithCleanup(t, client, err)
		}})
}

func serve(
	t *testing.T, listener net.Listener, register func(grpc.ServiceRegistrar), faults rpc.Faults,
	options ...rpc.Option,
) func(context.Context) error {
	return bindingtest.StartServer(t, NewServer(bindingtest.MaxBody, faults, options...), listener, register)
}

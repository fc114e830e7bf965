package grpcunary

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/bindingtest"
	"github.com/cleave-lab/cleave/binding/rpc"
)

func TestContract(t *testing.T) {
	bindingtest.Run(t, bindingtest.Binding{Serve: serve, Client: func(t *testing.T, address string, faults rpc.Faults) grpc.ClientConnInterface {
		client, err := NewClient(address, faults)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
		return client
	}})
}

func serve(t *testing.T, listener net.Listener, register func(grpc.ServiceRegistrar), faults rpc.Faults, options ...rpc.Option) func(context.Context) error {
	server := NewServer(bindingtest.MaxBody, faults, options...)
	register(server)
	go func() {
		if err := server.Serve(listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	}()
	return server.Shutdown
}

package assembly

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/grpcgo"
	"github.com/cleave-lab/cleave/binding/grpcunary"
	"github.com/cleave-lab/cleave/binding/httpjson"
	"github.com/cleave-lab/cleave/binding/nethttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/remote"
)

const (
	// callsAtOnce bounds the calls from one unit to another over HTTP; each has a
	// connection of its own.
	callsAtOnce = 256
	// maxMessage is the longest message between units, in bytes.
	maxMessage = 1 << 20
)

// Client calls another unit.
type Client interface {
	grpc.ClientConnInterface
	Close() error
}

// NewClient returns a binding's client of the unit at an address: host:port, or unix:PATH.
// It dials when it is first used.
func NewClient(binding architecture.Binding, address string) (Client, error) {
	switch binding.OverTCP() {
	case architecture.GRPC:
		return grpcgo.NewClient(address, remote.Faults{})
	case architecture.GRPCLean:
		return grpcunary.NewClient(address, remote.Faults{})
	case architecture.HTTPLean:
		return httpjson.NewClient(address, callsAtOnce, remote.Faults{}), nil
	}
	return nethttp.NewClient(address, callsAtOnce, remote.Faults{}), nil
}

// Server answers the calls of other units.
type Server interface {
	grpc.ServiceRegistrar
	// Serve answers calls until Shutdown.
	Serve(listener net.Listener) error
	// Shutdown lets calls that are being answered end until ctx does.
	Shutdown(ctx context.Context) error
}

// NewServer returns a binding's server.
func NewServer(binding architecture.Binding, options ...rpc.Option) (Server, error) {
	switch binding.OverTCP() {
	case architecture.GRPC:
		return grpcgo.NewServer(maxMessage, remote.Faults{}, options...), nil
	case architecture.GRPCLean:
		return grpcunary.NewServer(maxMessage, remote.Faults{}, options...), nil
	case architecture.HTTPLean:
		return httpjson.NewServer(maxMessage, remote.Faults{}, options...)
	}
	return nethttp.NewServer(maxMessage, remote.Faults{}, options...), nil
}

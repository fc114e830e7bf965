package hosting

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/grpcgo"
	"github.com/cleave-lab/cleave/binding/grpcunary"
	"github.com/cleave-lab/cleave/binding/httpjson"
	"github.com/cleave-lab/cleave/binding/msgpack"
	"github.com/cleave-lab/cleave/binding/nethttp"
	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/systems/kit"
)

// The names of bindings. The lean ones are implementations of this project.
const (
	HTTP     = "http" // net/http
	GRPC     = "grpc" // grpc-go
	HTTPLean = "http-lean"
	GRPCLean = "grpc-lean"
)

// Calls holds how the units of a system call each other.
type Calls struct {
	Binding     string
	Connections int // most connections of a client over HTTP to each unit
	MaxMessage  int // size limit of requests, in bytes
	// ProblemOf converts the errors of methods; see rpc.Serving.
	ProblemOf func(error) *rpc.Problem
	Encoding  rpc.Codec         // nil: that of the binding
	Security  *secure.Transport // nil: connections are not protected
	Guards    *resilient.Guards // nil: calls are not guarded
	Balancing rpc.Balancing     // among the replicas of a unit
}

// NewClient returns a client of a unit at an address: host:port, or unix:PATH. It dials when it
// is first used.
func (c Calls) NewClient(unit, address string) (rpc.Client, error) {
	secured := c.Security.Client(unit)
	switch c.Binding {
	case GRPC:
		return grpcgo.NewClient(address, secured, c.Encoding)
	case GRPCLean:
		return grpcunary.NewClient(address, secured, c.Encoding)
	case HTTPLean:
		return httpjson.NewClient(address, c.Connections, secured, c.Encoding), nil
	}
	return nethttp.NewClient(address, c.Connections, secured, c.Encoding), nil
}

// Server answers the calls of other units.
type Server interface {
	grpc.ServiceRegistrar
	// Serve answers calls until Shutdown.
	Serve(listener net.Listener) error
	// Shutdown waits until the calls in flight are answered, at most until ctx ends.
	Shutdown(ctx context.Context) error
}

// NewServer returns a server for calls over the binding. It completes the settings with those of the calls.
func (c Calls) NewServer(serving rpc.Serving) (Server, error) {
	serving.MaxBody = c.MaxMessage
	serving.ProblemOf = c.ProblemOf
	serving.Codec = c.Encoding
	switch c.Binding {
	case GRPC:
		return grpcgo.NewServer(serving), nil
	case GRPCLean:
		return grpcunary.NewServer(serving), nil
	case HTTPLean:
		return httpjson.NewServer(serving)
	}
	return nethttp.NewServer(serving), nil
}

// Encoding returns the encoding of calls for a value of kit.KnobEncoding; nil: that of the binding.
func Encoding(value string) rpc.Codec {
	switch value {
	case kit.JSON:
		return rpc.JSON{}
	case kit.Protobuf:
		return rpc.Protobuf{}
	case kit.MessagePack:
		return msgpack.Codec{}
	}
	return nil
}

// Balancing returns the balancing among replicas for a value of kit.KnobBalancing.
func Balancing(value string) rpc.Balancing {
	switch value {
	case kit.LeastRequests:
		return rpc.LeastRequests
	case kit.TwoChoices:
		return rpc.TwoChoices
	}
	return rpc.RoundRobin
}

// greeting returns the first bytes that another unit sends on a connection. Clients never send them: they
// speak HTTP/1.1 without TLS and request other paths.
func (c Calls) greeting() string {
	switch {
	case c.Security != nil:
		return secure.Greeting
	case c.Binding == GRPC || c.Binding == GRPCLean:
		return "PRI" // the beginning of every HTTP/2 connection
	}
	return "POST /cleave." // the beginning of the names of our services
}

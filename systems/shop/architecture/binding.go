package architecture

import (
	"strings"
)

// Binding names the protocol that carries calls from unit to unit.
type Binding string

// The bindings. Those called lean are our own; the others are net/http with
// encoding/json, and grpc-go, as they come.
const (
	HTTP     Binding = "http"
	HTTPUnix Binding = "http-unix" // over Unix sockets
	GRPC     Binding = "grpc"
	GRPCUnix Binding = "grpc-unix"

	HTTPLean     Binding = "http-lean"
	HTTPLeanUnix Binding = "http-lean-unix"
	GRPCLean     Binding = "grpc-lean"
	GRPCLeanUnix Binding = "grpc-lean-unix"
)

func bindings() []string {
	var all []string
	for _, b := range []Binding{HTTP, HTTPUnix, GRPC, GRPCUnix, HTTPLean, HTTPLeanUnix, GRPCLean, GRPCLeanUnix} {
		all = append(all, string(b))
	}
	return all
}

// OverUnix reports whether calls go over Unix sockets; else they go over TCP.
func (b Binding) OverUnix() bool { return strings.HasSuffix(string(b), unix) }

// OverGRPC reports whether calls go over gRPC; else they go over HTTP/1.1.
func (b Binding) OverGRPC() bool { return strings.HasPrefix(string(b), string(GRPC)) }

// OverTCP returns the same binding over TCP.
func (b Binding) OverTCP() Binding { return Binding(strings.TrimSuffix(string(b), unix)) }

// Stock returns the stock binding that a lean one replaces. A stock binding returns itself.
func (b Binding) Stock() Binding { return Binding(strings.Replace(string(b), lean, "", 1)) }

func (b Binding) isLean() bool { return b.Stock() != b }

// Parts of the names of bindings.
const (
	unix = "-unix"
	lean = "-lean"
)

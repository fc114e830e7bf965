package lines

import (
	"strings"

	"github.com/cleave-lab/cleave/systems/kit"
)

// Calls returns the packages that implement calls between units over a binding (http, http-lean, grpc or
// grpc-lean; with -unix over Unix sockets), including those that the settings add. Without a binding, the
// system has its own.
func Calls(binding string, s kit.Settings) []string {
	packages := map[string][]string{
		"http": {"binding/nethttp"}, "http-lean": {"binding/httpjson", "binding/leanhttp",
			"binding/eventloop"},
		"grpc": {"binding/grpcgo"}, "grpc-lean": {"binding/grpcunary"},
	}[strings.TrimSuffix(binding, "-unix")]
	if s.Encoding == kit.MessagePack {
		packages = append(packages, "binding/msgpack")
	}
	if s.Security != kit.Plain {
		packages = append(packages, "binding/secure")
	}
	if s.Resilience != kit.Unguarded {
		packages = append(packages, "binding/resilient")
	}
	return append(packages, "binding/rpc", "binding/accept")
}

package lines

import (
	"strings"

	"github.com/cleave-lab/cleave/systems/kit"
)

// Calls returns the packages that carry calls between units: over http, http-lean, grpc or grpc-lean (also
// over Unix sockets), with values of kit.KnobEncoding, kit.KnobSecurity and kit.KnobResilience.
func Calls(binding, encoding, security, resilience string) []string {
	packages := map[string][]string{
		"http": {"binding/nethttp"}, "http-lean": {"binding/httpjson", "binding/leanhttp"},
		"grpc": {"binding/grpcgo"}, "grpc-lean": {"binding/grpcunary"},
	}[strings.TrimSuffix(binding, "-unix")]
	if encoding == kit.MessagePack {
		packages = append(packages, "binding/msgpack")
	}
	if security != kit.Plain {
		packages = append(packages, "binding/secure")
	}
	if resilience != kit.Unguarded {
		packages = append(packages, "binding/resilient")
	}
	return append(packages, "binding/rpc")
}

package lines

import (
	"strings"

	"github.com/cleave-lab/cleave/systems/kit"
)

// OfSystem returns the lines of code of a system: of its packages, of the kit, and, if it has several units,
// of the calls between them. These are over a binding (http, http-lean, grpc or grpc-lean; with -unix over
// Unix sockets); without one, the system has its own.
func OfSystem(units int, binding string, s kit.Settings, packages ...string) map[string]int {
	packages = append(packages, "systems/kit/hosting", "systems/kit/front")
	if units > 1 {
		packages = append(packages, calls(binding, s)...)
	}
	return Of(packages...)
}

// calls returns the packages that implement calls over a binding, including those that the settings add.
func calls(binding string, s kit.Settings) []string {
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

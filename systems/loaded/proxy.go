package loaded

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// ProxyDefaults returns the sections global and defaults of a configuration of HAProxy. A request
// that gets no connection is retried; one that was sent is never sent again, because it may have had
// its effect. timeout limits the wait for clients and for answers, in seconds.
func ProxyDefaults(timeout int) []string {
	return []string{
		"global",
		"  maxconn 2000",
		"defaults",
		"  mode http",
		"  option http-keep-alive",
		"  option redispatch 1",
		"  http-reuse safe",
		"  retries 3",
		"  retry-on conn-failure",
		"  timeout connect 1s",
		fmt.Sprintf("  timeout client %ds", timeout),
		fmt.Sprintf("  timeout server %ds", timeout),
		"  timeout queue 5s",
	}
}

// ProxyBind is the line of a frontend that makes it listen at the unit's own address.
const ProxyBind = `  bind "${CLEAVE_ADDRESS}"`

// ProxyServer returns the line of a backend for a unit. Deployers repeat it for each replica; the
// address serves as the server's name, too, since HAProxy wants different names.
func ProxyServer(unit string) string {
	return "  server " + lab.AddressOf(unit) + " " + lab.AddressOf(unit)
}

// Proxy returns a unit that runs HAProxy with these lines of configuration in front of other units. It
// runs as a master with a worker (-W), as in its official image: a single process has no handler for
// SIGTERM, and as the first process of a container it would ignore the signal.
func Proxy(name string, configuration, behind []string) lab.UnitSpec {
	const file = "haproxy.cfg"
	return lab.UnitSpec{
		Name: name, Role: name,
		Runnable: lab.Runnable{
			Foreign: true, Program: "haproxy", Install: lab.AptInstall("haproxy"),
			Args:  []string{"-W", "-db", "-f", "{dir}/" + file},
			Files: map[string][]byte{file: []byte(strings.Join(configuration, "\n") + "\n")},
		},
		Networking: lab.Networking{Listens: true, Peers: behind},
		Placement:  lab.Placement{Scalable: true},
	}
}

package loaded

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// ProxyDefaults returns the first lines of a configuration of HAProxy. A request that finds
// no connection is tried again; one that was sent is never sent again, because it may
// have had its effect. answer is how long an answer may take, in seconds.
func ProxyDefaults(answer int) []string {
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
		fmt.Sprintf("  timeout client %ds", answer),
		fmt.Sprintf("  timeout server %ds", answer),
		"  timeout queue 5s",
	}
}

// ProxyBind is the line of a frontend that makes it listen at the unit's own address.
const ProxyBind = `  bind "${CLEAVE_ADDRESS}"`

// ProxyServer returns the line of a backend for a unit, and again for each of its replicas. They
// are called by their addresses, since HAProxy wants different names.
func ProxyServer(unit string) string {
	return "  server " + lab.AddressOf(unit) + " " + lab.AddressOf(unit)
}

// Proxy is HAProxy in front of units, with the lines of its configuration. It runs as a master
// with a worker (-W), as its image does: alone it has no handler for SIGTERM, and who is the
// first process of a container then hears nothing of it.
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

package system

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// RoleBalancer is HAProxy in front of several units that take orders.
const RoleBalancer = "balancer"

// longestAnswer is how long an answer may take, in seconds: the unit that is asked
// whether the shop has settled holds its answer back.
const longestAnswer = settleTimeout + 10

// installBalancer brings HAProxy on Debian and Ubuntu.
const installBalancer = "sudo apt-get install --no-install-recommends haproxy"

// balancer is the unit that spreads clients over the units that take orders.
func balancer(fronts []string) lab.UnitSpec {
	const file = "haproxy.cfg"
	return lab.UnitSpec{
		Name: RoleBalancer, Role: RoleBalancer, Foreign: true, Program: "haproxy", Install: installBalancer, Args: []string{"-db", "-f", "{dir}/" + file},
		Files: map[string][]byte{file: []byte(balancerConfig(fronts))}, Listens: true, Peers: fronts,
	}
}

// balancerConfig has a unit that refuses a connection, or does not answer its
// health check twice in half a second, get no more orders. An order that finds no
// connection goes to another unit; one that was sent is never sent again, because
// it may have had its effect. HAProxy reads the addresses from its environment.
func balancerConfig(fronts []string) string {
	lines := []string{
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
		fmt.Sprintf("  timeout client %ds", longestAnswer),
		fmt.Sprintf("  timeout server %ds", longestAnswer),
		"  timeout queue 5s",
		"  timeout check 1s",
		"frontend clients",
		`  bind "${CLEAVE_ADDRESS}"`,
		"  default_backend units",
		"backend units",
		"  balance roundrobin",
		"  option httpchk GET /health",
		"  default-server check inter 250ms fall 2 rise 1 observe layer4 error-limit 1 on-error mark-down",
	}
	for _, front := range fronts {
		lines = append(lines, fmt.Sprintf(`  server %s "${%s}"`, front, lab.PeerVariable(front)))
	}
	return strings.Join(lines, "\n") + "\n"
}

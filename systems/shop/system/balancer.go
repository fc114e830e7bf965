package system

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// RoleBalancer is HAProxy in front of several units that take orders.
const RoleBalancer = "balancer"

// longestAnswer is how long an answer may take, in seconds: the unit that is asked
// whether the shop has settled holds its answer back.
const longestAnswer = settleTimeout + 10

// balancers returns the units that spread clients over the units that take orders, which they
// reach at a unit or an address called RoleBalancer. One that refuses a connection, or does
// not answer its health check twice in half a second, gets no more of them. Behind a pair it
// may be gone with its node and never refuse what it was sent: its clients are told then.
func balancers(fronts []string, pair bool) []lab.UnitSpec {
	check := "  default-server check inter 250ms fall 2 rise 1 observe layer4 error-limit 1 on-error mark-down"
	if pair {
		check += " on-marked-down shutdown-sessions"
	}
	lines := append(loaded.ProxyDefaults(longestAnswer),
		"frontend clients", loaded.ProxyBind, "  default_backend units",
		"backend units", "  balance roundrobin", "  timeout check 1s", "  option httpchk GET /health", check)
	for _, front := range fronts {
		lines = append(lines, loaded.ProxyServer(front))
	}
	if pair {
		return loaded.Pair(RoleBalancer, lines, fronts)
	}
	return []lab.UnitSpec{loaded.Proxy(RoleBalancer, lines, fronts)}
}

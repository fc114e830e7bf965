package system

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// RoleBalancer is HAProxy in front of several units that take orders.
const RoleBalancer = "balancer"

// longestAnswer limits the time of an answer, in seconds: a unit holds its answer at assembly.SettledPath
// back until the shop has settled.
const longestAnswer = settleTimeout + 10

// balancers returns the units that balance clients over the units that take orders. Clients reach them at a
// unit or an address called RoleBalancer. A unit that refuses a connection, or fails two health checks within
// half a second, gets no more clients. Behind a pair a unit may be gone with its node, so that it never
// refuses a connection: the balancers then close its connections, and its clients get an error.
func balancers(fronts []string, pair bool) []lab.UnitSpec {
	bind := loaded.ProxyBind
	check := "  default-server check inter 250ms fall 2 rise 1 observe layer4 error-limit 1 on-error mark-down"
	if pair {
		bind = loaded.PairBind
		check += " on-marked-down shutdown-sessions"
	}
	lines := append(loaded.ProxyDefaults(longestAnswer),
		"frontend clients", bind, "  default_backend units",
		"backend units", "  balance roundrobin", "  timeout check 1s", "  option httpchk GET /health", check)
	for _, front := range fronts {
		lines = append(lines, loaded.ProxyServer(front))
	}
	if pair {
		return loaded.Pair(RoleBalancer, lines, fronts)
	}
	return []lab.UnitSpec{loaded.Proxy(RoleBalancer, lines, fronts)}
}

package loaded

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// RoleKeepalived is the role of the units that move the address of a pair between its members.
	RoleKeepalived = "keepalived"
	// healthPath is the path at which HAProxy itself answers health checks.
	healthPath = "/balancer"
	// PairBind holds lines of the frontend of an HAProxy in a pair. The HAProxy listens at every
	// address of its node, since the floating address comes and goes. It answers health checks itself, even
	// if no unit behind it is up.
	PairBind = "  bind *:{port}\n  monitor-uri " + healthPath
)

// Pair returns the units of two HAProxies in front of other units: name-1 on the node front-1 and
// name-2 on front-2, each with keepalived beside it. Clients call one floating address, which has
// the name of the pair. The first HAProxy has the address in the beginning. When its node is gone or
// HAProxy does not answer there, the address moves to the other HAProxy. It stays there until that one
// fails, too: moving back earlier would be a second interruption. configuration must have PairBind in
// its frontend.
func Pair(name string, configuration, behind []string) []lab.UnitSpec {
	var balancers, keepers []lab.UnitSpec
	for n := range 2 {
		balancer := Proxy(member(name, n), configuration, behind)
		balancer.Role = name
		balancer.Node = "front-" + strconv.Itoa(n+1)
		balancer.Floats = name
		balancer.Ready = accepts
		balancer.Scalable = false
		balancers = append(balancers, balancer)
		keepers = append(keepers, keepalived(name, n))
	}
	return append(balancers, keepers...)
}

// member returns the name of the n-th of two units, from 0.
func member(name string, n int) string { return name + "-" + strconv.Itoa(n+1) }

// accepts is a readiness check: it returns nil if an address accepts connections. Units with such a check
// start before the others, so both HAProxies are ready before keepalived starts. Otherwise the HAProxy that
// is ready first would get the floating address.
func accepts(ctx context.Context, address string) error {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// keepalived returns the unit with the keepalived beside the n-th HAProxy. It checks this HAProxy every
// second. The other keepalived takes over the address after a second without a message, or at once if a
// message asks for that. Messages are unicast: cloud networks have no multicast. Package deploy/hosts names
// the network interface of a node eth0.
func keepalived(name string, n int) lab.UnitSpec {
	own := member(name, n)
	other := member(name, 1-n)
	configuration := []string{
		"global_defs {", "  router_id " + own, "  script_user root", "  enable_script_security", "}",
		"vrrp_script answers {", `  script "/bin/bash {dir}/answers"`, "  interval 1", "  timeout 1", "  fall 1",
		"  rise 1", "}",
		"vrrp_instance " + name + " {", "  state BACKUP", "  nopreempt", "  interface eth0", "  version 3",
		"  virtual_router_id 1", "  advert_int 0.3",
		fmt.Sprintf("  priority %d", 150-100*n), // the first one sooner sees that nobody has the address
		"  unicast_src_ip {host:" + own + "}", "  unicast_peer {", "    {host:" + other + "}", "  }",
		"  virtual_ipaddress {", "    {host:" + name + "}/24 dev eth0", "  }",
		"  track_script {", "    answers", "  }", "}",
	}
	answers := []string{
		"exec 3<>/dev/tcp/{host:" + own + "}/{port:" + own + "} || exit",
		`printf 'GET ` + healthPath + ` HTTP/1.0\r\n\r\n' >&3`,
		"read -r status <&3",
		`[[ $status == *" 200 "* ]]`,
	}
	return lab.UnitSpec{
		Name: member(RoleKeepalived, n), Role: RoleKeepalived,
		Runnable: lab.Runnable{
			Foreign: true, Program: "keepalived", Install: lab.AptInstall("keepalived"),
			Args: []string{"--dont-fork", "--log-console", "--log-detail", "--vrrp",
				"--use-file={dir}/keepalived.conf", "--pid={dir}/pid", "--vrrp_pid={dir}/vrrp.pid"},
			Files: map[string][]byte{
				"keepalived.conf": []byte(strings.Join(configuration, "\n") + "\n"),
				"answers":         []byte(strings.Join(answers, "\n") + "\n"),
			},
		},
		Networking: lab.Networking{
			Peers: []string{own, other, name}, Uses: []lab.Use{{To: own, How: "health"}},
		},
		Placement: lab.Placement{Node: "front-" + strconv.Itoa(n+1)},
	}
}

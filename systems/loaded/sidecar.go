package loaded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// RoleSidecar is the role of the proxies beside units.
	RoleSidecar = "sidecar"
	// callTimeout limits the wait for an answer, in seconds. No unit waits longer for another.
	callTimeout = 60
)

// Sidecars returns the units with a proxy beside each. A unit calls its own proxy, which has a port for each
// peer and forwards to the proxy of that peer, which forwards to the peer. Clients call units directly, as
// before. Calls are over gRPC or HTTP/1.1, and may be protected (encrypted): then proxies only forward their
// bytes.
func Sidecars(units []lab.UnitSpec, grpc, protected bool) []lab.UnitSpec {
	var proxies []lab.UnitSpec
	units = slices.Clone(units)
	for i, u := range units {
		var called []string
		for _, peer := range u.Peers {
			if slices.ContainsFunc(units, func(o lab.UnitSpec) bool { return o.Name == peer }) {
				called = append(called, peer)
			}
		}
		proxies = append(proxies, proxyBeside(u, called, grpc, protected))
		callThrough(&units[i], called)
	}
	return append(units, proxies...)
}

// sidecarOf returns the name of the proxy beside a unit.
func sidecarOf(unit string) string { return unit + "-" + RoleSidecar }

// callThrough makes a unit call some of its peers at the ports of its own proxy, by changing its peers, uses
// and environment.
func callThrough(u *lab.UnitSpec, called []string) {
	var addresses, variables []string
	u.Peers = slices.Clone(u.Peers)
	u.Uses = slices.Clone(u.Uses)
	u.Env = slices.Clone(u.Env)
	for _, peer := range called {
		port := lab.PortOf(sidecarOf(u.Name), peer)
		u.Peers[slices.Index(u.Peers, peer)] = port
		addresses = append(addresses, lab.AddressOf(peer), lab.AddressOf(port))
		variables = append(variables, lab.PeerVariable(peer)+"="+lab.AddressOf(port),
			lab.PeerVariable(lab.Direct(peer))+"="+lab.AddressOf(peer))
		for i := range u.Uses {
			if u.Uses[i].To == peer {
				u.Uses[i].To = sidecarOf(u.Name)
			}
		}
	}
	redirect := strings.NewReplacer(addresses...)
	for i, variable := range u.Env {
		u.Env[i] = redirect.Replace(variable)
	}
	u.Env = append(u.Env, variables...)
	u.Peers = append(u.Peers, called...)
	u.Scalable = false // each replica would need a proxy of its own
}

// proxyBeside returns the proxy beside a unit that calls these peers. It starts before the units, so it
// resolves their names again and again.
func proxyBeside(u lab.UnitSpec, called []string, grpc, protected bool) lab.UnitSpec {
	lines := ProxyDefaults(callTimeout)
	listens := ""
	switch {
	case protected:
		lines = []string{"global", "  maxconn 2000", "defaults", "  mode tcp", "  timeout connect 1s",
			fmt.Sprintf("  timeout client %ds", callTimeout), fmt.Sprintf("  timeout server %ds", callTimeout)}
	case grpc:
		listens = " proto h2" // without TLS it is not negotiated
	}
	forward := func(name, bind, to string) {
		lines = append(lines, "frontend to-"+name, bind+listens, "  default_backend "+name, "backend "+name,
			ProxyServer(to)+listens+" init-addr last,libc,none resolvers default")
	}
	forward("own", ProxyBind, u.Name)
	behind := []string{u.Name}
	for _, peer := range called {
		forward("peer-"+peer, fmt.Sprintf("  bind {host}:{port:%s}", peer), sidecarOf(peer))
		behind = append(behind, sidecarOf(peer))
	}
	proxy := Proxy(sidecarOf(u.Name), lines, behind)
	proxy.Role = RoleSidecar
	proxy.Ports = called
	proxy.Node = u.Node
	proxy.Ready = accepts
	proxy.Cores = u.Cores
	proxy.Scalable = false
	return proxy
}

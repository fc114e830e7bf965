package loaded

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// shopUnits returns two units. The first one calls the second and a proxy.
func shopUnits() []lab.UnitSpec {
	return []lab.UnitSpec{
		{Name: "orders", Runnable: lab.Runnable{Env: []string{"ASKS=" + lab.AddressOf("stock")}},
			Networking: lab.Networking{Listens: true, Peers: []string{"stock", "proxy"},
				Uses: []lab.Use{{To: "stock", How: "http"}}},
			Placement: lab.Placement{Node: "one", Scalable: true, Cores: []int{1}}},
		{Name: "stock", Networking: lab.Networking{Listens: true}, Placement: lab.Placement{Node: "two"}},
	}
}

// TestCallsPassTheProxiesOfBothEnds: a unit calls its own proxy by its peers and environment, and the
// configuration of the proxies fits the protocol. The unit keeps the direct address of a peer for connections
// that are no calls; see lab.Direct.
func TestCallsPassTheProxiesOfBothEnds(t *testing.T) {
	before := shopUnits()
	all := Sidecars(before, false, false)
	if len(all) != 4 || before[0].Peers[0] != "stock" {
		t.Fatalf("%d units, and those before call %v", len(all), before[0].Peers)
	}
	orders := all[0]
	ordersProxy := all[2]
	stockProxy := all[3]
	if got := strings.Join(slices.Concat(orders.Peers, orders.Env), " "); got != "orders-sidecar:stock "+
		"proxy stock ASKS={address:orders-sidecar:stock} CLEAVE_ADDRESS_STOCK={address:orders-sidecar:stock} "+
		"CLEAVE_ADDRESS_STOCK_DIRECT={address:stock}" ||
		orders.Uses[0] != (lab.Use{To: "orders-sidecar", How: "http"}) || orders.Scalable {
		t.Errorf("orders: %s, uses %v", got, orders.Uses)
	}
	if ordersProxy.Name != "orders-sidecar" || ordersProxy.Role != RoleSidecar || ordersProxy.Node != "one" ||
		ordersProxy.Scalable || !slices.Equal(ordersProxy.Cores, []int{1}) ||
		!slices.Equal(ordersProxy.Ports, []string{"stock"}) ||
		!slices.Equal(ordersProxy.Peers, []string{"orders", "stock-sidecar"}) || ordersProxy.Ready == nil {
		t.Errorf("the proxy of orders: %+v", ordersProxy)
	}
	if stockProxy.Node != "two" || len(stockProxy.Ports) != 0 ||
		!slices.Equal(stockProxy.Peers, []string{"stock"}) {
		t.Errorf("the proxy of stock: %+v", stockProxy)
	}
	type calls struct{ grpc, protected bool }
	bytes := []string{"mode tcp", "bind {host}:{port:stock}\n", "{address:stock-sidecar} init-addr"}
	for c, wants := range map[calls][]string{
		{}: {"mode http", `bind "${CLEAVE_ADDRESS}"` + "\n", "bind {host}:{port:stock}\n",
			"{address:stock-sidecar} init-addr"},
		{grpc: true}: {"mode http", `bind "${CLEAVE_ADDRESS}" proto h2`, "bind {host}:{port:stock} proto h2",
			"{address:orders} proto h2 init-addr", "{address:stock-sidecar} proto h2 init-addr"},
		{protected: true}:             bytes,
		{grpc: true, protected: true}: bytes,
	} {
		text := string(Sidecars(before, c.grpc, c.protected)[2].Files["haproxy.cfg"])
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%+v: there is no %q in %s", c, want, text)
			}
		}
	}
}

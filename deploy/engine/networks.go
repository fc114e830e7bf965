package engine

import (
	"context"
	"net/http"
)

// Network describes a network to be made. The names are those of the Engine API.
type Network struct {
	Driver string // bridge, or overlay for all nodes of a swarm
	// Internal networks do not lead out of this host, and nothing in them is published.
	Internal   bool
	Attachable bool // containers that are no tasks of a swarm can be in an overlay, too
	Options    map[string]string
	Labels     map[string]string
	IPAM       *Pools `json:",omitempty"` // nil: the daemon chooses a range
}

// Pools lists the ranges from which a network takes its addresses.
type Pools struct{ Config []Pool }

// Pool is a range of addresses.
type Pool struct{ Subnet string }

// PoolOf returns the pools of a single range.
func PoolOf(subnet string) *Pools { return &Pools{Config: []Pool{{Subnet: subnet}}} }

// Options of bridge networks.
const (
	// BridgeName is the option with the name of the bridge on the host.
	BridgeName = "com.docker.network.bridge.name"
	// BridgeTalk is the option that lets containers in the network reach each other.
	BridgeTalk = "com.docker.network.bridge.enable_icc"
	// BridgeMasquerade is the option that gives packets which leave the network the host's address.
	BridgeMasquerade = "com.docker.network.bridge.enable_ip_masquerade"
)

// MakeNetwork makes a network and returns its ID.
func (c *Client) MakeNetwork(ctx context.Context, name string, network Network) (id string, err error) {
	body := struct {
		Name           string
		CheckDuplicate bool
		Network
	}{name, true, network}
	var made struct{ ID string }
	err = c.call(ctx, http.MethodPost, "/networks/create", nil, body, &made)
	return made.ID, named("make the network", name, err)
}

// Connect connects a container to a network.
func (c *Client) Connect(ctx context.Context, network, container string, at Endpoint) error {
	body := struct {
		Container      string
		EndpointConfig Endpoint
	}{container, at}
	return named("connect the container", container,
		c.call(ctx, http.MethodPost, "/networks/"+network+"/connect", nil, body, nil))
}

// Disconnect disconnects a container from a network.
func (c *Client) Disconnect(ctx context.Context, network, container string) error {
	body := struct {
		Container string
		Force     bool
	}{container, true}
	return named("disconnect the container", container,
		c.call(ctx, http.MethodPost, "/networks/"+network+"/disconnect", nil, body, nil))
}

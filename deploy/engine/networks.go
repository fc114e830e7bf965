package engine

import (
	"context"
	"net/http"
)

// Bridge describes a bridge network to be made. The names are those of the Engine API.
type Bridge struct {
	// Internal networks do not lead out of this host, and nothing in them is published.
	Internal bool
	Options  map[string]string
	Labels   map[string]string
	IPAM     Pools
}

// Pools lists the ranges from which a network takes its addresses; none: the daemon chooses.
type Pools struct{ Config []Pool }

// Pool is a range of addresses.
type Pool struct{ Subnet string }

// Options of bridge networks.
const (
	// BridgeName is the option with the name of the bridge on the host.
	BridgeName = "com.docker.network.bridge.name"
	// BridgeTalk is the option that lets containers in the network reach each other.
	BridgeTalk = "com.docker.network.bridge.enable_icc"
	// BridgeMasquerade is the option that gives packets which leave the network the host's address.
	BridgeMasquerade = "com.docker.network.bridge.enable_ip_masquerade"
)

// MakeNetwork makes a bridge network.
func (c *Client) MakeNetwork(ctx context.Context, name string, bridge Bridge) error {
	made := struct {
		Name, Driver   string
		CheckDuplicate bool
		Bridge
	}{name, "bridge", true, bridge}
	return named("make the network", name, c.call(ctx, http.MethodPost, "/networks/create", nil, made, nil))
}

// Overlay is a network of all nodes of a swarm.
type Overlay struct {
	Name, Subnet string // for the Subnet "" the daemon chooses a range
	Attachable   bool   // containers that are no tasks can be in it, too
	Labels       map[string]string
}

// MakeOverlay makes an overlay network and returns its ID.
func (c *Client) MakeOverlay(ctx context.Context, o Overlay) (id string, err error) {
	body := map[string]any{"Name": o.Name, "Driver": "overlay", "CheckDuplicate": true,
		"Attachable": o.Attachable, "Labels": o.Labels}
	if o.Subnet != "" {
		body["IPAM"] = Pools{Config: []Pool{{Subnet: o.Subnet}}}
	}
	var made struct{ ID string }
	err = c.call(ctx, http.MethodPost, "/networks/create", nil, body, &made)
	return made.ID, named("make the network", o.Name, err)
}

// RemoveNetwork removes a network. It returns nil if there is none.
func (c *Client) RemoveNetwork(ctx context.Context, name string) error {
	return c.remove(ctx, "network", name, name)
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

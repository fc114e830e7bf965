package engine

import (
	"context"
	"net/http"
)

// Member is a daemon's report of its place in a swarm.
type Member struct {
	NodeID           string
	LocalNodeState   string // inactive, active ...
	ControlAvailable bool   // it is a manager
}

// Member asks the daemon for its place in a swarm.
func (c *Client) Member(ctx context.Context) (Member, error) {
	var info struct{ Swarm Member }
	err := c.call(ctx, http.MethodGet, "/info", nil, nil, &info)
	return info.Swarm, named("ask for its swarm", c.address, err)
}

// Subnets returns the subnets of all networks that the daemon knows.
func (c *Client) Subnets(ctx context.Context) ([]string, error) {
	var all []struct {
		IPAM struct{ Config []struct{ Subnet string } }
	}
	err := c.call(ctx, http.MethodGet, "/networks", nil, nil, &all)
	var subnets []string
	for _, network := range all {
		for _, pool := range network.IPAM.Config {
			subnets = append(subnets, pool.Subnet)
		}
	}
	return subnets, named("list the networks of", c.address, err)
}

// PublishedPorts returns the ports that services of the swarm publish on nodes.
func (c *Client) PublishedPorts(ctx context.Context) (map[int]bool, error) {
	var all []struct {
		Endpoint struct{ Ports []PublishedPort }
		Spec     struct{ EndpointSpec EndpointSpec }
	}
	err := c.call(ctx, http.MethodGet, "/services", nil, nil, &all)
	taken := map[int]bool{}
	for _, service := range all {
		for _, port := range append(service.Endpoint.Ports, service.Spec.EndpointSpec.Ports...) {
			taken[port.PublishedPort] = true
		}
	}
	return taken, named("list the services of", c.address, err)
}

// MakeSecret makes a secret of the swarm, which only tasks that name it get, and returns its ID.
func (c *Client) MakeSecret(
	ctx context.Context, name string, labels map[string]string, data []byte,
) (id string, err error) {
	var made struct{ ID string }
	body := map[string]any{"Name": name, "Labels": labels, "Data": data}
	err = c.call(ctx, http.MethodPost, "/secrets/create", nil, body, &made)
	return made.ID, named("make the secret", name, err)
}

// Config returns the content of a configuration that the swarm keeps.
func (c *Client) Config(ctx context.Context, name string) ([]byte, error) {
	var found struct{ Spec struct{ Data []byte } }
	err := c.call(ctx, http.MethodGet, "/configs/"+name, nil, nil, &found)
	return found.Spec.Data, named("read the config", name, err)
}

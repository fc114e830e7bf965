package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Bridge is what a bridge network is made of. The names are those of the Engine API.
type Bridge struct {
	// Internal networks do not lead out of this host, and nothing in them is published.
	Internal bool
	Options  map[string]string
	Labels   map[string]string
	IPAM     Pools
}

// Pools are the ranges that a network has its addresses from; none: the daemon chooses.
type Pools struct{ Config []Pool }

// Pool is one of them.
type Pool struct{ Subnet string }

// Options of bridge networks.
const (
	// BridgeName is what the host calls the bridge.
	BridgeName = "com.docker.network.bridge.name"
	// BridgeTalk is whether containers in the network reach each other.
	BridgeTalk = "com.docker.network.bridge.enable_icc"
	// BridgeMasquerade is whether packets that leave the network have the host's address.
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

// MakeOverlay makes a network of all nodes of a swarm, which does not lead out of them.
func (c *Client) MakeOverlay(ctx context.Context, name string, labels map[string]string) error {
	made := struct {
		Name, Driver   string
		CheckDuplicate bool
		Labels         map[string]string
	}{name, "overlay", true, labels}
	return named("make the network", name, c.call(ctx, http.MethodPost, "/networks/create", nil, made, nil))
}

// RemoveNetwork removes a network. One that is not there is removed.
func (c *Client) RemoveNetwork(ctx context.Context, name string) error {
	err := c.call(ctx, http.MethodDelete, "/networks/"+name, nil, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return named("remove the network", name, err)
}

// Connect brings a container into a network, at an address.
func (c *Client) Connect(ctx context.Context, network, container, address string) error {
	body := struct {
		Container      string
		EndpointConfig Endpoint
	}{container, In(address)}
	return named("connect the container", container, c.call(ctx, http.MethodPost, "/networks/"+network+"/connect", nil, body, nil))
}

// Disconnect takes a container off a network.
func (c *Client) Disconnect(ctx context.Context, network, container string) error {
	body := struct {
		Container string
		Force     bool
	}{container, true}
	return named("disconnect the container", container, c.call(ctx, http.MethodPost, "/networks/"+network+"/disconnect", nil, body, nil))
}

// Import makes an image whose root file system comes as a tar archive.
func (c *Client) Import(ctx context.Context, name, label string, archive io.Reader) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("no answer for %v", Patience))
	defer cancel()
	query := url.Values{"fromSrc": {"-"}, "repo": {name}, "changes": {"LABEL " + label}}
	answer, err := c.send(ctx, http.MethodPost, "/images/create", query, archive)
	if err != nil {
		return named("make the image", name, err)
	}
	var progress struct{ Error string }
	err = errors.Join(json.NewDecoder(answer.Body).Decode(&progress), answer.Body.Close())
	if err == nil && progress.Error != "" {
		err = &Refusal{Status: answer.StatusCode, Message: progress.Error}
	}
	return named("make the image", name, err)
}

// HasImage reports whether the daemon has an image.
func (c *Client) HasImage(ctx context.Context, name string) (bool, error) {
	err := c.call(ctx, http.MethodGet, "/images/"+name+"/json", nil, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, named("look for the image", name, err)
}

// Load takes in images in the format of `docker save`.
func (c *Client) Load(ctx context.Context, archive io.Reader) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("no answer for %v", Patience))
	defer cancel()
	answer, err := c.send(ctx, http.MethodPost, "/images/load", url.Values{"quiet": {"1"}}, archive)
	if err != nil {
		return fmt.Errorf("load an image: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	for decoder := json.NewDecoder(answer.Body); ; {
		var progress struct{ Error string }
		if err := decoder.Decode(&progress); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("load an image: %w", err)
		}
		if progress.Error != "" {
			return fmt.Errorf("load an image: %s", progress.Error)
		}
	}
}

// RemoveImage removes an image. One that is not there is removed.
func (c *Client) RemoveImage(ctx context.Context, name string) error {
	err := c.call(ctx, http.MethodDelete, "/images/"+name, url.Values{"force": {"1"}}, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return named("remove the image", name, err)
}

// RemoveVolume removes a volume. One that is not there is removed.
func (c *Client) RemoveVolume(ctx context.Context, name string) error {
	err := c.call(ctx, http.MethodDelete, "/volumes/"+name, nil, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return named("remove the volume", name, err)
}

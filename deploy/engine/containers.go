package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Container is what a container is made of. The names are those of the Engine API.
type Container struct {
	Image      string
	Cmd        []string
	Env        []string `json:",omitempty"`
	Labels     map[string]string
	User       string `json:",omitempty"`
	WorkingDir string `json:",omitempty"`
	Hostname   string `json:",omitempty"`
	HostConfig HostConfig
	// ExposedPorts are those that can be published: 80/tcp.
	ExposedPorts map[string]struct{} `json:",omitempty"`
	// NetworkingConfig has the addresses in networks that are not this host's.
	NetworkingConfig NetworkingConfig
}

// HostConfig says what a container gets of this host.
type HostConfig struct {
	Binds          []string          `json:",omitempty"` // FROM:TO or FROM:TO:ro
	Tmpfs          map[string]string `json:",omitempty"`
	ReadonlyRootfs bool
	CapAdd         []string `json:",omitempty"`
	CapDrop        []string `json:",omitempty"`
	SecurityOpt    []string `json:",omitempty"`
	NetworkMode    string   // host, container:NAME or the name of a network
	NanoCpus       int64    `json:",omitempty"`
	Memory         int64    `json:",omitempty"` // bytes
	MemorySwap     int64    `json:",omitempty"` // bytes, those of Memory included
	CpusetCpus     string   `json:",omitempty"`
	// PortBindings are ports of the host that lead to the container, by its own: 80/tcp.
	PortBindings map[string][]PortBinding `json:",omitempty"`
	LogConfig    LogConfig
}

// PortBinding is a port at an address of the host.
type PortBinding struct{ HostIP, HostPort string }

// LogConfig says what the daemon does with what a container writes. With "none" it is
// there for who has attached, and nothing comes upon the disk.
type LogConfig struct{ Type string }

// NetworkingConfig has endpoints by the name of their network.
type NetworkingConfig struct {
	EndpointsConfig map[string]Endpoint `json:",omitempty"`
}

// Endpoint is the place of a container in a network.
type Endpoint struct{ IPAMConfig IPAM }

// IPAM is an address.
type IPAM struct{ IPv4Address string }

// In is the endpoint with an address.
func In(address string) Endpoint { return Endpoint{IPAMConfig: IPAM{IPv4Address: address}} }

// State is that of a container.
type State struct {
	Status    string // created, running, paused, exited, dead ...
	Pid       int    // of its first process, as this host numbers it; 0: none
	OOMKilled bool
}

// Create makes a container that does not run yet.
func (c *Client) Create(ctx context.Context, name string, made Container) error {
	err := c.call(ctx, http.MethodPost, "/containers/create", url.Values{"name": {name}}, made, nil)
	return named("make the container", name, err)
}

// Start starts a container.
func (c *Client) Start(ctx context.Context, name string) error { return c.act(ctx, name, "start", nil) }

// Kill sends SIGKILL to the first process of a container, and so ends all.
func (c *Client) Kill(ctx context.Context, name string) error { return c.act(ctx, name, "kill", nil) }

// Pause freezes every process of a container.
func (c *Client) Pause(ctx context.Context, name string) error { return c.act(ctx, name, "pause", nil) }

// Unpause lets them go on.
func (c *Client) Unpause(ctx context.Context, name string) error {
	return c.act(ctx, name, "unpause", nil)
}

// Stop asks a container to end, and kills it when it has not after grace.
func (c *Client) Stop(ctx context.Context, name string, grace time.Duration) error {
	return c.act(ctx, name, "stop", url.Values{"t": {strconv.Itoa(int(grace.Seconds()))}})
}

func (c *Client) act(ctx context.Context, name, what string, query url.Values) error {
	return named(what+" the container", name, c.call(ctx, http.MethodPost, "/containers/"+name+"/"+what, query, nil, nil))
}

// Remove ends and removes a container. One that is not there is removed.
func (c *Client) Remove(ctx context.Context, name string) error {
	err := c.call(ctx, http.MethodDelete, "/containers/"+name, url.Values{"force": {"1"}, "v": {"1"}}, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return named("remove the container", name, err)
}

// Inspect tells a container's state.
func (c *Client) Inspect(ctx context.Context, name string) (State, error) {
	var answer struct{ State State }
	err := c.call(ctx, http.MethodGet, "/containers/"+name+"/json", nil, nil, &answer)
	return answer.State, named("look at the container", name, err)
}

// Wait waits until a container has ended and returns its exit status.
func (c *Client) Wait(ctx context.Context, name string) (code int, err error) {
	answer, err := c.send(ctx, http.MethodPost, "/containers/"+name+"/wait", nil, nil)
	if err != nil {
		return 0, named("wait for the container", name, err)
	}
	var ended struct{ StatusCode int }
	err = errors.Join(json.NewDecoder(answer.Body).Decode(&ended), answer.Body.Close())
	return ended.StatusCode, named("wait for the container", name, err)
}

// Attach returns what a container writes to both of its outputs, from now to its end.
// It is asked for before the start, or the first lines would be missing.
func (c *Client) Attach(ctx context.Context, name string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(Patience, func() { cancel(fmt.Errorf("no answer for %v", Patience)) })
	query := url.Values{"stream": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
	answer, err := c.send(ctx, http.MethodPost, "/containers/"+name+"/attach", query, nil)
	late.Stop()
	if err != nil {
		cancel(nil)
		return nil, named("attach to the container", name, err)
	}
	return &output{from: answer.Body, cancel: cancel}, nil
}

// Follow returns what a container has written to both of its outputs, and goes on to its
// end. Its log must be kept.
func (c *Client) Follow(ctx context.Context, name string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(Patience, func() { cancel(fmt.Errorf("no answer for %v", Patience)) })
	query := url.Values{"follow": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
	answer, err := c.send(ctx, http.MethodGet, "/containers/"+name+"/logs", query, nil)
	late.Stop()
	if err != nil {
		cancel(nil)
		return nil, named("read the log of the container", name, err)
	}
	return &output{from: answer.Body, cancel: cancel}, nil
}

// Bind binds a container that runs to processors, as "0,2-3".
func (c *Client) Bind(ctx context.Context, name, processors string) error {
	body := struct{ CpusetCpus string }{processors}
	return named("bind to processors the container", name, c.call(ctx, http.MethodPost, "/containers/"+name+"/update", nil, body, nil))
}

// output is a stream in which both outputs of a container are interleaved in pieces.
type output struct {
	from   io.ReadCloser
	cancel context.CancelCauseFunc
	left   uint32 // bytes of the piece that is being read
}

// Read implements io.Reader. A piece begins with the number of its output, three zeros
// and its length.
func (o *output) Read(into []byte) (int, error) {
	for o.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(o.from, head[:]); err != nil {
			return 0, err
		}
		o.left = binary.BigEndian.Uint32(head[4:])
	}
	n, err := o.from.Read(into[:min(len(into), int(o.left))])
	o.left -= uint32(n)
	return n, err
}

// Close implements io.Closer.
func (o *output) Close() error {
	o.cancel(nil)
	return o.from.Close()
}

// named says what was done to what when something failed.
func named(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, name, err)
}

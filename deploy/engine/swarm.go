package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// swarmPort is the port at which managers of a swarm listen.
const swarmPort = "2377"

// InitSwarm makes the daemon, at its own address, the first manager of a swarm and returns the token with
// which workers join. Networks get ranges of pool, such as 198.18.0.0/16. A node that misses three heartbeats
// is down.
func (c *Client) InitSwarm(
	ctx context.Context, address, pool string, heartbeat time.Duration,
) (token string, err error) {
	body := map[string]any{
		"ListenAddr": address + ":" + swarmPort, "AdvertiseAddr": address, "DefaultAddrPool": []string{pool},
		"SubnetSize": 24,
		"Spec":       map[string]any{"Dispatcher": map[string]any{"HeartbeatPeriod": heartbeat}},
	}
	if err := c.call(ctx, http.MethodPost, "/swarm/init", nil, body, nil); err != nil {
		return "", fmt.Errorf("make a swarm: %w", err)
	}
	var swarm struct{ JoinTokens struct{ Worker string } }
	err = c.call(ctx, http.MethodGet, "/swarm", nil, nil, &swarm)
	return swarm.JoinTokens.Worker, named("read the token of the swarm", address, err)
}

// JoinSwarm makes the daemon a worker, at its own address, of a manager's swarm.
func (c *Client) JoinSwarm(ctx context.Context, address, manager, token string) error {
	body := map[string]any{
		"ListenAddr": address + ":" + swarmPort, "AdvertiseAddr": address,
		"RemoteAddrs": []string{manager + ":" + swarmPort}, "JoinToken": token,
	}
	return named("join the swarm of", manager, c.call(ctx, http.MethodPost, "/swarm/join", nil, body, nil))
}

// SwarmNode is a node of a swarm.
type SwarmNode struct {
	ID          string
	Description struct {
		Hostname  string
		Resources struct{ NanoCPUs, MemoryBytes int64 }
	}
	Spec          struct{ Availability string } // active, pause, drain
	Status        struct{ State, Addr string }  // ready, down, unknown
	ManagerStatus struct{ Addr string }         // host:port; "": it is a worker
}

// SwarmNodes returns the nodes of the swarm that the daemon manages.
func (c *Client) SwarmNodes(ctx context.Context) ([]SwarmNode, error) {
	var nodes []SwarmNode
	err := c.call(ctx, http.MethodGet, "/nodes", nil, nil, &nodes)
	return nodes, named("list the nodes of", "the swarm", err)
}

// Drain ends the tasks of a node, which then takes no new ones, or makes it take tasks again if drained is
// false.
func (c *Client) Drain(ctx context.Context, id string, drained bool) error {
	return c.update(ctx, "node", id, id, func(spec map[string]any) any {
		spec["Availability"] = map[bool]string{true: "drain", false: "active"}[drained]
		return spec
	})
}

// Peers returns the addresses of the nodes of a network that the daemon's node knows; none if it does not
// have the network yet.
func (c *Client) Peers(ctx context.Context, network string) (addresses []string, err error) {
	var seen struct{ Peers []struct{ IP string } }
	err = c.call(ctx, http.MethodGet, "/networks/"+network, nil, nil, &seen)
	if isStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	for _, peer := range seen.Peers {
		addresses = append(addresses, peer.IP)
	}
	return addresses, named("look at the network", network, err)
}

// Known returns the names of the services in a network that the daemon's node can resolve; none if
// it does not have the network.
func (c *Client) Known(ctx context.Context, network string) ([]string, error) {
	var seen struct {
		Services map[string]struct{ Tasks []struct{} }
	}
	err := c.call(ctx, http.MethodGet, "/networks/"+network, url.Values{"verbose": {"1"}}, nil, &seen)
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return nil, named("look at the services of the network", network, err)
	}
	var known []string
	for name, service := range seen.Services {
		if len(service.Tasks) > 0 {
			known = append(known, name)
		}
	}
	return known, nil
}

// Service describes a service of a swarm. The names are those of the Engine API.
type Service struct {
	Name         string
	Labels       map[string]string
	TaskTemplate TaskTemplate
	Mode         ServiceMode
	EndpointSpec EndpointSpec
}

// TaskTemplate describes the tasks of a service.
type TaskTemplate struct {
	ContainerSpec ServiceContainer
	Resources     Resources
	RestartPolicy RestartPolicy
	Placement     Placement
	Networks      []ServiceNetwork
	LogDriver     LogDriver
	// ForceUpdate replaces all tasks when it is raised.
	ForceUpdate uint64
}

// ServiceContainer is the container of a task.
type ServiceContainer struct {
	Image           string
	Labels          map[string]string
	Command         []string `json:",omitempty"` // replaces the image's entrypoint; Args follow it
	Args            []string `json:",omitempty"`
	Env             []string `json:",omitempty"`
	Dir             string   `json:",omitempty"`
	User            string   `json:",omitempty"`
	Hostname        string   `json:",omitempty"`
	TTY             bool     `json:",omitempty"`
	StopSignal      string   `json:",omitempty"`
	ReadOnly        bool
	Mounts          []Mount
	StopGracePeriod time.Duration
	DNSConfig       DNSConfig
	Healthcheck     *Healthcheck      `json:",omitempty"`
	Hosts           []string          `json:",omitempty"` // ADDRESS NAME
	Sysctls         map[string]string `json:",omitempty"`
	Ulimits         []Ulimit          `json:",omitempty"`
	CapabilityAdd   []string          `json:",omitempty"`
	CapabilityDrop  []string          `json:",omitempty"`
	Secrets         []SecretFile      `json:",omitempty"`
	// Init makes docker-init the first process, or keeps it from being; nil: the daemon's setting.
	Init *bool `json:",omitempty"`
}

// SecretFile is a secret as a file of a task's container.
type SecretFile struct {
	SecretID, SecretName string
	File                 FileOf
}

// FileOf is the file of a secret and its owner. The file is below /run/secrets unless Name is an absolute
// path.
type FileOf struct {
	Name, UID, GID string
	Mode           uint32
}

// Secret returns a secret whose file only a user may read.
func Secret(id, name, file, user string) SecretFile {
	const readable = 0o400
	return SecretFile{SecretID: id, SecretName: name,
		File: FileOf{Name: file, UID: user, GID: user, Mode: readable}}
}

// DNSConfig holds options of the resolver; see resolv.conf(5).
type DNSConfig struct {
	Options []string `json:",omitempty"`
}

// Resources limit what a task can use.
type Resources struct{ Limits ResourceLimits }

// ResourceLimits holds the limits of a task; 0 means none.
type ResourceLimits struct {
	NanoCPUs    int64 `json:",omitempty"`
	MemoryBytes int64 `json:",omitempty"`
}

// RestartPolicy sets when a task that has ended is replaced: none, on-failure, any.
type RestartPolicy struct{ Condition string }

// Placement restricts the nodes of tasks by constraints such as node.id==X.
type Placement struct{ Constraints []string }

// ServiceNetwork is a network that tasks are in, under further names.
type ServiceNetwork struct {
	Target  string
	Aliases []string
}

// LogDriver names the driver that keeps the output of tasks.
type LogDriver struct{ Name string }

// ServiceMode sets the number of tasks: a fixed one, or one on every node.
type ServiceMode struct {
	Replicated *Replicated `json:",omitempty"`
	Global     *struct{}   `json:",omitempty"`
}

// Replicated is a number of equal tasks.
type Replicated struct{ Replicas uint64 }

// EndpointSpec sets how a service is reached. With the mode dnsrr its name resolves to the addresses of its
// tasks, with vip to one address of its own.
type EndpointSpec struct {
	Mode  string
	Ports []PublishedPort
}

// PublishedPort is a port of a task that is published on nodes: with PublishMode host on the
// task's node, with ingress on all nodes.
type PublishedPort struct {
	Protocol                  string
	TargetPort, PublishedPort int
	PublishMode               string
}

// PullAs sets the login with which nodes pull the images of services that are made from now
// on: a name, a password and a server, as JSON in base64. It is called before other methods.
func (c *Client) PullAs(login string) { c.login = login }

// createService is the path of the call that makes a service, the only one that needs the login.
const createService = "/services/create"

// CreateService makes a service, which the swarm then runs, and returns its ID. The manager does
// not look for the image in a registry.
func (c *Client) CreateService(ctx context.Context, service Service) (id string, err error) {
	var made struct{ ID string }
	err = c.call(ctx, http.MethodPost, createService, nil, service, &made)
	return made.ID, named("make the service", service.Name, err)
}

// UpdateService changes a service.
func (c *Client) UpdateService(ctx context.Context, id string, service Service) error {
	return c.update(ctx, "service", id, service.Name, func(map[string]any) any { return service })
}

// updateAttempts bounds the attempts to update an object. One fails if the swarm changes the object
// meanwhile.
const updateAttempts = 10

// update replaces the spec of an object of a kind by what change returns for its present spec.
func (c *Client) update(
	ctx context.Context, kind, id, name string, change func(spec map[string]any) any,
) error {
	path := "/" + kind + "s/" + id
	for attempt := 1; ; attempt++ {
		var now struct {
			Version struct{ Index uint64 }
			Spec    map[string]any
		}
		if err := c.call(ctx, http.MethodGet, path, nil, nil, &now); err != nil {
			return named("look at the "+kind, name, err)
		}
		query := url.Values{"version": {strconv.FormatUint(now.Version.Index, 10)}}
		err := c.call(ctx, http.MethodPost, path+"/update", query, change(now.Spec), nil)
		// 500 is the answer to a version that is out of date.
		if !isStatus(err, http.StatusInternalServerError) || attempt == updateAttempts {
			return named("change the "+kind, name, err)
		}
	}
}

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

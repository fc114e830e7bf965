package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/bounded"
)

// Container describes a container to be made. The names are those of the Engine API.
type Container struct {
	Image      string
	Entrypoint []string `json:",omitempty"` // in the place of the image's
	Cmd        []string
	Env        []string `json:",omitempty"`
	Labels     map[string]string
	User       string `json:",omitempty"`
	WorkingDir string `json:",omitempty"`
	Hostname   string `json:",omitempty"`
	Tty        bool   `json:",omitempty"`
	StopSignal string `json:",omitempty"`
	// Healthcheck says whether the container is healthy; nil: as the image says.
	Healthcheck *Healthcheck `json:",omitempty"`
	HostConfig  HostConfig
	// ExposedPorts are those that can be published: 80/tcp.
	ExposedPorts map[string]struct{} `json:",omitempty"`
	// NetworkingConfig has the addresses in networks that are not this host's.
	NetworkingConfig NetworkingConfig
}

// HostConfig says what a container gets of this host.
type HostConfig struct {
	Binds          []string          `json:",omitempty"` // FROM:TO or FROM:TO:ro
	Mounts         []Mount           `json:",omitempty"`
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
	Privileged   bool              `json:",omitempty"`
	Init         bool              `json:",omitempty"`
	PidMode      string            `json:",omitempty"`
	ShmSize      int64             `json:",omitempty"` // bytes
	Sysctls      map[string]string `json:",omitempty"`
	ExtraHosts   []string          `json:",omitempty"` // NAME:ADDRESS
	Ulimits      []Ulimit          `json:",omitempty"`
}

// Healthcheck is a command that the daemon runs in a container again and again; zero is what the image says.
type Healthcheck struct {
	Test                                          []string `json:",omitempty"`
	Interval, Timeout, StartPeriod, StartInterval time.Duration
	Retries                                       int
}

// Ulimit is a limit of the kernel for each process.
type Ulimit struct {
	Name       string
	Soft, Hard int64
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
type Endpoint struct {
	IPAMConfig IPAM
	Aliases    []string `json:",omitempty"` // further names of the container there
}

// IPAM is an address.
type IPAM struct{ IPv4Address string }

// In returns the endpoint with an address and further names.
func In(address string, aliases ...string) Endpoint {
	return Endpoint{IPAMConfig: IPAM{IPv4Address: address}, Aliases: aliases}
}

// State is that of a container.
type State struct {
	Status    string    // created, running, paused, exited, dead ...
	Pid       int       // of its first process, as this host numbers it; 0: none
	StartedAt time.Time // by the daemon's clock
	OOMKilled bool
	Health    *Health // nil: it has no health check
}

// Health is the state of the health check of a container, with the output of its last runs.
type Health struct {
	Status string // starting, healthy, unhealthy
	Log    []struct{ Output string }
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

// pauseNews bounds the time in which a daemon may still hear of an earlier resume of a container, and take
// that for its present state.
const pauseNews = time.Second

// Pause freezes every process of a container, and makes sure that they are.
func (c *Client) Pause(ctx context.Context, name string) error {
	if err := c.act(ctx, name, "pause", nil); err != nil {
		return err
	}
	for begun := time.Now(); ; time.Sleep(lookAgain) {
		state, err := c.State(ctx, name)
		if err == nil && state.Status != "paused" {
			err = fmt.Errorf("pause the container %s: its state is %q", name, state.Status)
		}
		if err == nil || state.Status != "running" || time.Since(begun) > pauseNews {
			return err
		}
	}
}

// Unpause lets them go on.
func (c *Client) Unpause(ctx context.Context, name string) error {
	return c.act(ctx, name, "unpause", nil)
}

// Stop asks a container to end, and kills it when it has not after grace.
func (c *Client) Stop(ctx context.Context, name string, grace time.Duration) error {
	return c.act(ctx, name, "stop", url.Values{"t": {strconv.Itoa(int(grace.Seconds()))}})
}

func (c *Client) act(ctx context.Context, name, what string, query url.Values) error {
	return named(what+" the container", name, c.call(ctx, http.MethodPost, "/containers/"+name+"/"+what, query,
		nil, nil))
}

// Remove ends and removes a container. One that is not there is removed.
func (c *Client) Remove(ctx context.Context, name string) error {
	return c.remove(ctx, "container", name, name)
}

// State returns the state of a container.
func (c *Client) State(ctx context.Context, name string) (State, error) {
	seen, err := c.Inspect(ctx, name)
	return seen.State, err
}

// Inspection is what the daemon reports of a container.
type Inspection struct {
	State  State
	Config struct {
		Image  string // as whoever made it called it
		Labels map[string]string
		Tty    bool // it writes to a terminal
	}
	HostConfig struct {
		NetworkMode string
		Memory      int64 // bytes; 0: no limit
	}
}

// Inspect returns what the daemon reports of a container.
func (c *Client) Inspect(ctx context.Context, name string) (seen Inspection, err error) {
	err = c.call(ctx, http.MethodGet, "/containers/"+name+"/json", nil, nil, &seen)
	return seen, named("look at the container", name, err)
}

// Containers returns the IDs of those that have a label with a value, whether they run or not.
func (c *Client) Containers(ctx context.Context, label, value string) (ids []string, err error) {
	query := where(map[string][]string{"label": {label + "=" + value}})
	query.Set("all", "1")
	var listed []struct{ ID string }
	err = c.call(ctx, http.MethodGet, "/containers/json", query, nil, &listed)
	for _, one := range listed {
		ids = append(ids, one.ID)
	}
	return ids, named("list the containers of", value, err)
}

// Wait waits until a container has ended. It returns its exit status, and whether the kernel has ended it at
// its limit of memory. That is not asked where killed reports that the caller has ended it.
func (c *Client) Wait(
	ctx context.Context, name string, killed func() bool,
) (code int, outOfMemory bool, err error) {
	var ended struct{ StatusCode int }
	err = c.exchange(ctx, http.MethodPost, "/containers/"+name+"/wait", nil, nil, &ended)
	if err == nil && ended.StatusCode != 0 && !killed() {
		seen, gone := c.Inspect(ctx, name)
		outOfMemory = gone == nil && (seen.State.OOMKilled ||
			seen.HostConfig.Memory > 0 && ended.StatusCode == statusKilled && c.lacksMemory(ctx, name, seen))
	}
	return ended.StatusCode, outOfMemory, named("wait for the container", name, err)
}

const (
	// statusKilled is the exit status of a container that SIGKILL has ended.
	statusKilled = 137
	// newsPatience bounds the wait for the daemon to hear, after the end of a container, of its want of memory.
	newsPatience = 500 * time.Millisecond
)

// lacksMemory reports whether the daemon says that a container was out of memory in its last life. It hears
// of that and of the end in any order, and its state of the container has only what came before the end.
func (c *Client) lacksMemory(ctx context.Context, name string, seen Inspection) bool {
	query := where(map[string][]string{"container": {name}, "event": {"oom"}})
	query.Set("since", strconv.FormatInt(seen.State.StartedAt.Unix(), 10))
	ctx, cancel := context.WithTimeout(ctx, newsPatience)
	defer cancel()
	answer, err := c.send(ctx, http.MethodGet, "/events", query, nil)
	if err != nil {
		return false
	}
	var event struct{ Action string }
	err = json.NewDecoder(bounded.New(answer.Body, c.longest)).Decode(&event) // it fails when time is over
	_ = answer.Body.Close()
	return err == nil && event.Action == "oom"
}

// Attach returns what a container writes to both of its outputs, from now to its end; one with
// a terminal has but that. It is asked for before the start, or the first lines would be missing.
func (c *Client) Attach(ctx context.Context, name string, terminal bool) (io.ReadCloser, error) {
	query := url.Values{"stream": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
	said, err := c.stream(ctx, http.MethodPost, "/containers/"+name+"/attach", query, terminal)
	return said, named("attach to the container", name, err)
}

// Follow is Attach that begins with what a container has written before. Its log must be kept.
func (c *Client) Follow(ctx context.Context, name string, terminal bool) (io.ReadCloser, error) {
	query := url.Values{"follow": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
	said, err := c.stream(ctx, http.MethodGet, "/containers/"+name+"/logs", query, terminal)
	return said, named("read the log of the container", name, err)
}

// stream asks for what a container writes, which lasts as long as the container.
func (c *Client) stream(
	ctx context.Context, method, path string, query url.Values, terminal bool,
) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(Patience, func() { cancel(fmt.Errorf("no answer for %v", Patience)) })
	answer, err := c.send(ctx, method, path, query, nil)
	late.Stop()
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return &output{from: answer.Body, cancel: cancel, plain: terminal}, nil
}

// Bind binds a container that runs to processors, as "0,2-3".
func (c *Client) Bind(ctx context.Context, name, processors string) error {
	body := struct{ CpusetCpus string }{processors}
	return named("bind to processors the container", name,
		c.call(ctx, http.MethodPost, "/containers/"+name+"/update", nil, body, nil))
}

// output is a stream in which both outputs of a container are interleaved in pieces.
type output struct {
	from   io.ReadCloser
	cancel context.CancelCauseFunc
	plain  bool   // there are no pieces
	left   uint32 // bytes of the piece that is being read
}

// Read implements io.Reader. A piece begins with the number of its output, three zeros
// and its length.
func (o *output) Read(into []byte) (int, error) {
	if o.plain {
		return o.from.Read(into)
	}
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

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
	Entrypoint []string `json:",omitempty"` // replaces the image's
	Cmd        []string
	Env        []string `json:",omitempty"`
	Labels     map[string]string
	User       string `json:",omitempty"`
	WorkingDir string `json:",omitempty"`
	Hostname   string `json:",omitempty"`
	Tty        bool   `json:",omitempty"`
	StopSignal string `json:",omitempty"`
	// Healthcheck checks whether the container is healthy; nil: the image's check.
	Healthcheck *Healthcheck `json:",omitempty"`
	HostConfig  HostConfig
	// ExposedPorts are the ports that can be published, such as "80/tcp".
	ExposedPorts map[string]struct{} `json:",omitempty"`
	// NetworkingConfig has the addresses in Docker's networks.
	NetworkingConfig NetworkingConfig
}

// HostConfig lists what a container gets from this host.
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
	MemorySwap     int64    `json:",omitempty"` // bytes of memory and swap together
	CpusetCpus     string   `json:",omitempty"`
	// PortBindings are ports of the host that are forwarded, by the container's port, such as "80/tcp".
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

// Healthcheck is a command that the daemon repeats in a container. Fields that are zero are taken from the
// image.
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

// LogConfig names the log driver of a container. With "none" its output goes only to
// attached clients and not to the disk.
type LogConfig struct{ Type string }

// NetworkingConfig holds endpoints by the name of their network.
type NetworkingConfig struct {
	EndpointsConfig map[string]Endpoint `json:",omitempty"`
}

// Endpoint is the place of a container in a network.
type Endpoint struct {
	IPAMConfig IPAM
	Aliases    []string `json:",omitempty"` // further names of the container there
}

// IPAM holds an address of a container.
type IPAM struct{ IPv4Address string }

// EndpointAt returns an endpoint with an address and further names.
func EndpointAt(address string, aliases ...string) Endpoint {
	return Endpoint{IPAMConfig: IPAM{IPv4Address: address}, Aliases: aliases}
}

// State is the state of a container.
type State struct {
	Status    string    // created, running, paused, exited, dead ...
	Pid       int       // of its first process, in the host's numbers; 0: none
	StartedAt time.Time // by the daemon's clock
	OOMKilled bool
	Health    *Health // nil: it has no health check
}

// Health is the state of the health check of a container, with the output of its last runs.
type Health struct {
	Status string // starting, healthy, unhealthy
	Log    []struct{ Output string }
}

// Create makes a container without starting it.
func (c *Client) Create(ctx context.Context, name string, made Container) error {
	err := c.call(ctx, http.MethodPost, "/containers/create", url.Values{"name": {name}}, made, nil)
	return named("make the container", name, err)
}

// Start starts a container.
func (c *Client) Start(ctx context.Context, name string) error { return c.act(ctx, name, "start", nil) }

// pausePatience bounds the time after a pause in which a daemon may still process the event of an earlier
// resume, and so report the container as running.
const pausePatience = time.Second

// Pause freezes every process of a container, and checks that the daemon reports it as paused.
func (c *Client) Pause(ctx context.Context, name string) error {
	if err := c.act(ctx, name, "pause", nil); err != nil {
		return err
	}
	for begun := time.Now(); ; time.Sleep(lookAgain) {
		state, err := c.State(ctx, name)
		if err == nil && state.Status != "paused" {
			err = fmt.Errorf("pause the container %s: its state is %q", name, state.Status)
		}
		if err == nil || state.Status != "running" || time.Since(begun) > pausePatience {
			return err
		}
	}
}

// Bind binds a running container to processors, such as "0,2-3".
func (c *Client) Bind(ctx context.Context, name, processors string) error {
	body := struct{ CpusetCpus string }{processors}
	return named("bind the processors of the container", name,
		c.call(ctx, http.MethodPost, "/containers/"+name+"/update", nil, body, nil))
}

// act performs an action, such as "start", on a container.
func (c *Client) act(ctx context.Context, name, action string, query url.Values) error {
	err := c.call(ctx, http.MethodPost, "/containers/"+name+"/"+action, query, nil, nil)
	return named(action+" the container", name, err)
}

// State returns the state of a container.
func (c *Client) State(ctx context.Context, name string) (State, error) {
	seen, err := c.Inspect(ctx, name)
	return seen.State, err
}

// Inspection holds the state and the settings of a container, as the daemon reports them.
type Inspection struct {
	State  State
	Config struct {
		Image  string // the name by which it was made
		Labels map[string]string
		Tty    bool // its output is a terminal
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

// Wait waits until a container has ended. It returns its exit status, and whether the kernel has killed it
// at its limit of memory. It does not ask for the latter if killed reports that the caller has ended the
// container.
func (c *Client) Wait(
	ctx context.Context, name string, killed func() bool,
) (code int, outOfMemory bool, err error) {
	var ended struct{ StatusCode int }
	err = c.exchange(ctx, http.MethodPost, "/containers/"+name+"/wait", nil, nil, &ended)
	hasFailed := err == nil && ended.StatusCode != 0
	if hasFailed && !killed() {
		outOfMemory = c.ranOutOfMemory(ctx, name, ended.StatusCode)
	}
	return ended.StatusCode, outOfMemory, named("wait for the container", name, err)
}

// ranOutOfMemory reports whether the kernel has killed a container at its limit of memory.
func (c *Client) ranOutOfMemory(ctx context.Context, name string, status int) bool {
	seen, err := c.Inspect(ctx, name)
	switch {
	case err != nil:
		return false
	case seen.State.OOMKilled:
		return true
	case seen.HostConfig.Memory > 0 && status == statusKilled:
		return c.lacksMemory(ctx, name, seen)
	}
	return false
}

const (
	// statusKilled is the exit status of a container that SIGKILL has ended.
	statusKilled = 137
	// oomPatience bounds the wait for an event about a lack of memory after the end of a container.
	oomPatience = 500 * time.Millisecond
)

// lacksMemory reports whether the daemon has an event that a container was out of memory in its last life.
// The daemon may learn of the end first: then the state of the container does not show the lack of memory.
func (c *Client) lacksMemory(ctx context.Context, name string, seen Inspection) bool {
	query := where(map[string][]string{"container": {name}, "event": {"oom"}})
	query.Set("since", strconv.FormatInt(seen.State.StartedAt.Unix(), 10))
	ctx, cancel := context.WithTimeout(ctx, oomPatience)
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

// Attach returns a stream of what a container writes from now to its end, to its standard output and error
// or, if it has one, to its terminal. Callers attach before the start, so that the first lines are not
// lost.
func (c *Client) Attach(ctx context.Context, name string, terminal bool) (io.ReadCloser, error) {
	query := url.Values{"stream": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
	stream, err := c.stream(ctx, http.MethodPost, "/containers/"+name+"/attach", query, terminal)
	return stream, named("attach to the container", name, err)
}

// Follow is Attach with everything that the container has written before. Its log driver must keep a log.
func (c *Client) Follow(ctx context.Context, name string, terminal bool) (io.ReadCloser, error) {
	query := url.Values{"follow": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
	stream, err := c.stream(ctx, http.MethodGet, "/containers/"+name+"/logs", query, terminal)
	return stream, named("read the log of the container", name, err)
}

// stream asks for the output of a container. Patience bounds the wait for the answer, which then lasts as
// long as the container.
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

// output reads a stream in which both outputs of a container are interleaved in pieces.
type output struct {
	from   io.ReadCloser
	cancel context.CancelCauseFunc
	plain  bool   // the stream of a terminal, which is not in pieces
	left   uint32 // bytes of the present piece that are not read yet
}

// Read implements io.Reader. A piece begins with a head of eight bytes: the number of its
// output, three zeros and its length.
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
	most := min(len(into), int(o.left))
	n, err := o.from.Read(into[:most])
	o.left -= uint32(n)
	return n, err
}

// Close implements io.Closer.
func (o *output) Close() error {
	o.cancel(nil)
	return o.from.Close()
}

// named adds to an error what was done to which object; nil stays nil.
func named(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, name, err)
}

// Mount is a folder of a container.
type Mount struct {
	Type          string // bind, tmpfs, volume
	Source        string `json:",omitempty"`
	Target        string
	ReadOnly      bool
	VolumeOptions *VolumeOptions `json:",omitempty"`
	TmpfsOptions  *TmpfsOptions  `json:",omitempty"`
}

// VolumeOptions choose the driver of a volume.
type VolumeOptions struct{ DriverConfig VolumeDriver }

// VolumeDriver names the driver that keeps a volume, and its options.
type VolumeDriver struct {
	Name    string
	Options map[string]string
}

// TmpfsOptions bound the size of a file system in memory.
type TmpfsOptions struct{ SizeBytes int64 }

// FolderAt returns the mount of a volume whose content is in a folder of the daemon's host. If the folder is
// empty, Docker copies the files of the image at the target to it.
func FolderAt(target, folder string, readOnly bool) Mount {
	return Mount{Type: "volume", Target: target, ReadOnly: readOnly, VolumeOptions: &VolumeOptions{VolumeDriver{
		Name: "local", Options: map[string]string{"type": "none", "o": "bind", "device": folder}}}}
}

// MakeVolume makes a volume.
func (c *Client) MakeVolume(ctx context.Context, name string, labels map[string]string) error {
	made := struct {
		Name   string
		Labels map[string]string
	}{name, labels}
	return named("make the volume", name, c.call(ctx, http.MethodPost, "/volumes/create", nil, made, nil))
}

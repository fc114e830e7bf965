// Package docker deploys units as containers of this host's Docker daemon, in its
// network (docker-host) or in a bridge network of their own (docker-bridge). What runs
// in them is the same program as in processes: the unit program in an image that holds
// nothing else, or a program of this host with its /usr read-only. Units that name a
// program of the conductor's, such as the load generator, run as processes beside them.
//
// Units on nodes (docker-host) share the network of their node, which has an address of
// its own in a bridge network, as containers in the host network of several hosts do.
//
// Everything that it makes carries the label cleave.run; addresses lie in 198.18.0.0/16,
// a range for benchmarks that nobody routes (RFC 2544). What a killed conductor leaves
// behind, package leftovers finds by that label; units notice it themselves and end.
//
// Entry points: New, Deployer.Deploy.
package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// Network is how containers reach each other.
type Network string

// The networks.
const (
	Host   Network = "host"   // that of this host
	Bridge Network = "bridge" // a bridge of the trial's own
)

// Deployer starts units as containers. It must be closed after the last trial.
type Deployer struct {
	network   Network
	processes *process.Deployer // for units that are no containers
	programs  string            // folder of our unit programs, or the only one
	label     string

	preparing sync.Mutex
	engine    *engine.Client    // nil until the first trial
	images    map[string]string // their names, by the program of ours in it: see prepared
}

var (
	_ lab.Deployer = (*Deployer)(nil)
	_ lab.Harmer   = (*deployment)(nil)
)

// New returns a deployer of containers that run the unit programs in a folder; see
// process.New. What is no container goes to processes. label marks everything that is made.
func New(network Network, processes *process.Deployer, programs, label string) *Deployer {
	return &Deployer{network: network, processes: processes, programs: programs, label: label, images: map[string]string{}}
}

// labels mark what is made.
func (d *Deployer) labels() map[string]string {
	return map[string]string{leftovers.DockerLabel: d.label}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return "docker-" + string(d.network) }

// part splits a layout into what runs in containers, the servers apart, and the rest.
func part(layout lab.Layout) (servers, containers []lab.UnitSpec, rest lab.Layout) {
	rest = layout
	rest.Units, rest.Prepare = nil, nil
	for _, spec := range layout.Units {
		switch {
		case spec.Server != nil:
			servers = append(servers, spec)
		case spec.Program == "" || spec.Foreign:
			containers = append(containers, spec)
		default:
			rest.Units = append(rest.Units, spec)
		}
	}
	return servers, containers, rest
}

// What a container takes of this host, with the daemon's part and its shim; seen with 500
// of them (kernel 6.18, Docker 20.10): 10 MiB and 15 threads.
const (
	memoryPerContainer  = 16 << 20
	threadsPerContainer = 16
	// descriptorsPerContainer: control, output, and one for a call.
	descriptorsPerContainer = 3
)

// Preflight implements lab.Deployer.
func (d *Deployer) Preflight(layout lab.Layout) error {
	servers, containers, rest := part(layout)
	problems := []error{
		Missing(), d.processes.Preflight(rest), supervise.CheckLimits(slices.Concat(servers, containers)),
		checkHost(len(servers) + len(containers)),
	}
	placed := slices.Concat(servers, containers, layout.Prepare)
	if nodes := d.nodesOf(placed); len(nodes) > 0 {
		problems = append(problems, unreachable(layout.Services), checkCount(len(nodes)))
	}
	if d.network == Host {
		problems = append(problems, checkNodes(placed))
	}
	for _, spec := range slices.Concat(layout.Prepare, layout.Units) {
		if d.network == Bridge && spec.Node != "" {
			problems = append(problems, fmt.Errorf("unit %s names the node %s, and a bridge network has one: deploy with docker-host", spec.Name, spec.Node))
		}
		if spec.Compose != nil {
			problems = append(problems, fmt.Errorf("unit %s is a compose file: its deployment is compose", spec.Name))
			continue
		}
		if spec.Foreign && spec.Program != "" {
			_, err := programOf(spec)
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// checkHost refuses more containers than this host has room for.
func checkHost(containers int) error {
	return errors.Join(
		process.CheckMemory(containers, memoryPerContainer, 0),
		process.CheckNumbers(uint64(containers*threadsPerContainer)),
		process.CheckDescriptors(containers*descriptorsPerContainer),
	)
}

// unreachable refuses services that units outside the network of this host cannot reach.
func unreachable(services []lab.ServiceSpec) error {
	var problems []error
	for _, spec := range services {
		if spec.Loopback {
			problems = append(problems, fmt.Errorf("the backing service %s (%s) listens on this host's loopback, which units on a bridge network "+
				"or on nodes do not reach: deploy with docker-host and without nodes, or use an embedded one", spec.Name, spec.Kind))
		}
	}
	return errors.Join(problems...)
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (_ lab.Deployment, err error) {
	servers, containers, rest := part(layout)
	client, images, err := d.prepared(ctx, slices.Concat(servers, containers, layout.Prepare))
	if err != nil {
		return nil, err
	}
	running := &deployment{
		Supervisor: supervise.New(layout, filepath.Join(dir, supervise.HandedOverFolder)),
		deployer:   d, engine: client, images: images, lead: layout.Lead, dir: dir, endpoints: map[string]lab.Endpoint{}, containers: map[string]*container{},
	}
	running.watching, running.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, running.Stop())
		}
	}()
	if err := running.connect(ctx, slices.Concat(servers, containers, layout.Prepare)); err != nil {
		return nil, err
	}
	if err := running.makeMemory(layout.SharedMemory); err != nil {
		return nil, err
	}
	if err := running.startServers(ctx, servers); err != nil {
		return nil, err
	}
	for _, spec := range layout.Prepare {
		if err := running.prepare(ctx, spec, nil); err != nil {
			return nil, fmt.Errorf("prepare the trial: %w", err)
		}
	}
	first, others := supervise.First(containers)
	if err := running.startAll(ctx, first); err != nil {
		return nil, err
	}
	if err := running.awaitReady(ctx, first); err != nil {
		return nil, err
	}
	if err := running.startAll(ctx, others); err != nil {
		return nil, err
	}
	// The other deployer removes the folder with its end: it comes last.
	if running.processes, err = d.processes.Join(ctx, rest, dir, running.Supervisor, running.endpoints); err != nil {
		return nil, err
	}
	return running, nil
}

// deployment is a running layout.
type deployment struct {
	*supervise.Supervisor
	deployer  *Deployer
	lead      string
	dir       string
	engine    *engine.Client
	watching  context.Context // ends with Stop
	unwatch   context.CancelFunc
	images    map[string]string
	network   string // name of the trial's own, or ""
	nodes     map[string]*node
	memory    string // path of the file that is the units' memory, or ""
	ports     *launch.Ports
	endpoints map[string]lab.Endpoint // of units that listen
	control   map[string]string       // host:port at which a unit waits for its conductor

	processes  lab.Deployment // nil until they run
	mu         sync.Mutex
	containers map[string]*container // by unit
	prepared   []*container
	stopOnce   sync.Once
	stopErr    error
}

// startAll starts the containers side by side: the daemon takes most of a second for
// each.
func (d *deployment) startAll(ctx context.Context, specs []lab.UnitSpec) error {
	return sideBySide(ctx, specs, func(ctx context.Context, spec lab.UnitSpec) error {
		c := d.newContainer(spec)
		d.add(c)
		return c.start(ctx)
	})
}

// sideBySide does something with units or containers, a few at a time, until it fails
// with one: what the others say then is a consequence.
func sideBySide[T any](ctx context.Context, all []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, one := range all {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return do(ctx, one)
		})
	}
	return group.Wait()
}

// atOnce is how many containers are started, or removed, at the same time.
const atOnce = 8

func (d *deployment) add(c *container) {
	d.mu.Lock()
	d.containers[c.Spec.Name] = c
	d.mu.Unlock()
	d.Add(c.Unit)
}

func (d *deployment) addPrepared(c *container) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prepared = append(d.prepared, c)
}

func (d *deployment) named(name string) *container {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.containers[name]
}

// all are the containers of units as they are now, in the order of the layout.
func (d *deployment) all() []*container {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*container
	for _, u := range d.All() {
		if c := d.containers[u.Spec.Name]; c != nil {
			all = append(all, c)
		}
	}
	return all
}

// Units implements lab.Deployment.
func (d *deployment) Units() []lab.Unit {
	var units []lab.Unit
	for _, c := range d.all() {
		units = append(units, lab.Unit{Name: c.Spec.Name, Role: c.Spec.Role, PID: c.hostPID, Span: lab.SpanContainer})
	}
	return append(units, d.processes.Units()...)
}

// Endpoint implements lab.Deployment.
func (d *deployment) Endpoint(unit string) (lab.Endpoint, error) {
	if endpoint, ours := d.endpoints[unit]; ours {
		return endpoint, nil
	}
	return d.processes.Endpoint(unit)
}

// Logs implements lab.Deployment.
func (d *deployment) Logs() map[string]string {
	logs := map[string]string{}
	if d.processes != nil {
		maps.Copy(logs, d.processes.Logs())
	}
	for _, c := range slices.Concat(d.prepared, d.all()) {
		if text := c.Log.String(); text != "" {
			logs[c.Spec.Name] = text
		}
	}
	return logs
}

// Stop implements lab.Deployment.
func (d *deployment) Stop() error {
	d.stopOnce.Do(func() {
		defer d.unwatch()
		d.MayEnd()
		if gone := d.engine.Ping(d.watching); gone != nil {
			d.stopErr = d.abandon(unanswered(gone))
		} else {
			d.stopErr = errors.Join(d.removeAll(stuckPatience), d.removeNetwork())
		}
		d.ports.Close()
		if d.processes != nil {
			d.stopErr = errors.Join(d.stopErr, d.processes.Stop())
			return
		}
		d.stopErr = errors.Join(d.stopErr, os.RemoveAll(d.dir))
	})
	return d.stopErr
}

// stuckPatience is how long the daemon may take between two containers that it removes.
const stuckPatience = 2 * removePatience

// removeAll removes the containers. Some may be stuck; when none was removed for so
// long, all that are left seem to be.
func (d *deployment) removeAll(patience time.Duration) error {
	ctx, giveUp := context.WithCancelCause(d.watching)
	defer giveUp(nil)
	stuck := time.AfterFunc(patience, func() { giveUp(fmt.Errorf("none was removed for %v", patience)) })
	defer stuck.Stop()
	all := slices.Concat(d.prepared, d.all())
	var mu sync.Mutex
	var first error
	_ = sideBySide(ctx, all, func(ctx context.Context, c *container) error {
		err := c.remove(ctx)
		if err == nil {
			stuck.Reset(patience)
		}
		mu.Lock()
		defer mu.Unlock()
		first = cmp.Or(first, err)
		return nil // the others are removed all the same
	})
	left := slices.DeleteFunc(slices.Clone(all), func(c *container) bool { return c.name == "" || c.removed })
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d containers could not be removed (%w): type: cleave clean", len(left), len(all), first)
}

// abandonPatience is how long processes may take to end that nobody controls any more.
const abandonPatience = 10 * time.Second

// abandon ends what the containers run, which goes on without its daemon: nobody can
// remove the containers themselves now.
func (d *deployment) abandon(gone error) error {
	all := d.all()
	for _, c := range all {
		if connection, open := c.Commands.(io.Closer); open {
			_ = connection.Close() // a unit that has lost its conductor ends
		}
	}
	runs := func(c *container) bool { return c.hostPID > 0 && syscall.Kill(c.hostPID, 0) == nil }
	for deadline := time.Now().Add(abandonPatience); slices.ContainsFunc(all, runs) && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%d containers of this trial are left (%w); when the daemon runs again, remove them with: cleave clean", len(all), gone)
}

// makeMemory makes the memory that all units share, as a file of the trial's folder:
// containers inherit no descriptors.
func (d *deployment) makeMemory(size int64) error {
	if size == 0 {
		return nil
	}
	d.memory = filepath.Join(d.dir, "memory")
	file, err := os.OpenFile(d.memory, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make shared memory: %w", err)
	}
	return errors.Join(file.Truncate(size), file.Close())
}

// volume is the folder that a unit gets, at the same path inside and outside.
func (d *deployment) volume(spec lab.UnitSpec) string { return supervise.Volume(d.dir, spec) }

// environment is all that a unit gets.
func (d *deployment) environment(spec lab.UnitSpec) map[string]string {
	all := map[string]string{}
	if d.memory != "" {
		all[lab.MemoryVariable] = d.memory
	}
	for _, variable := range supervise.Environment(spec, d.deployer.label, d.dir, d.endpoints) {
		name, value, _ := strings.Cut(variable, "=")
		all[name] = value
	}
	return all
}

// writeEnvironment leaves the environment of a unit of ours, with what it needs to be
// reached, in a file of its own, and returns its path and the token.
func (d *deployment) writeEnvironment(spec lab.UnitSpec, reached bool) (path, token string, err error) {
	all := d.environment(spec)
	if reached {
		token = rand.Text()
		all[lab.ControlVariable], all[lab.TokenVariable] = d.control[spec.Name], token
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(d.volume(spec), spec.Name+".environment")
	return path, token, os.WriteFile(path, text, 0o600)
}

// Package docker deploys units as containers of this host's Docker daemon, in its
// network (docker-host) or in a bridge network of their own (docker-bridge). What runs
// in them is the same program as in processes: the unit program in an image that holds
// nothing else, or a program of this host with its /usr read-only. Units that name a
// program of the conductor's, such as the load generator, run as processes beside them.
//
// Units on nodes (docker-host) share the network of their node, like containers in the host network of
// a real host. The node has an address of its own in a bridge network.
//
// In a bridge network, peers that call a unit at a port of its node use a port of the bridge's
// own address, which is this host's. The daemon chooses how connections get from there to the
// container: for callers on the bridge through its docker-proxy, or by the kernel without one.
//
// Everything that it makes carries the label cleave.run; addresses lie in 198.18.0.0/16, a
// range for benchmarks that is not routed (RFC 2544). Package leftovers finds the objects of a
// killed conductor by that label; units notice its end and end, too.
//
// Entry points: New, Deployer.Deploy.
package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
)

// Network is the network in which containers reach each other.
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
	programs  string            // folder of our unit programs, or the path of the only one
	label     string

	preparing sync.Mutex
	engine    *engine.Client // nil until the first trial
	images    *containers.Images
	made      fleet.Made
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer of containers that run the unit programs in a folder; see
// process.New. processes runs units that are not containers. label marks everything that is
// made.
func New(network Network, processes *process.Deployer, programs, label string) *Deployer {
	d := &Deployer{network: network, processes: processes, programs: programs, label: label}
	d.images = &containers.Images{Programs: programs, Load: d.load, Made: &d.made}
	return d
}

// labels returns the labels of everything that is made.
func (d *Deployer) labels() map[string]string {
	return map[string]string{leftovers.DockerLabel: d.label}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return "docker-" + string(d.network) }

// Can implements lab.Deployer. A container can be cut off only from a network of the trial's own.
func (d *Deployer) Can() lab.Capabilities {
	faults := []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultSlow, lab.FaultFill}
	if d.network == Bridge {
		faults = append(faults, lab.FaultCut)
	}
	return lab.Capabilities{Faults: faults, Spans: true}
}

// The resources of this host for a container, with the daemon's part and its shim. Measured
// with 500 containers (kernel 6.18, Docker 20.10): 10 MiB and 15 threads.
const (
	memoryPerContainer      = 16 << 20
	threadsPerContainer     = 16
	descriptorsPerContainer = 3 // of the conductor: control, output, and one for a call
)

// Preflight implements lab.Deployer.
func (d *Deployer) Preflight(ctx context.Context, layout lab.Layout) error {
	servers, contained, rest := containers.Split(layout)
	running := slices.Concat(servers, contained)
	noDocker := missing(ctx)
	problems := []error{
		noDocker, d.processes.Preflight(ctx, rest), containers.CheckBeside(rest), fleet.CheckLimits(running),
		volume.CheckFaults(running), checkHost(len(running)), d.checkPorts(contained),
		containers.CheckPrograms(d.programs, images.Without(layout)),
	}
	if noDocker == nil { // without a daemon all images would be missing, too
		problems = append(problems, images.Check(ctx, contained))
	}
	all := slices.Concat(running, layout.Prepare)
	if nodes := d.nodesOf(all); len(nodes) > 0 {
		problems = append(problems, containers.CheckServices(layout.Services, "docker-host and without nodes"),
			checkCount(len(nodes)))
	}
	if d.network == Host {
		problems = append(problems, checkNodes(all), fleet.CheckUnpublished(all), containers.CheckPorts(contained))
	} else {
		problems = append(problems, hosts.MissingForPorts(contained))
	}
	for _, spec := range slices.Concat(layout.Prepare, layout.Units) {
		if d.network == Bridge && spec.Node != "" {
			problems = append(problems, fmt.Errorf("unit %s names the node %s, and a bridge network has one: deploy "+
				"with docker-host", spec.Name, spec.Node))
		}
	}
	return errors.Join(problems...)
}

// checkHost refuses more containers than this host has room for.
func checkHost(count int) error {
	return errors.Join(
		process.CheckMemory(count, memoryPerContainer, 0),
		process.CheckNumbers(uint64(count*threadsPerContainer)),
		process.CheckDescriptors(count*descriptorsPerContainer),
	)
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	parts := containers.Parts(layout, false)
	client, err := d.prepared(ctx, parts.OnPlatform())
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	running := &deployment{deployer: d, engine: client, dir: dir}
	running.Fleet = fleet.New(ctx, fleet.NewSupervisor(layout, fleet.HandedOver(dir)), dir,
		running.platform(layout))
	open := func() error { return running.open(ctx, parts, layout.SharedMemory) }
	if err := running.Launch(ctx, parts, open, d.processes, running.Endpoints); err != nil {
		return nil, err
	}
	return running, nil
}

// open makes what units need before they start.
func (d *deployment) open(ctx context.Context, parts fleet.Parts, sharedMemory int64) (err error) {
	if err := d.connect(ctx, parts.OnPlatform()); err != nil {
		return err
	}
	if err := d.makeVolumes(ctx, parts.Units); err != nil {
		return err
	}
	// Links of nodes cannot be changed here, and containers see the folders of this host.
	if err := d.Furnish(ctx, parts.Units, d.host, nil, nil); err != nil {
		return err
	}
	d.memory, err = containers.MakeMemory(d.dir, sharedMemory)
	return err
}

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*container]
	deployer  *Deployer
	dir       string
	engine    *engine.Client
	network   string // name of the trial's own, or ""
	host      string // address at which containers reach this host
	publishes bool   // peers call some unit at a port of this host
	nodes     map[string]*node
	volumes   map[string]bool // names, at the daemon, of the trial's named volumes
	memory    string          // path of the file with the units' shared memory, or ""
	ports     *launch.Ports
	control   map[string]string // host:port at which a unit waits for its conductor
}

// platform returns the platform of the trial's fleet.
func (d *deployment) platform(layout lab.Layout) fleet.Platform[*container] {
	return fleet.Platform[*container]{
		Name: d.deployer.Name(), Faults: d.deployer.Can().Faults, SharesMemory: layout.SharedMemory > 0,
		AtOnce: atOnce, Span: lab.SpanContainer, New: d.newContainer, Reach: d.reach,
		Discard: func(ctx context.Context, c *container) error { return c.remove(ctx) },
		Next:    d.next, Cut: d.cut, Clear: d.clear,
		Gone: func(ctx context.Context, c *container) error { return c.Gone(ctx) },
		Made: &d.deployer.made, Images: images.Sizes, Daemons: containers.Daemons,
	}
}

// atOnce is the number of containers that are started, or removed, at the same time: the daemon takes
// most of a second for each.
const atOnce = 8

// reach returns the address of a unit without its relay, which would accept connections before the unit does.
func (d *deployment) reach(unit string) string { return d.Endpoints[unit].Bind }

// clear removes the containers, their network and their volumes. If the daemon has ended, it ends the units.
func (d *deployment) clear() error {
	defer d.ports.Close()
	if gone := d.engine.Ping(d.Watching); gone != nil {
		return d.abandon(unanswered(gone))
	}
	return errors.Join(d.removeAll(stuckPatience), d.removeNetwork(), d.removeVolumes())
}

// stuckPatience bounds the time between the removals of two containers.
const stuckPatience = 2 * removePatience

// removeAll removes the containers. It gives up when none was removed for the time of
// patience: the daemon cannot remove the ones that are left.
func (d *deployment) removeAll(patience time.Duration) error {
	ctx, giveUp := context.WithCancelCause(d.Watching)
	defer giveUp(nil)
	stuck := time.AfterFunc(patience, func() { giveUp(fmt.Errorf("none was removed for %v", patience)) })
	defer stuck.Stop()
	all := d.Everything()
	err := fleet.ForAll(ctx, atOnce, all, func(ctx context.Context, c *container) error {
		err := c.remove(ctx)
		if err == nil {
			stuck.Reset(patience)
		}
		return err
	})
	left := slices.DeleteFunc(slices.Clone(all),
		func(c *container) bool { return c.Container == "" || c.removed })
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d containers could not be removed (%w): type: cleave clean", len(left), len(all),
		err)
}

// abandonPatience bounds how long units may take to end after their control connection is
// closed.
const abandonPatience = 10 * time.Second

// abandon ends the units, whose processes outlive the daemon, and returns an error with
// the reason: their containers cannot be removed now.
func (d *deployment) abandon(gone error) error {
	all := d.All()
	for _, c := range all {
		c.HangUp() // a unit that has lost its conductor ends
	}
	isRunning := func(c *container) bool { return exists(c.HostPID()) }
	for deadline := time.Now().Add(abandonPatience); slices.ContainsFunc(all, isRunning) &&
		time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%d containers of this trial are left (%w); when the daemon runs again, remove them "+
		"with: cleave clean", len(all), gone)
}

// exists reports whether this host has a process, also if this user may not signal to it.
func exists(pid int) bool { return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// trial returns the description of the trial for its containers.
func (d *deployment) trial() containers.Trial {
	return containers.Trial{Label: d.deployer.label, Dir: d.dir, Memory: d.memory, Endpoints: d.Endpoints}
}

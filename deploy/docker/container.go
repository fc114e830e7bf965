package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// upPatience bounds how long a container may take until its unit can be reached; the daemon takes most of it.
const upPatience = 60 * time.Second

// container is one life of a unit.
type container struct {
	*fleet.Unit
	engine.Life
	deployment *deployment
	started    bool          // the daemon has started it
	followed   chan struct{} // closed when all of its output was read
	removed    bool
}

// newContainer returns a life of a unit, whose container does not exist yet.
func (d *deployment) newContainer(spec lab.UnitSpec) *container {
	c := &container{Unit: fleet.NewUnit(spec), Life: engine.Life{Engine: d.engine, Called: "the container"},
		deployment: d, followed: make(chan struct{})}
	c.Healthy = c.awaitHealthy
	return c
}

// next returns the next life of a unit, with the address, environment and volume of the ended one. A
// described unit keeps its container; that of any other unit is removed.
func (d *deployment) next(ctx context.Context, ended *container, _ bool) (*container, error) {
	c := d.newContainer(ended.Spec)
	if ended.Spec.Container != nil {
		c.Container = ended.Container // with all files that it has written
		return c, nil
	}
	return c, ended.remove(ctx)
}

// name returns a name for an object of the trial, such as a unit's container. No other trial uses it.
func (d *deployment) name(of string) string {
	return "cleave-" + d.deployer.label + "-" + strings.ToLower(filepath.Base(d.dir)) + "-" + of
}

// Start implements fleet.Instance.
func (c *container) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil && !c.started {
			close(c.Ended)
		}
	}()
	d := c.deployment
	err = containers.MakeVolume(d.dir, c.Spec, d.Endpoints)
	if err == nil && d.deployer.network == Host {
		err = process.CheckBinds(c.Spec)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("not up after %v", upPatience))
	defer cancel()
	token, err := c.run(ctx)
	if err != nil {
		return fmt.Errorf("start unit %s: %w", c.Spec.Name, err)
	}
	return d.Connect(c.Unit, func() (net.Conn, error) {
		return fleet.Dial(ctx, c.followed, d.control[c.Spec.Name], token)
	}, c.await)
}

// run makes the container, unless it exists, starts it, and finds its process. It returns the token by which
// the unit authenticates the conductor.
func (c *container) run(ctx context.Context) (token string, err error) {
	d := c.deployment
	made, token, err := c.description()
	if err != nil {
		return "", err
	}
	if c.Container == "" {
		c.Container = d.name(c.Spec.Name)
		if err := withGrace(ctx, func(ctx context.Context) error {
			return d.engine.Create(ctx, c.Container, made)
		}); err != nil {
			return "", err
		}
	}
	output, err := d.engine.Attach(d.Watching, c.Container, made.Tty)
	if err != nil {
		return "", err
	}
	go func() {
		defer close(c.followed)
		_, _ = io.Copy(c.Log, output) // until the container ends, or the daemon
		_ = output.Close()
		if gone := d.engine.Ping(d.Watching); gone != nil && d.Watching.Err() == nil {
			d.Fail(fmt.Errorf("the Docker daemon has ended: %w", unanswered(gone)))
		}
	}()
	err = withGrace(ctx, func(ctx context.Context) error { return d.engine.Start(ctx, c.Container) })
	if err != nil {
		return "", err
	}
	c.started = true
	state, err := d.engine.State(ctx, c.Container)
	c.SetHostPID(state.Pid)
	if err == nil {
		err = hosts.MapPorts(ctx, state.Pid, c.Spec.Container)
	}
	return token, err
}

// withGrace calls do, in which the daemon makes or starts an object. When ctx ends, do still has
// makePatience to finish: an interrupted call could leave an object that is never removed.
func withGrace(ctx context.Context, do func(context.Context) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	longer, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	late := func() { giveUp(fmt.Errorf("no answer for %v: %w", makePatience, context.Cause(ctx))) }
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(makePatience, late) })
	defer stop()
	return do(longer)
}

// makePatience bounds how long the daemon may take to finish a call after the end of its context.
const makePatience = 5 * time.Second

// description returns the description of the container, which everybody who may ask the daemon can read. It
// holds no secrets of our units, but the whole environment of a foreign one. token is the one by which the
// unit authenticates the conductor.
func (c *container) description() (made engine.Container, token string, err error) {
	d, spec := c.deployment, c.Spec
	processors, err := launch.Processors(spec.Cores)
	if err != nil {
		return made, "", err
	}
	control := d.control[spec.Name]
	if c.Prepares {
		control = ""
	}
	wanted, err := d.trial().Describe(spec, control)
	if err != nil {
		return made, "", err
	}
	made = engine.Container{
		Image: cmp.Or(spec.Image, d.deployer.images.Of(spec)), Labels: d.deployer.labels(),
		Entrypoint: wanted.Entrypoint, Cmd: wanted.Command, Env: wanted.Env, WorkingDir: wanted.Dir,
		User: wanted.User, Hostname: wanted.Hostname, Tty: wanted.Terminal, StopSignal: wanted.StopSignal,
		Healthcheck: engine.HealthcheckOf(wanted.Health),
		HostConfig: engine.HostConfig{
			CpusetCpus: launch.List(processors), LogConfig: engine.LogConfig{Type: "none"},
			ReadonlyRootfs: wanted.ReadOnly, Privileged: wanted.Privileged, Init: wanted.Init,
			ShmSize: wanted.ShmSize, CapAdd: wanted.CapAdd, CapDrop: wanted.CapDrop,
			SecurityOpt: wanted.SecurityOpt, Sysctls: wanted.Sysctls, ExtraHosts: wanted.Hosts,
		},
	}
	host := &made.HostConfig
	if wanted.HostPID {
		host.PidMode = "host"
	}
	for _, u := range wanted.Ulimits {
		host.Ulimits = append(host.Ulimits, engine.Ulimit(u))
	}
	for _, m := range wanted.Mounts {
		d.mount(host, m)
	}
	d.place(&made, spec)
	d.publish(&made, spec)
	host.NanoCpus = int64(math.Round(spec.Limits.CPU * 1e9))
	host.Memory = spec.Limits.Memory
	host.MemorySwap = spec.Limits.Memory // so that nothing is swapped out
	return made, wanted.Token, nil
}

// mount adds a mount to a container.
func (d *deployment) mount(host *engine.HostConfig, m lab.ContainerMount) {
	from := m.Source
	switch {
	case m.Kind == lab.MountMemory:
		if host.Tmpfs == nil {
			host.Tmpfs = map[string]string{}
		}
		host.Tmpfs[m.Target] = m.Options
		return
	case m.Kind == lab.MountVolume && from == "":
		host.Mounts = append(host.Mounts, engine.Mount{Type: "volume", Target: m.Target, ReadOnly: m.ReadOnly})
		return
	case m.Kind == lab.MountVolume:
		from = d.volumeName(from)
	}
	bind := from + ":" + m.Target
	if m.ReadOnly {
		bind += ":ro"
	}
	host.Binds = append(host.Binds, bind)
}

// await waits for the end of the container, and fails the trial if it is unexpected.
func (c *container) await() {
	defer close(c.Ended)
	d := c.deployment
	<-c.followed
	// Wait fails if the daemon has ended, or the container was removed.
	code, outOfMemory, err := d.engine.Wait(d.Watching, c.Container, func() bool { return d.IsDoomed(c.Unit) })
	d.JudgeEnd(c.Unit, fleet.HowEnded(c.Spec, code, outOfMemory, err))
}

// cut disconnects a container from the trial's network if off is true, or connects it again at the same
// address.
func (d *deployment) cut(ctx context.Context, c *container, off bool) error {
	if off {
		return d.engine.Disconnect(ctx, d.network, c.Container)
	}
	at := engine.EndpointAt(d.addressOf(c.Spec), containers.Aliases(c.Spec)...)
	return d.engine.Connect(ctx, d.network, c.Container, at)
}

// remove ends the container in any state, and removes it.
func (c *container) remove(ctx context.Context) error {
	if c.Container == "" || c.removed {
		return nil
	}
	_ = c.deployment.Doom(c.Unit) // it may have ended
	ctx, cancel := context.WithTimeoutCause(ctx, removePatience,
		fmt.Errorf("not removed after %v", removePatience))
	defer cancel()
	if c.Spec.IsUsersProgram() { // give it time to clean up
		_ = c.End(ctx)
	}
	err := c.deployment.engine.Remove(ctx, "container", c.Container)
	c.removed = err == nil
	return err
}

// removePatience bounds the removal of a container: its grace, and the daemon's time.
const removePatience = engine.StopGrace + 15*time.Second

// volumeName returns the name, at the daemon, of a volume of the trial.
func (d *deployment) volumeName(of string) string { return d.name("volume-" + of) }

// makeVolumes makes the named volumes of the trial's containers.
func (d *deployment) makeVolumes(ctx context.Context, units []lab.UnitSpec) error {
	d.volumes = map[string]bool{}
	for _, spec := range units {
		if spec.Container == nil {
			continue
		}
		for _, m := range spec.Container.Mounts {
			name := d.volumeName(m.Source)
			isNamed := m.Kind == lab.MountVolume && m.Source != ""
			if !isNamed || d.volumes[name] {
				continue
			}
			d.volumes[name] = true
			if err := withGrace(ctx, func(ctx context.Context) error {
				return d.engine.MakeVolume(ctx, name, d.deployer.labels())
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeVolumes removes the named volumes. No container must be left.
func (d *deployment) removeVolumes() error {
	var problems []error
	for name := range d.volumes {
		problems = append(problems, d.engine.Remove(d.Watching, "volume", name))
	}
	return errors.Join(problems...)
}

// awaitHealthy waits until the health check of the container says that it is healthy.
func (c *container) awaitHealthy(ctx context.Context) error {
	d := c.deployment
	if check := c.Spec.Container.Health; check != nil && check.Port != 0 {
		address := net.JoinHostPort(d.addressOf(c.Spec), strconv.Itoa(check.Port))
		return fleet.AwaitVisit(ctx, c.Unit, address, fleet.PortVisit(check))
	}
	if err := d.engine.AwaitHealthy(ctx, c.Container, c.Ended); err != nil {
		return fmt.Errorf("%v %w%s", c, err, c.Log.LastWords())
	}
	return nil
}

package compose

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// container is one life of a container of a service.
type container struct {
	*fleet.Unit
	engine.Life
	deployment *deployment
	image      string          // its name
	terminal   bool            // its output is a terminal
	network    string          // the ID of the container whose network it is in, or hostNetwork
	listened   map[string]bool // ports that were open before Kill; set by Kill, copied to the next life
	followed   chan struct{}   // closed when all of its output was read
}

// newContainer returns the present life of a container that the compose command has started.
func (d *deployment) newContainer(spec lab.UnitSpec, id string, seen engine.Inspection) *container {
	c := &container{
		Unit: fleet.NewUnit(spec), Life: engine.Life{Engine: d.engine, Container: id, Called: "the container"},
		deployment: d, image: seen.Config.Image, terminal: seen.Config.Tty,
		network: networkOf(id, seen.HostConfig.NetworkMode), followed: make(chan struct{}),
	}
	c.SetHostPID(seen.State.Pid)
	return c
}

// follow copies the output of the container to the unit's log until the output ends.
func (c *container) follow(output io.ReadCloser) {
	defer close(c.followed)
	_, _ = io.Copy(c.Log, output) // the output ends with the container, or with the daemon
	_ = output.Close()
}

// outputPatience bounds the wait for the output of a container after its end. If Docker restarts the
// container, as its compose file may demand, the output does not end.
const outputPatience = time.Second

// await waits for the end of the container and judges that end.
func (c *container) await() {
	defer close(c.Ended)
	d := c.deployment
	code, outOfMemory, err := d.engine.Wait(d.Watching, c.Container, func() bool { return d.IsDoomed(c.Unit) })
	select {
	case <-c.followed:
	case <-time.After(outputPatience):
	}
	switch {
	case d.Watching.Err() != nil: // the deployment has ended
	case err != nil: // the daemon has ended, or the container was removed
		d.JudgeForeign(c.Unit, "cannot be watched any more: "+err.Error())
	case code == 0:
		d.JudgeFinished(c.Unit)
	case outOfMemory:
		d.JudgeForeign(c.Unit, "ended: it needed more memory than its compose file allows: raise that")
	default:
		d.JudgeForeign(c.Unit, fmt.Sprintf("ended: exit status %d", code))
	}
}

// Kill implements fleet.Instance.
func (c *container) Kill(ctx context.Context) (proof string, err error) {
	ports := listening(c.HostPID())
	if proof, err = c.Life.Kill(ctx); err == nil {
		err = c.AwaitEnd(ctx)
	}
	c.listened = c.withoutOthers(ports)
	return proof, err
}

// next returns the next life of a container, and implements fleet.Platform.Next. The container keeps its
// volumes, files and name, but Docker may give it another address.
func (d *deployment) next(_ context.Context, ended *container, _ bool) (*container, error) {
	next := *ended
	next.Unit = fleet.NewUnit(ended.Spec)
	next.followed = make(chan struct{})
	return &next, nil
}

// Start implements fleet.Instance. The compose command starts the first life, so this is a further one.
func (c *container) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil { // also if the container runs: clear removes the container, then waits for Ended
			close(c.Ended)
		}
	}()
	e := c.deployment.engine
	output, err := e.Attach(c.deployment.Watching, c.Container, c.terminal)
	if err != nil {
		return err
	}
	if err := e.Start(ctx, c.Container); err != nil {
		_ = output.Close() // nothing was written
		return err
	}
	seen, err := e.Inspect(ctx, c.Container)
	if err != nil {
		_ = output.Close() // the container is removed with the others
		return err
	}
	c.SetHostPID(seen.State.Pid)
	go c.follow(output)
	go c.await()
	return nil
}

// nameServer is the prefix of addresses of Docker's own name server, 127.0.0.11, which listens in the
// network of each container, at another port in each of its lives.
const nameServer = "0B00007F:"

// listening returns the TCP ports that accept connections in the network of a process, in hexadecimal as the
// kernel writes them; none if this host has no such process.
func listening(pid int) map[string]bool {
	ports := map[string]bool{}
	for _, columns := range append(process.Listeners(pid, "tcp"), process.Listeners(pid, "tcp6")...) {
		if address := columns[1]; !strings.HasPrefix(address, nameServer) { // the local address (proc(5))
			_, port, _ := strings.Cut(address, ":")
			ports[port] = true
		}
	}
	return ports
}

// hostNetwork is the mode of a container that is in the network of this host.
const hostNetwork = "host"

// networkOf returns what container.network holds, for a container and the mode of its network.
func networkOf(id, mode string) string {
	if mode == hostNetwork {
		return mode
	}
	if owner, isShared := strings.CutPrefix(mode, "container:"); isShared { // network_mode: service:NAME
		return owner
	}
	return id
}

// withoutOthers removes ports that are still open from ports, which were open in the container's network
// before its end: they belong to other programs of this host, or to services that share the network.
func (c *container) withoutOthers(ports map[string]bool) map[string]bool {
	var others []int
	if c.network == hostNetwork {
		others = append(others, os.Getpid())
	}
	for _, other := range c.deployment.All() {
		if other.network == c.network && other.Container != c.Container {
			others = append(others, other.HostPID())
		}
	}
	for _, pid := range others {
		for port := range listening(pid) {
			delete(ports, port)
		}
	}
	return ports
}

const (
	// listenPatience bounds how long a container takes until it listens again.
	listenPatience = 60 * time.Second
	// lookAgain is the longest pause between two looks at the container's ports.
	lookAgain = 5 * time.Millisecond
)

// awaitListening waits until the container listens at all ports at which its former life listened. It
// reads them from the kernel: connections of its own would put load on the service.
func (c *container) awaitListening(ctx context.Context) error {
	return c.PollListening(ctx, listenPatience, lookAgain, func(context.Context) bool {
		now := listening(c.HostPID())
		for port := range c.listened {
			if !now[port] {
				return false
			}
		}
		return true
	})
}

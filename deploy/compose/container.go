package compose

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// container is one life of a container of a service.
type container struct {
	*fleet.Unit
	engine.Life
	deployment *deployment
	image      string          // its name
	terminal   bool            // it writes to one
	network    string          // the mode of its network
	listened   map[string]bool // the ports at which it did when it was killed in its former life
	followed   chan struct{}   // closed when all that it wrote was read
}

func (d *deployment) newContainer(spec lab.UnitSpec, id string, seen engine.Inspection) *container {
	c := &container{
		Unit: fleet.NewUnit(spec), Life: engine.Life{Engine: d.engine, Container: id, Called: "the container"},
		deployment: d, image: seen.Config.Image, terminal: seen.Config.Tty,
		network: seen.HostConfig.NetworkMode, followed: make(chan struct{}),
	}
	c.SetHostPID(seen.State.Pid)
	return c
}

// hear takes in what the container writes to its end.
func (c *container) hear(said io.ReadCloser) {
	defer close(c.followed)
	_, _ = io.Copy(c.Log, said) // it ends with the container, or with the daemon
	_ = said.Close()
}

// wordsPatience is how long the last words of a container may take that has ended. One that
// Docker starts again, as its compose file says, goes on writing.
const wordsPatience = time.Second

// await waits for the end of the container and judges it. One that ends well may have been
// there to prepare something.
func (c *container) await() {
	defer close(c.Ended)
	d := c.deployment
	code, outOfMemory, err := d.engine.Wait(d.Watching, c.Container, func() bool { return d.IsDoomed(c.Unit) })
	select {
	case <-c.followed:
	case <-time.After(wordsPatience):
	}
	switch {
	case d.Watching.Err() != nil: // the deployment has ended
	case err != nil: // the daemon has ended, or somebody has removed the container
		d.JudgeForeign(c.Unit, "cannot be watched any more: "+err.Error())
	case code == 0:
	case outOfMemory:
		d.JudgeForeign(c.Unit, "ended: it needed more memory than the limit of its compose file")
	default:
		d.JudgeForeign(c.Unit, fmt.Sprintf("ended: exit status %d", code))
	}
}

// Kill implements fleet.Instance.
func (c *container) Kill(ctx context.Context) (proof string, err error) {
	ports := listening(c.HostPID())
	if err := c.Engine.Kill(ctx, c.Container); err != nil {
		return "", err
	}
	if err := c.AwaitEnd(ctx); err != nil {
		return "", err
	}
	c.listened = c.own(ports)
	return "the container has ended", nil
}

// next returns the next life of a container: it is what it was, with its volumes, files and name; its address
// in a network of Docker's may be another.
func (d *deployment) next(_ context.Context, ended *container, _ bool) (*container, error) {
	next := *ended
	next.Unit, next.followed = fleet.NewUnit(ended.Spec), make(chan struct{})
	return &next, nil
}

// Start implements fleet.Instance. The first life of a container its compose file starts.
func (c *container) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			close(c.Ended)
		}
	}()
	e := c.deployment.engine
	said, err := e.Attach(c.deployment.Watching, c.Container, c.terminal)
	if err != nil {
		return err
	}
	if err := e.Start(ctx, c.Container); err != nil {
		_ = said.Close() // nothing is said
		return err
	}
	seen, err := e.Inspect(ctx, c.Container)
	if err != nil {
		_ = said.Close() // it is removed with the others
		return err
	}
	c.SetHostPID(seen.State.Pid)
	go c.hear(said)
	go c.await()
	return nil
}

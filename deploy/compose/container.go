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
	deployment *deployment
	id         string
	terminal   bool            // it writes to one
	network    string          // the mode of its network
	hostPID    int             // of its first process, as this host numbers it; 0: it has ended
	listened   map[string]bool // the ports at which it did when it was killed
	followed   chan struct{}   // closed when all that it wrote was read
}

func (d *deployment) newContainer(spec lab.UnitSpec, id string, seen engine.Seen) *container {
	return &container{
		Unit: fleet.NewUnit(spec), deployment: d, id: id, terminal: seen.Config.Tty,
		network: seen.HostConfig.NetworkMode,
		hostPID: seen.State.Pid, followed: make(chan struct{}),
	}
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
	code, outOfMemory, err := d.engine.Wait(d.watching, c.id)
	select {
	case <-c.followed:
	case <-time.After(wordsPatience):
	}
	switch {
	case d.watching.Err() != nil: // the deployment has ended
	case err != nil: // the daemon has ended, or somebody has removed the container
		d.JudgeForeign(c.Unit, "cannot be watched any more: "+err.Error())
	case code == 0:
	case outOfMemory:
		d.JudgeForeign(c.Unit, "ended: it needed more memory than the limit of its compose file")
	default:
		d.JudgeForeign(c.Unit, fmt.Sprintf("ended: exit status %d", code))
	}
}

func (c *container) kill(ctx context.Context) (proof string, err error) {
	d, ports := c.deployment, listening(c.hostPID)
	kill := func(ctx context.Context) error { return d.engine.Kill(ctx, c.id) }
	if err := d.Kill(ctx, c.Unit, kill); err != nil {
		return "", err
	}
	state, err := d.engine.Inspect(ctx, c.id)
	if err == nil && state.Pid != 0 {
		err = fmt.Errorf("the container is %q and has process %d", state.Status, state.Pid)
	}
	c.listened = c.own(ports)
	return "the container has ended", err
}

// startAgain starts the container that was killed: it is what it was, with its volumes, files
// and name; its address in a network of Docker's may be another.
func (d *deployment) startAgain(ctx context.Context, old *container) error {
	if !d.IsDoomed(old.Unit) {
		return fmt.Errorf("service %q was not killed, so it is not started again", old.Spec.Name)
	}
	said, err := d.engine.Attach(d.watching, old.id, old.terminal)
	if err != nil {
		return err
	}
	if err := d.engine.Start(ctx, old.id); err != nil {
		_ = said.Close() // nothing is said
		return err
	}
	seen, err := d.engine.Look(ctx, old.id)
	if err != nil {
		return err
	}
	c := d.newContainer(old.Spec, old.id, seen)
	c.WriteTo(old.Log)
	d.Add(c)
	go c.hear(said)
	go c.await()
	return c.awaitListening(ctx, old.listened)
}

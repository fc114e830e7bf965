package swarm

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
)

// ownLife is the life of a service on a private swarm: that of a container of which its node's daemon tells.
type ownLife struct {
	engine.Life // once it has a container
	trial       *ownTrial
	service     *service
	node        *private.Node
	followed    chan struct{}
}

func (t *ownTrial) newSiteLife(s *service) siteLife {
	life := &ownLife{trial: t, service: s, followed: make(chan struct{})}
	s.Healthy = life.awaitHealthy
	return life
}

// life returns what is known of a service of a private swarm.
func (t *ownTrial) life(s *service) *ownLife { return s.siteLife.(*ownLife) }

// upPatience is how long a service may take until its unit can be reached.
const upPatience = time.Minute

func (l *ownLife) prepare(context.Context, *containers.Container) ([]engine.SecretFile, error) {
	return nil, nil
}

// take takes the container of a task that runs, or has run. To the swarm one with a health check is starting
// until it is healthy.
func (l *ownLife) take(ctx context.Context, task engine.Task) bool {
	n := l.trial.cluster.WithID(task.NodeID)
	if n == nil {
		return false
	}
	l.node = n
	l.Life = engine.Life{Engine: n.Engine, Container: task.Status.ContainerStatus.ContainerID,
		Called: "its container on " + n.Name}
	if task.Status.State == "starting" {
		state, err := l.Engine.State(ctx, l.Container)
		return err == nil && (state.Pid != 0 || state.Status == "exited")
	}
	return task.Status.State == "running" || over(task)
}

// taken finds the process of the container, and what it writes.
func (l *ownLife) taken(ctx context.Context) error {
	d, s := l.trial.deployment, l.service
	l.trial.recordNode(s.Spec, l.node)
	kills := l.node.Kills()
	said, err := l.Engine.Follow(d.Watching, l.Container, s.made.TaskTemplate.ContainerSpec.TTY)
	if err != nil {
		return err
	}
	go func() {
		defer close(l.followed)
		_, _ = io.Copy(s.Log, said) // it ends with the container, or with the daemon
		_ = said.Close()
		if gone := l.Engine.Ping(d.Watching); gone != nil && d.Watching.Err() == nil &&
			l.node.Kills() == kills {
			d.Fail(fmt.Errorf("the Docker daemon of %s has ended: %w", l.node.Name, gone))
		}
	}()
	pid := l.node.HostPID(l.Container)
	s.SetHostPID(pid)
	if err := hosts.MapPorts(ctx, pid, s.Spec.Container); err != nil {
		return err
	}
	return l.bind(ctx)
}

// bind keeps the unit on its processors, on which it has begun (containers.Trial.Binds), and proves it.
// Swarm cannot be told them.
func (l *ownLife) bind(ctx context.Context) error {
	cores := l.service.Spec.Cores
	processors, err := launch.Processors(cores)
	if err != nil || len(processors) == 0 {
		return err
	}
	if err := l.Engine.Bind(ctx, l.Container, launch.List(processors)); err != nil {
		return err
	}
	return launch.AwaitBound(ctx, l.service.HostPID(), cores)
}

func (l *ownLife) dial(ctx context.Context) (net.Conn, error) {
	control := strconv.Itoa(l.trial.ports[l.service.Spec.Name][0])
	return fleet.Dial(ctx, l.followed, net.JoinHostPort(l.node.Address, control), l.service.token)
}

func (l *ownLife) connected(context.Context) {}

// awaitEnd waits for the end of the container.
func (l *ownLife) awaitEnd() (how error, ended bool) {
	d, s := l.trial.deployment, l.service
	<-l.followed
	// An error: the daemon has ended, or somebody has removed it.
	code, outOfMemory, err := l.Engine.Wait(d.Watching, l.Container, func() bool { return d.IsDoomed(s.Unit) })
	return fleet.HowEnded(s.Spec, code, outOfMemory, err), true
}

// startAgain has the swarm run the service again: perhaps on another node, to which callers of
// the first are led.
func (l *ownLife) startAgain(ctx context.Context) error {
	if err := l.service.start(ctx); err != nil {
		return err
	}
	return l.trial.redirect(ctx, l.service)
}

// removed removes the container at once.
func (l *ownLife) removed(ctx context.Context) error {
	if l.Container == "" {
		return nil
	}
	return l.Engine.Remove(ctx, l.Container)
}

// awaitHealthy waits until the health check of the container says that it is healthy.
func (l *ownLife) awaitHealthy(ctx context.Context) error {
	s := l.service
	if check := s.Spec.Container.Health; check != nil && check.Port != 0 {
		return fleet.AwaitVisit(ctx, s.Unit, l.trial.dialOf(s.Spec.Name), fleet.PortVisit(check))
	}
	if err := l.Engine.AwaitHealthy(ctx, l.Container, s.Ended); err != nil {
		return fmt.Errorf("%v %w%s", s, err, s.Log.LastWords())
	}
	return nil
}

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

// privateLife is one life of a service on a private swarm. The daemon of its node controls its container.
type privateLife struct {
	engine.Life // set by adopt
	trial       *privateTrial
	service     *service
	node        *private.Node // set by adopt
	followed    chan struct{} // closed at the end of the container's log
}

// newSiteLife implements siteTrial.
func (t *privateTrial) newSiteLife(s *service) siteLife {
	life := &privateLife{trial: t, service: s, followed: make(chan struct{})}
	s.Healthy = life.awaitHealthy
	return life
}

// life returns the life of a service on a private swarm.
func (t *privateTrial) life(s *service) *privateLife { return s.siteLife.(*privateLife) }

// upPatience limits how long a service may take until its unit can be reached.
const upPatience = time.Minute

// prepare implements siteLife: the container needs nothing more.
func (l *privateLife) prepare(context.Context, *containers.Container) ([]engine.SecretFile, error) {
	return nil, nil
}

// adopt implements siteLife. Swarm calls a task with a health check "starting" until it is healthy, so adopt
// asks the daemon whether its container runs already.
func (l *privateLife) adopt(ctx context.Context, task engine.Task) bool {
	n := l.trial.cluster.WithID(task.NodeID)
	if n == nil {
		return false
	}
	l.node = n
	l.Life = engine.Life{Engine: n.Engine, Container: task.Status.ContainerStatus.ContainerID,
		Called: "its container on " + n.Name}
	if task.Status.State == "starting" {
		state, err := l.Engine.State(ctx, l.Container)
		hasRun := state.Pid != 0 || state.Status == "exited"
		return err == nil && hasRun
	}
	return task.Status.State == "running" || hasEnded(task)
}

// follow reads the container's log, finds its process, and sets its ports and processors.
func (l *privateLife) follow(ctx context.Context) error {
	d, s := l.trial.deployment, l.service
	l.trial.recordNode(s.Spec, l.node)
	kills := l.node.Kills() // tells the end of the daemon from a fault that kills the node
	log, err := l.Engine.Follow(d.Watching, l.Container, s.made.TaskTemplate.ContainerSpec.TTY)
	if err != nil {
		return err
	}
	go func() {
		defer close(l.followed)
		_, _ = io.Copy(s.Log, log) // it ends with the container, or with the daemon
		_ = log.Close()
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

// bind limits the container to the unit's processors, for which Swarm has no option, and waits until its
// process runs on no others. The process has begun with these processors (containers.Trial.Binds); the limit
// keeps it to them.
func (l *privateLife) bind(ctx context.Context) error {
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

// dial implements siteLife: it calls the control port that the unit's node publishes. The end of the log is
// the sign that the program has ended.
func (l *privateLife) dial(ctx context.Context) (net.Conn, error) {
	control := strconv.Itoa(l.trial.ports[l.service.Spec.Name][0])
	return fleet.Dial(ctx, l.followed, net.JoinHostPort(l.node.Address, control), l.service.token)
}

// awaitReachable implements siteLife: privateTrial.awaitKnown waits instead, for all units of a stage.
func (l *privateLife) awaitReachable(context.Context) {}

// awaitEnd implements siteLife.
func (l *privateLife) awaitEnd() (how error, ended bool) {
	d, s := l.trial.deployment, l.service
	<-l.followed
	// Wait fails if the daemon has ended, or somebody has removed the container.
	killed := func() bool { return d.IsDoomed(s.Unit) }
	code, outOfMemory, err := l.Engine.Wait(d.Watching, l.Container, killed)
	return fleet.HowEnded(s.Spec, code, outOfMemory, err), true
}

// startAgain lets the swarm run the service again, perhaps on another node, and redirects callers there.
func (l *privateLife) startAgain(ctx context.Context) error {
	if err := l.service.start(ctx); err != nil {
		return err
	}
	return l.trial.redirect(ctx, l.service)
}

// cleanUp removes the container without waiting for the swarm to do so. It ignores errors: a daemon refuses
// to remove a container that the swarm is removing. removeContainers waits for the end, and reports what is
// left.
func (l *privateLife) cleanUp(ctx context.Context) error {
	if l.Container != "" {
		_ = l.Engine.Remove(ctx, "container", l.Container)
	}
	return nil
}

// awaitHealthy waits until the health check of the container succeeds: one of a port by visits from this
// host, one that is a command by its daemon.
func (l *privateLife) awaitHealthy(ctx context.Context) error {
	s := l.service
	if check := s.Spec.Container.Health; check != nil && check.Port != 0 {
		return fleet.AwaitVisit(ctx, s.Unit, l.trial.reach(s.Spec.Name), fleet.PortVisit(check))
	}
	if err := l.Engine.AwaitHealthy(ctx, l.Container, s.Ended); err != nil {
		return fmt.Errorf("%v %w%s", s, err, s.Log.LastWords())
	}
	return nil
}

package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// upPatience is how long a service may take until its unit can be reached.
	upPatience = 60 * time.Second
	// firstPort is the first that a unit listens on: it has an address of its own.
	firstPort = 8080
	// firstPublished is the first port that nodes have for units. No two units have the
	// same, so each can be on every node.
	firstPublished = 10000
)

// ports are those of a unit: first that at which it waits for its conductor, then what it
// listens on. inside they are its own, outside those of its node.
type ports struct{ inside, outside []int }

// assign gives every unit its ports and its address in the overlay network.
func (d *deployment) assign(specs []lab.UnitSpec) {
	d.ports, d.latest, d.first = map[string]ports{}, map[string]*private.Node{}, map[string]*private.Node{}
	next := firstPublished
	for _, spec := range specs {
		var p ports
		for _, name := range append([]string{""}, spec.Endpoints()...) {
			port := firstPort + len(p.inside)
			if name == spec.Name && spec.Port != 0 {
				port = spec.Port
			}
			p.inside, p.outside = append(p.inside, port), append(p.outside, next)
			next++
			if name != "" {
				d.trial.Endpoints[name] = lab.Endpoint{Bind: net.JoinHostPort("0.0.0.0", strconv.Itoa(port)),
					Dial: inOverlay(spec.Name, port)}
			}
		}
		d.ports[spec.Name] = p
	}
}

// placed notes the node of a unit, where it stays until the node is emptied, and so its
// addresses for this host.
func (d *deployment) placed(spec lab.UnitSpec, n *private.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest[spec.Name] = n
	if d.first[spec.Name] == nil {
		d.first[spec.Name] = n
	}
	for i, name := range spec.Endpoints() {
		d.outside[name] = lab.Endpoint{Bind: d.trial.Endpoints[name].Bind,
			Dial: net.JoinHostPort(n.Address, strconv.Itoa(d.ports[spec.Name].outside[1+i]))}
	}
	if relay := d.Relays[spec.Name]; relay != nil {
		relay.To(d.outside[spec.Name].Dial)
		d.outside[spec.Name] = d.trial.Endpoints[spec.Name]
	}
}

// service is one life of one unit.
type service struct {
	*fleet.Unit
	engine.Life // once it has a container
	deployment  *deployment
	id          string         // of the service, which has further lives; "" until it is made
	made        engine.Service // what it was made of
	former      []string       // IDs of the tasks that were former lives
	token       string
	node        *private.Node
	followed    chan struct{}
}

func (d *deployment) newService(spec lab.UnitSpec) *service {
	s := &service{Unit: fleet.NewUnit(spec), deployment: d, followed: make(chan struct{})}
	s.Healthy = s.awaitHealthy
	return s
}

// Start implements fleet.Instance. A life that is not the first may be on another node, to which callers of
// the first are led.
func (s *service) Start(ctx context.Context) error {
	isFirst := s.id == ""
	if err := s.start(ctx); err != nil || isFirst {
		return err
	}
	return s.deployment.redirect(ctx, s)
}

// start runs the service and connects to its unit.
func (s *service) start(ctx context.Context) error {
	d := s.deployment
	if err := containers.MakeVolume(d.trial.Dir, s.Spec, d.trialOf(s.Spec).Endpoints); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("not up after %v", upPatience))
	defer cancel()
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("start unit %s: %w", s.Spec.Name, err)
	}
	if s.Spec.Foreign || s.Prepares {
		go s.await()
		return nil
	}
	control := net.JoinHostPort(s.node.Address, strconv.Itoa(d.ports[s.Spec.Name].outside[0]))
	connection, err := fleet.Dial(ctx, s.followed, control, s.token)
	if err != nil {
		return fmt.Errorf("start unit %s: %w%s", s.Spec.Name, err, s.Log.LastWords())
	}
	d.Controlled(s.Unit, connection, s.await)
	return nil
}

// run has the swarm run the service, and finds its container and what it writes.
func (s *service) run(ctx context.Context) error {
	d := s.deployment
	if err := s.template(); err != nil {
		return err
	}
	if err := s.create(ctx); err != nil {
		return err
	}
	if err := s.awaitTask(ctx); err != nil {
		return err
	}
	d.placed(s.Spec, s.node)
	kills := s.node.Kills()
	said, err := s.Engine.Follow(d.Watching, s.Container, s.made.TaskTemplate.ContainerSpec.TTY)
	if err != nil {
		return err
	}
	go func() {
		defer close(s.followed)
		_, _ = io.Copy(s.Log, said) // it ends with the container, or with the daemon
		_ = said.Close()
		if gone := s.Engine.Ping(d.Watching); gone != nil && d.Watching.Err() == nil &&
			s.node.Kills() == kills {
			d.Fail(fmt.Errorf("the Docker daemon of %s has ended: %w", s.node.Name, gone))
		}
	}()
	pid, _ := s.node.HostPID(s.Container) // it may have ended
	s.SetHostPID(pid)
	return s.bind(ctx)
}

// create makes the service, or has the swarm begin its next life.
func (s *service) create(ctx context.Context) error {
	d := s.deployment
	if s.id != "" {
		return d.cluster.Manager().UpdateService(ctx, s.id, s.made)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	// It is not given up in the middle, or nobody would know what was made.
	id, err := d.cluster.Manager().CreateService(context.WithoutCancel(ctx), s.made)
	if err != nil {
		return err
	}
	s.id = id
	d.mu.Lock()
	d.made = append(d.made, id)
	d.mu.Unlock()
	return nil
}

// awaitTask waits until the swarm has given the service a task with a container that runs,
// or has run.
func (s *service) awaitTask(ctx context.Context) error {
	d := s.deployment
	var last engine.Task
	for {
		tasks, err := d.cluster.Manager().Tasks(ctx, s.id)
		if err != nil && ctx.Err() == nil {
			return err
		}
		for _, task := range tasks {
			if slices.Contains(s.former, task.ID) {
				continue
			}
			last = task
			ended := slices.Contains([]string{"complete", "failed", "rejected", "shutdown", "orphaned"},
				task.Status.State)
			s.Life = engine.Life{}
			if s.node = d.cluster.WithID(task.NodeID); s.node != nil {
				s.Life = engine.Life{Engine: s.node.Engine, Container: task.Status.ContainerStatus.ContainerID,
					Called: "its container on " + s.node.Name}
			}
			runs := ended || task.Status.State == "running"
			if s.Container != "" && (runs || task.Status.State == "starting" && s.begun(ctx)) {
				s.former = append(s.former, task.ID)
				return nil
			}
			if ended {
				return fmt.Errorf("the swarm could not run it: %s: %s", task.Status.State,
					cmp.Or(task.Status.Err, task.Status.Message))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the swarm says %q: %s", context.Cause(ctx), last.Status.State,
				cmp.Or(last.Status.Err, last.Status.Message))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// bind keeps the unit on its processors, on which it has begun (containers.Trial.Binds), and proves it.
// Swarm cannot be told them.
func (s *service) bind(ctx context.Context) error {
	processors, err := launch.Processors(s.Spec.Cores)
	if err != nil || len(processors) == 0 {
		return err
	}
	if err := s.Engine.Bind(ctx, s.Container, launch.List(processors)); err != nil {
		return err
	}
	return launch.AwaitBound(ctx, s.HostPID(), s.Spec.Cores)
}

// template says what the service is made of, or that a former life begins anew.
func (s *service) template() error {
	if s.id != "" {
		s.made.TaskTemplate.ForceUpdate++
		return nil
	}
	container, err := s.described()
	if err != nil {
		return err
	}
	d, spec := s.deployment, s.Spec
	s.made = engine.Service{
		Name: d.name(spec.Name), Labels: d.deployer.labels(),
		TaskTemplate: engine.TaskTemplate{
			ContainerSpec: container, RestartPolicy: engine.RestartPolicy{Condition: "none"},
			Placement: d.placement(spec),
			Networks:  []engine.ServiceNetwork{{Target: private.Overlay, Aliases: aliases(spec)}},
			LogDriver: engine.LogDriver{Name: "json-file"},
			Resources: engine.Resources{Limits: engine.ResourceLimits{
				NanoCPUs: int64(math.Round(spec.Limits.CPU * 1e9)), MemoryBytes: spec.Limits.Memory}},
		},
		Mode: engine.ServiceMode{Replicated: &engine.Replicated{Replicas: 1}}, EndpointSpec: d.published(spec),
	}
	return nil
}

// name is unlike that of any other service. Swarm has names of up to 63 letters.
func (d *deployment) name(of string) string {
	return fmt.Sprintf("%.40s-%d", of, d.deployer.services.Add(1))
}

// placement says where the unit may be: where it was, or where the layout wants it.
func (d *deployment) placement(spec lab.UnitSpec) engine.Placement {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.latest[spec.Name]; n != nil {
		return on(n)
	}
	return d.wanted(spec)
}

// on has a unit on a node and nowhere else.
func on(n *private.Node) engine.Placement {
	return engine.Placement{Constraints: []string{"node.id==" + n.ID}}
}

// wanted says where the layout wants the unit.
func (d *deployment) wanted(spec lab.UnitSpec) engine.Placement {
	if place := d.places[spec.Node]; place != "" {
		return engine.Placement{Constraints: []string{"node.hostname==" + place}}
	}
	if spec.Name == d.lead {
		return on(d.cluster.Nodes[0])
	}
	return engine.Placement{}
}

// published returns the ports of the unit that its node has, too. A foreign one waits for no
// conductor.
func (d *deployment) published(spec lab.UnitSpec) engine.EndpointSpec {
	p, published := d.ports[spec.Name], engine.EndpointSpec{Mode: "dnsrr"}
	for i := range p.inside {
		if i == 0 && spec.Foreign {
			continue
		}
		published.Ports = append(published.Ports, engine.PublishedPort{Protocol: "tcp", TargetPort: p.inside[i],
			PublishedPort: p.outside[i], PublishMode: "host"})
	}
	return published
}

// await waits for the end of the container and judges it.
func (s *service) await() {
	defer close(s.Ended)
	d := s.deployment
	<-s.followed
	// An error: the daemon has ended, or somebody has removed it.
	code, outOfMemory, err := s.Engine.Wait(d.Watching, s.Container,
		func() bool { return d.IsDoomed(s.Unit) })
	d.JudgeEnd(s.Unit, fleet.HowEnded(s.Spec, code, outOfMemory, err))
}

// endGently asks a foreign program to end that may have something to put in order.
func (s *service) endGently(ctx context.Context) {
	_ = s.deployment.Doom(s.Unit) // it may have ended
	if s.Spec.Foreign && s.Spec.Server == nil && s.Container != "" {
		_ = s.End(ctx)
	}
}

// remove removes the service of a command that has done its part.
func (s *service) remove(ctx context.Context) error {
	err := s.deployment.cluster.Manager().RemoveService(ctx, s.id)
	return errors.Join(err, s.Engine.Remove(ctx, s.Container))
}

// dialOf returns where this host reaches a unit itself, which has a node.
func (d *deployment) dialOf(unit string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Relays.Behind(unit, d.outside[unit].Dial)
}

// dial returns where this host calls a unit.
func (d *deployment) dial(endpoint string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outside[endpoint].Dial
}

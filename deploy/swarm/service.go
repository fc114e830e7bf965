package swarm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// service is one life of one unit.
type service struct {
	*fleet.Unit
	siteLife
	deployment *deployment
	id         string         // of the service in the swarm, the same for all lives; "" until it is made
	made       engine.Service // the specification of the service
	former     []string       // IDs of its tasks so far, the one of this life last
	token      string         // proves to the unit who its conductor is
	started    bool           // the program of this life runs, or has run
}

// siteLife implements what differs between the services of a private swarm (privateLife) and one of the
// user's (userLife): how a container begins, is reached, ends and has faults.
type siteLife interface {
	// prepare makes what the container needs on the swarm, adapts the container to it, and returns the secrets
	// that the service needs.
	prepare(ctx context.Context, wanted *containers.Container) ([]engine.SecretFile, error)
	// adopt reports whether the container of a task runs, or has run. If so, it becomes the container of this
	// life.
	adopt(ctx context.Context, task engine.Task) bool
	// follow starts to follow the container after adopt.
	follow(ctx context.Context) error
	// dial connects to the unit, as its conductor.
	dial(ctx context.Context) (net.Conn, error)
	// awaitReachable waits until callers reach a foreign unit, which does not report that itself.
	awaitReachable(ctx context.Context)
	// awaitEnd waits until the program ends and returns its error. ended is false if the wait ended first.
	awaitEnd() (how error, ended bool)
	// startAgain starts a life that is not the first.
	startAgain(ctx context.Context) error
	// cleanUp removes what remains of the unit on the swarm beside its service.
	cleanUp(ctx context.Context) error

	Kill(ctx context.Context) (proof string, err error)
	Pause(ctx context.Context) (proof string, err error)
	Resume(ctx context.Context) error
	End(ctx context.Context) error
}

// newService returns the first life of a unit, whose service is not made yet.
func (d *deployment) newService(spec lab.UnitSpec) *service {
	s := &service{Unit: fleet.NewUnit(spec), deployment: d}
	s.siteLife = d.newSiteLife(s)
	return s
}

// Start implements fleet.Instance.
func (s *service) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil && !s.started {
			close(s.Ended)
		}
	}()
	if s.Further {
		return s.startAgain(ctx)
	}
	return s.start(ctx)
}

// start lets the swarm run the service and connects to its unit.
func (s *service) start(ctx context.Context) error {
	d := s.deployment
	if err := containers.MakeVolume(d.trial.Dir, s.Spec, d.trialOf(s.Spec).Endpoints); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.patience, fmt.Errorf("not up after %v", d.patience))
	defer cancel()
	err := s.create(ctx)
	if err == nil {
		err = s.awaitTask(ctx)
	}
	if err == nil {
		err = s.follow(ctx)
	}
	if err != nil {
		return fmt.Errorf("start unit %s: %w", s.Spec.Name, err)
	}
	return s.connect(ctx)
}

// connect connects to the unit of a running service.
func (s *service) connect(ctx context.Context) error {
	s.started = true
	dial := func() (net.Conn, error) { return s.dial(ctx) }
	err := s.deployment.Connect(s.Unit, dial, s.await)
	if err == nil {
		s.awaitReachable(ctx)
	}
	return err
}

// create makes the service, or lets the swarm start a further task of it.
func (s *service) create(ctx context.Context) error {
	d := s.deployment
	if s.id != "" {
		s.made.TaskTemplate.ForceUpdate++
		return d.manager.UpdateService(ctx, s.id, s.made)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // after an interrupted request we would not know whether the service exists
	err := s.specify(ctx)
	if err == nil {
		s.id, err = d.manager.CreateService(ctx, s.made)
	}
	return err
}

// specify fills in the specification of the service. Everybody who may use the swarm can read it: it holds no
// secrets of our units, but the whole environment of a foreign one.
func (s *service) specify(ctx context.Context) error {
	d := s.deployment
	spec := s.Spec
	control := ""
	if !s.Prepares {
		control = containers.AnyAddress(containers.ControlPort)
	}
	wanted, err := d.trialOf(spec).Describe(spec, control)
	if err != nil {
		return err
	}
	s.token = wanted.Token
	s.made = engine.Service{
		Name: serviceName(d.deployer.label, d.deployer.services.Add(1), spec.Name), Labels: d.deployer.labels(),
		TaskTemplate: engine.TaskTemplate{
			RestartPolicy: engine.RestartPolicy{Condition: "none"}, LogDriver: engine.LogDriver{Name: "json-file"},
			Networks: []engine.ServiceNetwork{{Target: d.network, Aliases: aliases(spec)}},
			Resources: engine.Resources{Limits: engine.ResourceLimits{
				NanoCPUs: int64(math.Round(spec.Limits.CPU * 1e9)), MemoryBytes: spec.Limits.Memory}},
		},
		Mode:         engine.ServiceMode{Replicated: &engine.Replicated{Replicas: 1}},
		EndpointSpec: engine.EndpointSpec{Mode: "dnsrr"},
	}
	s.made.TaskTemplate.Placement, s.made.EndpointSpec.Ports = d.place(spec)
	secrets, err := s.prepare(ctx, &wanted)
	if err != nil {
		return err
	}
	s.made.TaskTemplate.ContainerSpec, err = d.container(spec, wanted)
	s.made.TaskTemplate.ContainerSpec.Secrets = secrets
	return err
}

// notInServiceNames matches a character that names of units may have, and those of services may not.
var notInServiceNames = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// serviceName returns the name of the nth service of a conductor, for a unit. Swarm takes up to 63 letters,
// digits, dashes and underscores, the last of which is a letter or a digit.
func serviceName(label string, n int64, unit string) string {
	const longest = 63
	name := fmt.Sprintf("%s%s-%d-%s", prefix, label, n, notInServiceNames.ReplaceAllString(unit, "-"))
	return strings.TrimRight(name[:min(len(name), longest)], "-_")
}

// awaitTask waits until the service has a new task with a container that runs, or has run. It fails if the
// task has ended without one.
func (s *service) awaitTask(ctx context.Context) error {
	var last engine.Task
	return fleet.Until(ctx, 20*time.Millisecond, func() (bool, error) {
		tasks, err := s.deployment.tasks(ctx, s.id)
		if err != nil && ctx.Err() == nil {
			return true, err
		}
		for _, task := range tasks {
			if slices.Contains(s.former, task.ID) {
				continue
			}
			last = task
			// A rejected task never ran, even if it names a container.
			began := task.Status.ContainerStatus.ContainerID != "" && task.Status.State != "rejected"
			if began && s.adopt(ctx, task) {
				s.former = append(s.former, task.ID)
				s.started = true
				return true, nil
			}
			if hasEnded(task) {
				return true, fmt.Errorf("the swarm could not run it: %w", describe(task))
			}
		}
		return false, fmt.Errorf("the swarm says: %w", describe(last))
	})
}

// untilFinished calls wait, which waits for something of a running service, and ends the wait when the
// service ends. That is no error if the service has finished its work (fleet.Unit.HasFinished).
func untilFinished(ctx context.Context, s *service, wait func(context.Context) error) error {
	ctx, cancel := fleet.WithEnd(ctx, s.Ended, func() error { return errors.New("it has ended") })
	defer cancel()
	err := wait(ctx)
	if s.HasFinished() {
		return nil
	}
	return err
}

// await waits until the program ends and reports how to the supervisor.
func (s *service) await() {
	defer close(s.Ended)
	if how, ended := s.awaitEnd(); ended {
		s.deployment.JudgeEnd(s.Unit, how)
	}
}

// remove ends and removes the service.
func (s *service) remove(ctx context.Context) error {
	_ = s.deployment.Doom(s.Unit) // it may have ended
	var err error
	if s.id != "" {
		err = s.deployment.manager.Remove(ctx, "service", s.id)
	}
	return errors.Join(err, s.cleanUp(ctx))
}

package swarm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
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
	id         string         // of the service, which has further lives; "" until it is made
	made       engine.Service // what it was made of
	former     []string       // IDs of the tasks that were former lives
	token      string
}

// siteLife implements what differs between the services of a private swarm (ownLife) and one of the user's
// (homeLife): how a container begins, is reached, ends and has faults.
type siteLife interface {
	// prepare makes what the container needs, which it may change, and returns the secrets among that.
	prepare(ctx context.Context, is *containers.Container) ([]engine.SecretFile, error)
	// take reports whether the container of a task runs, or has run, which is then that of this life.
	take(ctx context.Context, task engine.Task) bool
	// taken follows the container.
	taken(ctx context.Context) error
	// dial connects to the unit, as its conductor.
	dial(ctx context.Context) (net.Conn, error)
	// connected waits for what callers of a unit need that does not report itself.
	connected(ctx context.Context)
	// awaitEnd waits for the end of the program and says how it was; false: nobody waits any more.
	awaitEnd() (how error, ended bool)
	// startAgain begins a life that is not the first.
	startAgain(ctx context.Context) error
	// removed removes what there is beside the service.
	removed(ctx context.Context) error

	Kill(ctx context.Context) (proof string, err error)
	Pause(ctx context.Context) (proof string, err error)
	Resume(ctx context.Context) error
	End(ctx context.Context) error
}

// newService returns a service that is not made yet.
func (d *deployment) newService(spec lab.UnitSpec) *service {
	s := &service{Unit: fleet.NewUnit(spec), deployment: d}
	s.siteLife = d.newSiteLife(s)
	return s
}

// Start implements fleet.Instance.
func (s *service) Start(ctx context.Context) error {
	if s.Further {
		return s.startAgain(ctx)
	}
	return s.start(ctx)
}

// start has the swarm run the service and connects to its unit.
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
		err = s.taken(ctx)
	}
	if err != nil {
		return fmt.Errorf("start unit %s: %w", s.Spec.Name, err)
	}
	return s.connect(ctx)
}

// connect connects to the unit of a service that runs.
func (s *service) connect(ctx context.Context) error {
	d := s.deployment
	if s.Spec.Foreign || s.Prepares {
		go s.await()
		s.connected(ctx)
		return nil
	}
	connection, err := s.dial(ctx)
	if err != nil {
		if s.ReadLog != nil {
			s.ReadLog(d.Watching)
		}
		return fmt.Errorf("start unit %s: %w%s", s.Spec.Name, err, s.Log.LastWords())
	}
	d.Controlled(s.Unit, connection, s.await)
	return nil
}

// create makes the service, or has the swarm begin its next life.
func (s *service) create(ctx context.Context) error {
	d := s.deployment
	if s.id != "" {
		s.made.TaskTemplate.ForceUpdate++
		return d.manager.UpdateService(ctx, s.id, s.made)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is not given up in the middle, or nobody would know what was made
	err := s.template(ctx)
	if err == nil {
		s.id, err = d.manager.CreateService(ctx, s.made)
	}
	return err
}

// template says what the service is made of. Nothing secret is in it: it can be read by whoever may ask the
// swarm.
func (s *service) template(ctx context.Context) error {
	d, spec, control := s.deployment, s.Spec, ""
	if !s.Prepares {
		control = anyAddress(controlPort)
	}
	is, err := d.trialOf(spec).Describe(spec, control)
	if err != nil {
		return err
	}
	s.token = is.Token
	const longest = 63 // names of Swarm
	name := fmt.Sprintf("%s%s-%d-%s", prefix, d.deployer.label, d.deployer.services.Add(1), spec.Name)
	s.made = engine.Service{
		Name: name[:min(len(name), longest)], Labels: d.deployer.labels(),
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
	secrets, err := s.prepare(ctx, &is)
	if err != nil {
		return err
	}
	s.made.TaskTemplate.ContainerSpec, err = d.container(spec, is)
	s.made.TaskTemplate.ContainerSpec.Secrets = secrets
	return err
}

// awaitTask waits until the swarm has given the service a task with a container that runs,
// or has run. It fails where it never will.
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
			began := task.Status.ContainerStatus.ContainerID != "" && task.Status.State != "rejected"
			if began && s.take(ctx, task) {
				s.former = append(s.former, task.ID)
				return true, nil
			}
			if over(task) {
				return true, fmt.Errorf("the swarm could not run it: %w", advised(task))
			}
		}
		return false, fmt.Errorf("the swarm says: %w", advised(last))
	})
}

// await waits for the end of the program and judges it.
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
		err = s.deployment.manager.RemoveService(ctx, s.id)
	}
	return errors.Join(err, s.removed(ctx))
}

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/launch"
)

// privatePod implements sitePod for a private cluster, whose pods are processes of this host.
type privatePod struct{ pod *pod }

// newSitePod implements site.
func (s *privateSite) newSitePod(p *pod) sitePod { return privatePod{p} }

// begin implements sitePod: every life has a pod of its own.
func (s privatePod) begin(context.Context) (bool, error) { return false, nil }

// adapt implements sitePod: the nodes can give a container all that it asks for.
func (s privatePod) adapt(*containers.Container) {}

// finish implements sitePod: the description is complete.
func (s privatePod) finish(context.Context, *api.Pod) error { return nil }

// dial implements sitePod. The end of the log is the sign that the program has ended.
func (s privatePod) dial(ctx context.Context) (net.Conn, error) {
	p := s.pod
	port := strconv.Itoa(containers.ControlPort)
	return fleet.Dial(ctx, p.followed, net.JoinHostPort(p.address, port), p.token)
}

// Kill implements fleet.Instance. It waits until the processes have ended, but not until the cluster knows.
func (s privatePod) Kill(ctx context.Context) (proof string, err error) {
	return "the container has ended", s.pod.kill(ctx)
}

// Pause implements fleet.Instance.
func (s privatePod) Pause(ctx context.Context) (proof string, err error) {
	s.pod.paused = true
	return "its processes are frozen", s.pod.node.Pause(ctx, s.pod.container)
}

// Resume implements fleet.Instance.
func (s privatePod) Resume(ctx context.Context) error { return s.pod.node.Resume(ctx, s.pod.container) }

// end implements sitePod.
func (s privatePod) end(ctx context.Context) (err error) {
	p := s.pod
	if p.Spec.IsUsersProgram() && p.runs() { // give it time to clean up
		err = p.End(ctx)
	}
	if p.node != nil {
		err = errors.Join(err, p.kill(ctx))
	}
	return errors.Join(err, p.delete(ctx, 0))
}

// bind limits the container to the unit's processors, for which Kubernetes has no option, and waits until its
// process runs on no others. The process has begun with these processors (containers.Trial.Binds); the limit
// keeps it to them. On a cluster of the user's, HostPID is 0, and bind does nothing.
func (p *pod) bind() error {
	processors, err := launch.Processors(p.Spec.Cores)
	if err != nil || len(processors) == 0 || p.HostPID() == 0 {
		return err
	}
	if err := p.node.Bind(p.container, launch.List(processors)); err != nil && p.runs() {
		return fmt.Errorf("bind it to the processors %v: %w", processors, err)
	}
	return launch.AwaitBound(p.deployment.Watching, p.HostPID(), p.Spec.Cores)
}

// runs reports whether the program of the pod runs: a later process of the same ID is not that program.
func (p *pod) runs() bool {
	pid := p.HostPID()
	return pid != 0 && syscall.Kill(pid, 0) == nil && p.node.PID(p.container) == pid
}

// kill ends the first process of the container, with which the kernel ends all others, and waits until it is
// gone.
func (p *pod) kill(ctx context.Context) error {
	if p.paused { // a paused process would not end
		if err := p.node.Resume(ctx, p.container); err != nil {
			return err
		}
	}
	return fleet.Until(ctx, 5*time.Millisecond, func() (bool, error) {
		if !p.runs() {
			return true, nil
		}
		if err := syscall.Kill(p.HostPID(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return true, err
		}
		return false, fmt.Errorf("process %d does not end after kill -9", p.HostPID())
	})
}

// refuse returns an error for units whose pods Kubernetes makes: no faults can be done to them.
func refuse(p *pod) error {
	if p.scaled {
		return errors.New("its pod was made by Kubernetes, which would replace it without the conductor: give it " +
			"a fixed number of replicas in place of autoscaling")
	}
	return nil
}

// cut makes the network of a pod drop all packets, or lets them through again.
func cut(ctx context.Context, p *pod, off bool) error {
	rules := dropNothing
	if off {
		rules = dropAll
	}
	return hosts.In(ctx, p.HostPID(), "nft", rules)
}

// gone returns an error if the process of a pod still runs.
func gone(_ context.Context, p *pod) error {
	if p.runs() {
		return fmt.Errorf("process %d of unit %s still runs on %s", p.HostPID(), p.Spec.Name, p.nodeName)
	}
	return nil
}

// leave ends a pod by calling end, checks that its process has ended, and waits until the fleet has judged
// that end.
func (p *pod) leave(ctx context.Context, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, removePatience,
		fmt.Errorf("the pod of unit %s is not gone after %v", p.Spec.Name, removePatience))
	defer cancel()
	if err := end(ctx); err != nil {
		return err
	}
	if err := gone(ctx, p); err != nil {
		return err
	}
	return p.AwaitEnd(ctx)
}

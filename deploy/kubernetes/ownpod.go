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
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/launch"
)

// ownPod implements sitePod for a private cluster, whose pods are processes of this host.
type ownPod struct{ pod *pod }

func (o *own) newSitePod(p *pod) sitePod { return ownPod{p} }

func (h ownPod) begin(context.Context) (bool, error) { return false, nil }

func (h ownPod) adapt(*containers.Container) {}

func (h ownPod) finish(context.Context, *api.Pod) error { return nil }

func (h ownPod) dial(ctx context.Context) (net.Conn, error) {
	p := h.pod
	return fleet.Dial(ctx, p.followed, net.JoinHostPort(p.address, strconv.Itoa(controlPort)), p.token)
}

// Kill ends the processes of the pod. That nothing of it runs any more is seen here; that the cluster knows,
// too, comes later.
func (h ownPod) Kill(ctx context.Context) (proof string, err error) {
	return "the container has ended", h.pod.kill(ctx)
}

func (h ownPod) Pause(ctx context.Context) (proof string, err error) {
	h.pod.paused = true
	return "its processes are frozen", h.pod.node.Pause(ctx, h.pod.container)
}

func (h ownPod) Resume(ctx context.Context) error { return h.pod.node.Resume(ctx, h.pod.container) }

func (h ownPod) end(ctx context.Context) (err error) {
	p := h.pod
	if p.Spec.Foreign && p.Spec.Server == nil && p.runs() {
		err = p.End(ctx)
	}
	if p.node != nil {
		err = errors.Join(err, p.kill(ctx))
	}
	return errors.Join(err, p.delete(ctx, 0))
}

// bind keeps the unit on its processors, on which it has begun (containers.Trial.Binds), and proves it.
// Kubernetes cannot be told them.
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

// runs reports whether the program runs.
func (p *pod) runs() bool {
	return p.HostPID() != 0 && syscall.Kill(p.HostPID(), 0) == nil && p.node.PID(p.container) == p.HostPID()
}

// kill ends every process of the pod and waits until they are gone.
func (p *pod) kill(ctx context.Context) error {
	if p.paused { // then it would not end
		if err := p.node.Resume(ctx, p.container); err != nil {
			return err
		}
	}
	for p.runs() {
		if err := syscall.Kill(p.HostPID(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end after kill -9: %w", p.HostPID(), context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// refuse refuses faults of units of which Kubernetes makes the pods.
func refuse(p *pod) error {
	if p.scaled {
		return errors.New("its pod was made by Kubernetes, which would itself start it again, unknown to its " +
			"conductor: give it a number of replicas")
	}
	return nil
}

// cut takes a pod off its node's network, or puts it back.
func cut(ctx context.Context, p *pod, off bool) error { return p.node.Cut(ctx, p.HostPID(), off) }

// gone fails when something of a pod runs.
func gone(_ context.Context, p *pod) error {
	if p.runs() {
		return fmt.Errorf("process %d of unit %s still runs on %s", p.HostPID(), p.Spec.Name, p.nodeName)
	}
	return nil
}

// leave has the pod end in a way, and proves that nothing of it runs any more.
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

package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/lab"
)

// listenPatience bounds how long a unit that was started again may take until it
// listens.
const listenPatience = 60 * time.Second

// Can implements lab.Deployer. All processes of a node share its network, so a unit
// cannot be cut off alone, only a node.
func (d *Deployer) Can() lab.Capabilities {
	return lab.Capabilities{
		Faults: []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultSlow, lab.FaultFill},
		Nodes:  nodesToHarm, Links: func() error { return nil }, Disk: gluster.About, Spans: true,
	}
}

// isBrick reports whether the target of a fault is a server of the replicated disk.
func (d *deployment) isBrick(f lab.Fault) bool {
	return d.disk != nil && slices.Contains(gluster.Bricks(), f.Target)
}

// Harm implements lab.Deployment.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	if d.isBrick(f) {
		return d.disk.Kill(ctx, f.Target)
	}
	return d.Fleet.Harm(ctx, f)
}

// Heal implements lab.Deployment.
func (d *deployment) Heal(ctx context.Context, f lab.Fault) error {
	if d.isBrick(f) {
		return d.disk.Heal(ctx, f.Target)
	}
	return d.Fleet.Heal(ctx, f)
}

// Kill implements fleet.Instance. A unit of our own is one process. A foreign unit has ended when its
// keeper has, which ends when none of its processes is left.
func (u *unit) Kill(context.Context) (proof string, err error) {
	killed, err := u.pids()
	if err != nil {
		return "", err
	}
	begun := time.Now()
	for time.Since(begun) < killPatience {
		if err := u.kill(); err != nil {
			return "", fmt.Errorf("kill unit %s: %w", u.Spec.Name, err)
		}
		select {
		case <-u.Ended:
			if left := slices.DeleteFunc(killed, gone); len(left) > 0 {
				return "", fmt.Errorf("kill unit %s: processes %v still run", u.Spec.Name, left)
			}
			return fmt.Sprintf("%d processes, of which none is left", len(killed)), u.Unkept
		case <-time.After(fleet.Backoff(begun, firstWait, longestWait)): // again, for processes that have forked
		}
	}
	return "", fmt.Errorf("unit %s does not end after kill -9", u.Spec.Name)
}

// gone reports whether no process has the number.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// kill sends SIGKILL to the unit's processes.
func (u *unit) kill() error {
	switch {
	case u.PID == 0: // it could not be started
		return nil
	case !u.Spec.Foreign:
		_ = u.command.Process.Kill() // it may have ended since the last round
		return nil
	}
	pids, err := u.pids()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended, too
	}
	return err
}

// pids returns the numbers of the unit's processes.
func (u *unit) pids() ([]int, error) {
	if !u.Spec.Foreign {
		return u.among(nil), nil
	}
	all, err := processes()
	return u.among(all), err
}

// awaitOpen waits until any process of the unit listens, and until a unit on a node is reached there.
func (d *deployment) awaitOpen(ctx context.Context, u *unit) error {
	if err := u.awaitListening(ctx); err != nil {
		return err
	}
	if d.network.Named(u.Spec.Node) == nil || !u.Spec.Listens {
		return nil
	}
	return u.AwaitListening(ctx, d.Endpoints[u.Spec.Name].Bind, listenPatience)
}

// awaitListening waits until any process of the unit listens.
func (u *unit) awaitListening(ctx context.Context) error {
	if !u.Spec.Listens && len(u.Spec.Binds) == 0 {
		return nil
	}
	return u.PollListening(ctx, listenPatience, longestWait, func(context.Context) bool {
		pids, err := u.pids()
		return err == nil && slices.ContainsFunc(pids, listens)
	})
}

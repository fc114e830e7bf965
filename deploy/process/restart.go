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

// listenPatience is how long a unit that was started again may take until it
// listens.
const listenPatience = 60 * time.Second

// Can implements lab.Deployer. All processes of a host share its network, so none can
// be cut off alone; a host can.
func (d *Deployer) Can() lab.Capabilities {
	return lab.Capabilities{
		Faults: []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultSlow, lab.FaultFill},
		Nodes:  nodesToHarm, Links: func() error { return nil }, Disk: gluster.About, Spans: true,
	}
}

// isBrick reports whether the target of a fault is what keeps a copy of the replicated disk.
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

// Kill implements fleet.Instance. A unit of our own is one process; of a foreign one its keeper ends when
// none is left.
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
		case <-time.After(fleet.Pause(begun, firstWait, longestWait)): // those that fork need another round
		}
	}
	return "", fmt.Errorf("unit %s does not end after kill -9", u.Spec.Name)
}

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
		_ = syscall.Kill(pid, syscall.SIGKILL) // the same
	}
	return err
}

// pids returns the processes that the unit consists of.
func (u *unit) pids() ([]int, error) {
	if !u.Spec.Foreign {
		return u.among(nil), nil
	}
	all, err := processes()
	return u.among(all), err
}

// awaitOpen waits until any process of the unit listens, and until a unit on a host of its own is reached
// there.
func (d *deployment) awaitOpen(ctx context.Context, u *unit) error {
	err, host := u.awaitListening(ctx), d.network.named(u.Spec.Node)
	if err != nil || host == nil || !u.Spec.Listens {
		return err
	}
	return u.AwaitListening(ctx, d.Endpoints[u.Spec.Name].Bind, listenPatience)
}

// awaitListening waits until any process of the unit listens.
func (u *unit) awaitListening(ctx context.Context) error {
	if !u.Spec.Listens && len(u.Spec.Binds) == 0 {
		return nil
	}
	return u.AwaitListens(ctx, listenPatience, longestWait, func(context.Context) bool {
		pids, err := u.pids()
		return err == nil && slices.ContainsFunc(pids, listens)
	})
}

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
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
)

var _ lab.Harmer = (*deployment)(nil)

// listenPatience is how long a unit that was started again may take until it
// listens.
const listenPatience = 60 * time.Second

// Faults implements lab.Deployer. All processes of a host share its network, so none can
// be cut off alone; a host can (Nodes).
func (d *Deployer) Faults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultSlow, lab.FaultFill}
}

// Harm implements lab.Harmer. A unit of our own is one process; of a foreign one all
// processes have the fault.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	u, host := d.Named(f.Target), d.network.named(f.Target)
	switch {
	case u == nil && host != nil:
		return d.harmNode(ctx, f, host)
	case d.disk != nil && slices.Contains(gluster.Bricks(), f.Target):
		return d.disk.Kill(ctx, f.Target)
	case u == nil:
		return "", fmt.Errorf("there is no unit %q", f.Target)
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case f.Kind == lab.FaultPause:
		return u.pause()
	case f.Kind == lab.FaultSlow:
		return d.relays.Slow(ctx, f)
	case f.Kind == lab.FaultFill:
		return volume.Fill(d.volume(u.Spec))
	case !f.Kind.Ends():
		return "", fmt.Errorf("processes cannot have the fault %q", f.Kind)
	case d.shares:
		return "", fmt.Errorf("unit %s shares memory with others, which it would not have when it is started again",
			f.Target)
	}
	if err := d.Doom(u.Unit); err != nil {
		return "", err
	}
	return u.killAll()
}

// Heal implements lab.Harmer.
func (d *deployment) Heal(ctx context.Context, f lab.Fault) error {
	if host := d.network.named(f.Target); host != nil && d.Named(f.Target) == nil {
		return d.healNode(ctx, f, host)
	}
	if d.disk != nil && slices.Contains(gluster.Bricks(), f.Target) {
		return d.disk.Heal(ctx, f.Target)
	}
	switch f.Kind {
	case lab.FaultPause:
		return d.Named(f.Target).resume()
	case lab.FaultSlow:
		d.relays.Heal(f)
		return nil
	case lab.FaultFill:
		return volume.Drain(d.volume(d.Named(f.Target).Spec))
	}
	return d.startAgain(ctx, f.Target)
}

// killAll kills every process of the unit; of a foreign one the keeper ends when none is
// left.
func (u *unit) killAll() (proof string, err error) {
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
	if !u.Spec.Foreign {
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

// startAgain starts a unit that was killed. It is what it was, with the same
// address, environment, files and processors; it is ready when it listens, where
// it does so at all.
func (d *deployment) startAgain(ctx context.Context, name string) error {
	old := d.Named(name)
	if old == nil || !d.IsDoomed(old.Unit) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", name)
	}
	command, err := d.restart(old.Spec)
	if err != nil {
		return err
	}
	u := newUnit(old.Spec, command)
	u.WriteTo(old.Log)
	if err := d.launch(u); err != nil {
		return fmt.Errorf("start unit %s again (%s): %w", name, command.Path, err)
	}
	d.Add(u)
	return u.AwaitUsable(ctx, d.reach(name), u.awaitListening)
}

// awaitListening waits until any process of the unit listens.
func (u *unit) awaitListening(ctx context.Context) error {
	if !u.Spec.Listens && len(u.Spec.Binds) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, listenPatience,
		fmt.Errorf("it does not listen after %v", listenPatience))
	defer cancel()
	for begun := time.Now(); ; {
		pids, err := u.pids()
		if err == nil && slices.ContainsFunc(pids, listens) {
			return nil
		}
		select {
		case <-u.Ended:
			return errors.New("unit " + u.Spec.Name + " ended at once" + u.Log.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("unit %s: %w", u.Spec.Name, context.Cause(ctx))
		case <-time.After(fleet.Pause(begun, firstWait, longestWait)):
		}
	}
}

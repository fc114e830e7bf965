package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/lab"
)

// upPatience is how long a unit that was started again may take until it listens.
const upPatience = 60 * time.Second

// unit is one life of a unit.
type unit struct {
	*fleet.Unit
	deployment *deployment
	host       *host
	life       int // its number on the host
}

func (d *deployment) newUnit(spec lab.UnitSpec) *unit {
	return &unit{Unit: fleet.NewUnit(spec), deployment: d, host: d.hosts[d.places[spec.Name]]}
}

// start starts the unit and begins to listen to it.
func (u *unit) start(ctx context.Context, how agent.Start) error {
	d := u.deployment
	u.Prepares = how.Prepares
	how.Spec = u.Spec
	how.Spec.Node, how.Spec.Program = "", u.host.programOf(d.deployer.programs, u.Spec)
	// Who gives up would not know what was started.
	started, err := call[agent.Started](context.WithoutCancel(ctx), u.host, "Start", how)
	if err != nil {
		return fmt.Errorf("start unit %s on host %s: %w", u.Spec.Name, u.host.name, err)
	}
	u.life, u.PID, u.Commands = started.Life, started.PID, u
	d.Add(u)
	go u.listen()
	return nil
}

// Write implements io.Writer: it is what the unit reads.
func (u *unit) Write(data []byte) (int, error) {
	if err := u.host.tell(context.Background(), "Tell", agent.Told{Life: u.life, Text: data}); err != nil {
		return 0, err
	}
	return len(data), nil
}

// listen hears the unit until it has ended, then judges it. Where its host is lost, that is
// what has failed.
func (u *unit) listen() {
	defer close(u.Ended)
	d := u.deployment
	from, said := io.Pipe()
	heard := make(chan struct{})
	go func() {
		d.Hear(u.Unit, from)
		_ = from.Close() // all that it says from now on is refused
		close(heard)
	}()
	var next agent.Heard
	for !next.Ended {
		var err error
		if next, err = await[agent.Heard](context.Background(), u.host, "Hear", u.life); err != nil {
			d.Fail(err)
			_ = said.Close() // it is not heard any more
			<-heard
			return
		}
		_, _ = u.Log.Write(next.Log) // it never fails
		_, _ = said.Write(next.Out)  // the unit may have said what nobody understands
	}
	_ = said.Close() // the end of what it says
	<-heard
	u.judge(next)
}

// judge judges the end of the unit.
func (u *unit) judge(end agent.Heard) {
	d := u.deployment
	if !u.Spec.Foreign {
		var how error
		if end.How != "" {
			how = errors.New(end.How)
		}
		if how != nil && end.OutOfMemory {
			how = errors.New(fleet.OutOfMemory(u.Spec))
		}
		d.Judge(u.Unit, how)
		return
	}
	if end.How != "" {
		u.Unkept = fmt.Errorf("processes of unit %s may be left on host %s (%s)%s", u.Spec.Name, u.host.name,
			end.How, u.Log.LastWords())
	}
	how := u.Failure()
	if how != "" && end.OutOfMemory {
		how = "ended: " + fleet.OutOfMemory(u.Spec)
	}
	if !u.Prepares && !d.stopping.Load() {
		d.JudgeForeign(u.Unit, how)
	}
}

// Harm implements lab.Harmer.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	u := d.Named(f.Target)
	switch {
	case u == nil:
		return d.processes.(lab.Harmer).Harm(ctx, f)
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case f.Kind == lab.FaultPause:
		proof, err = call[string](ctx, u.host, "Pause", u.life)
	case !f.Kind.Ends():
		return "", fmt.Errorf("processes of hosts that are not ours cannot have the fault %q", f.Kind)
	default:
		err = d.Kill(ctx, u.Unit, func(ctx context.Context) (err error) {
			proof, err = call[string](ctx, u.host, "Kill", u.life)
			return err
		})
	}
	if err != nil {
		return "", fmt.Errorf("%s unit %s on host %s: %w", f.Kind, f.Target, u.host.name, err)
	}
	return proof, nil
}

// Heal implements lab.Harmer.
func (d *deployment) Heal(ctx context.Context, f lab.Fault) error {
	u := d.Named(f.Target)
	switch {
	case u == nil:
		return d.processes.(lab.Harmer).Heal(ctx, f)
	case f.Kind == lab.FaultPause:
		return u.host.tell(ctx, "Resume", u.life)
	case !d.IsDoomed(u.Unit):
		return fmt.Errorf("unit %q was not killed, so it is not started again", f.Target)
	}
	again := d.newUnit(u.Spec)
	again.WriteTo(u.Log)
	if err := again.start(ctx, agent.Start{Again: true}); err != nil {
		return err
	}
	address := d.reach(f.Target)
	return again.AwaitUsable(ctx, address, func(ctx context.Context) error {
		return again.AwaitListening(ctx, address, upPatience)
	})
}

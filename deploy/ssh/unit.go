package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/lab"
)

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

// Start implements fleet.Instance.
func (u *unit) Start(ctx context.Context) error {
	d, how := u.deployment, process.Start{Spec: u.Spec, Further: u.Further, Prepares: u.Prepares,
		Visited: u.Visited}
	how.Spec.Node, how.Spec.Program = "", u.host.programOf(d.deployer.programs, u.Spec)
	// Who gives up would not know what was started.
	started, err := call[agent.Started](context.WithoutCancel(ctx), u.host, "Start", how)
	if err != nil {
		close(u.Ended)
		return fmt.Errorf("start unit %s on host %s: %w", u.Spec.Name, u.host.name, err)
	}
	u.life, u.PID, u.Commands = started.Life, started.PID, u
	u.SetHostPID(started.PID)
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
	var how error
	if next.How != "" {
		how = errors.New(next.How)
	}
	d.JudgeProcess(u.Unit, how, next.OutOfMemory, "on host "+u.host.name)
}

// Kill implements fleet.Instance.
func (u *unit) Kill(ctx context.Context) (proof string, err error) {
	return call[string](ctx, u.host, "Kill", u.life)
}

// Pause implements fleet.Instance.
func (u *unit) Pause(ctx context.Context) (proof string, err error) {
	return call[string](ctx, u.host, "Pause", u.life)
}

// Resume implements fleet.Instance.
func (u *unit) Resume(ctx context.Context) error { return u.host.tell(ctx, "Resume", u.life) }

// End implements fleet.Instance.
func (u *unit) End(ctx context.Context) error { return u.host.tell(ctx, "Release", u.life) }

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

// unit is one life of a unit, from its start to its end. After a restart the unit has another life.
type unit struct {
	*fleet.Unit
	deployment *deployment
	host       *host
	life       int // number of this life among all lives on the host
}

func (d *deployment) newUnit(spec lab.UnitSpec) *unit {
	return &unit{Unit: fleet.NewUnit(spec), deployment: d, host: d.hosts[d.places[spec.Name]]}
}

// Start implements fleet.Instance.
func (u *unit) Start(ctx context.Context) error {
	request := process.Start{Spec: u.Spec, Further: u.Further, Prepares: u.Prepares, Visited: u.Visited}
	request.Spec.Node = "" // the agent knows no nodes
	request.Spec.Program = u.host.programOf(u.deployment.deployer.programs, u.Spec)
	// After an interrupted call we would not know whether the unit was started.
	started, err := call[agent.Started](context.WithoutCancel(ctx), u.host, "Start", request)
	if err != nil {
		close(u.Ended)
		return fmt.Errorf("start unit %s on host %s: %w", u.Spec.Name, u.host.name, err)
	}
	u.life = started.Life
	u.PID = started.PID
	u.Commands = u
	u.SetHostPID(started.PID)
	go u.listen()
	return nil
}

// Write implements io.Writer for Commands: it sends commands to the unit.
func (u *unit) Write(data []byte) (int, error) {
	if err := u.host.do(context.Background(), "Send", agent.Input{Life: u.life, Text: data}); err != nil {
		return 0, err
	}
	return len(data), nil
}

// listen receives the output of the unit until the unit has ended, and then judges its end. The loss of the
// host fails the trial.
func (u *unit) listen() {
	defer close(u.Ended)
	d := u.deployment
	from, events := io.Pipe()
	handled := make(chan struct{})
	go func() {
		d.HandleEvents(u.Unit, from)
		_ = from.Close() // further events are refused
		close(handled)
	}()
	var next process.Output
	for !next.Ended {
		var err error // Next has no time-out, since a unit may be silent; it fails if the connection ends
		if next, err = callUnlimited[process.Output](context.Background(), u.host, "Next", u.life); err != nil {
			d.Fail(err)
			_ = events.Close()
			<-handled
			return
		}
		_, _ = u.Log.Write(next.Log)  // it never fails
		_, _ = events.Write(next.Out) // HandleEvents may have refused an earlier event
	}
	_ = events.Close()
	<-handled
	var failure error
	if next.Error != "" {
		failure = errors.New(next.Error)
	}
	d.JudgeProcess(u.Unit, failure, next.OutOfMemory, "on host "+u.host.name)
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
func (u *unit) Resume(ctx context.Context) error { return u.host.do(ctx, "Resume", u.life) }

// End implements fleet.Instance. The agent's method for it is called Release.
func (u *unit) End(ctx context.Context) error { return u.host.do(ctx, "Release", u.life) }

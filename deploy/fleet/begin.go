package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// Parts are the parts of a layout, by where and when they start.
type Parts struct {
	// Units start first: servers, then the commands of Prepare, then the others. Last start after them.
	Units, Prepare, Last []lab.UnitSpec
	// Rest runs as processes of this host beside them.
	Rest lab.Layout
}

// OnPlatform returns all that runs on the platform.
func (p Parts) OnPlatform() []lab.UnitSpec { return slices.Concat(p.Units, p.Last, p.Prepare) }

// joiner starts processes of this host under a supervisor. They may call units at the known endpoints.
type joiner interface {
	Join(ctx context.Context, rest lab.Layout, dir string, s *Supervisor,
		known map[string]lab.Endpoint) (lab.Deployment, error)
}

// Launch starts a trial: it calls open, which makes what units need, starts the units, and then the processes
// of this host, which may call units at the known endpoints. If one of these fails, it stops everything.
func (f *Fleet[L]) Launch(ctx context.Context, p Parts, open func() error, processes joiner,
	known map[string]lab.Endpoint) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Stop())
		}
	}()
	if err := open(); err != nil {
		return err
	}
	if err := f.Begin(ctx, p.Units, p.Prepare); err != nil {
		return err
	}
	if err := f.Begin(ctx, p.Last, nil); err != nil {
		return err
	}
	// These start last, because they stop last: their end removes the trial's folder.
	beside, err := processes.Join(ctx, p.Rest, f.dir, f.Supervisor, known)
	if err == nil {
		f.Beside = beside
	}
	return err
}

// Begin starts the units of a layout: servers first, until each can be used; then the commands that prepare,
// and the other units stage by stage.
func (f *Fleet[L]) Begin(ctx context.Context, units, prepare []lab.UnitSpec) error {
	p := f.platform
	units = withEnvironment(units, f.spansTo)
	if err := f.startServers(ctx, units); err != nil {
		return err
	}
	for _, spec := range prepare {
		if err := f.prepare(ctx, spec, nil); err != nil {
			return fmt.Errorf("prepare the trial: %w", err)
		}
	}
	stages := Stages(units)
	for i, stage := range stages {
		if i > 0 && p.BetweenStages != nil {
			if err := p.BetweenStages(ctx, stages[i-1]); err != nil {
				return err
			}
		}
		if err := f.startStage(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// start starts the first life of a unit, unless its platform creates the replicas itself.
func (f *Fleet[L]) start(ctx context.Context, spec lab.UnitSpec) error {
	if f.platform.Skip != nil && f.platform.Skip(spec) {
		return nil
	}
	spec.Restarts = spec.Restarts && !f.platform.NoRestarts
	life := f.platform.New(spec)
	f.Add(life)
	if err := life.Start(ctx); err != nil {
		return err
	}
	if spec.Restarts {
		f.restarters.Add(1)
		go f.keepUp(life)
	}
	return nil
}

// prepare runs a command until it ends or, if visit is set, until the visit has succeeded.
func (f *Fleet[L]) prepare(ctx context.Context, spec lab.UnitSpec, visit Visit) error {
	spec.Foreign = spec.Foreign || f.platform.Keepers // a keeper reports its end, whatever it runs
	life := f.platform.New(spec)
	u := life.unit()
	u.Prepares = true
	u.Visited = visit != nil
	f.Add(life)
	if err := life.Start(ctx); err != nil {
		return err
	}
	if err := u.awaitPrepared(ctx, f.platform.Reach(spec.Name), visit, life.End); err != nil {
		return err
	}
	if f.platform.Discard == nil {
		return nil
	}
	return f.platform.Discard(ctx, life)
}

// serversAtOnce is the number of servers that are started at the same time: most of a start is waiting.
const serversAtOnce = 16

// startServers starts the servers among units and returns when all can be used.
func (f *Fleet[L]) startServers(ctx context.Context, units []lab.UnitSpec) error {
	others := func(spec lab.UnitSpec) bool { return spec.Server == nil }
	servers := slices.DeleteFunc(slices.Clone(units), others)
	return SideBySide(ctx, serversAtOnce, servers, func(ctx context.Context, spec lab.UnitSpec) error {
		if err := f.startServer(ctx, spec); err != nil {
			return fmt.Errorf("start %s (%s): %w", spec.Name, spec.Server.Kind, err)
		}
		return nil
	})
}

// startServer runs the setup of a server, starts it, and returns when it can be used.
func (f *Fleet[L]) startServer(ctx context.Context, spec lab.UnitSpec) error {
	steps := spec.Server.Setup
	if f.platform.SetsUp {
		steps = nil // the server runs its setup itself
	}
	for _, setup := range steps {
		preparing := spec
		preparing.Program = setup.Program
		preparing.Args = setup.Args
		if err := f.prepare(ctx, preparing, setup.Visit); err != nil {
			return err
		}
	}
	if err := f.start(ctx, spec); err != nil {
		return err
	}
	return f.awaitReady(ctx, spec)
}

// startStage starts units at the same time, and waits for those that report readiness.
func (f *Fleet[L]) startStage(ctx context.Context, stage []lab.UnitSpec) error {
	if err := SideBySide(ctx, f.platform.AtOnce, stage, f.start); err != nil {
		return err
	}
	if f.platform.Started != nil {
		if err := f.platform.Started(ctx, stage); err != nil {
			return err
		}
	}
	for _, spec := range stage {
		if err := f.awaitReady(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// readyOf returns the visit that succeeds when a unit can be used; nil if the unit has none.
func readyOf(spec lab.UnitSpec) Visit {
	switch {
	case spec.Server != nil:
		return spec.Server.Ready
	case len(spec.Readiness.Command) > 0:
		return commandVisit(spec)
	}
	return spec.Ready
}

// awaitUsable waits until a unit can be used at an address: until its log has the text of its readiness,
// and it is healthy or a visit succeeds. It waits for the end of a unit that finishes. It returns false at
// once for a unit whose spec has no sign of readiness.
func (u *Unit) awaitUsable(ctx context.Context, address string) (hasSign bool, err error) {
	ctx, cancel := u.readyInTime(ctx)
	defer cancel()
	if u.Spec.Finishes {
		return true, u.awaitFinished(ctx)
	}
	if err := u.awaitText(ctx); err != nil {
		return true, err
	}
	switch ready := readyOf(u.Spec); {
	case u.Spec.Readiness.Healthy:
		err = u.Healthy(ctx)
	case ready != nil:
		return true, AwaitVisit(ctx, u, address, ready)
	case u.Spec.Readiness.Log == "":
		return false, nil
	}
	if err == nil {
		u.markUsable()
	}
	return true, err
}

// awaitPrepared waits until a command that prepares has ended, and returns an error unless it has
// succeeded. If visit is set, release ends the command once the visit has succeeded, and how it then ends
// does not matter.
func (u *Unit) awaitPrepared(
	ctx context.Context, address string, visit Visit, release func(context.Context) error,
) error {
	if visit != nil {
		if err := AwaitVisit(ctx, u, address, visit); err != nil {
			return err
		}
		if err := release(ctx); err != nil {
			return err
		}
	}
	program := cmp.Or(u.Spec.Program, u.Spec.Image, u.Spec.Own)
	select {
	case <-u.Ended:
	case <-ctx.Done():
		return fmt.Errorf("%s (%s): %w", u.Spec.Name, program, context.Cause(ctx))
	}
	how := u.failure
	if u.outcome != nil {
		how = "ended: " + u.outcome.Error()
	}
	if u.Unkept != nil || visit != nil || how == "" {
		return u.Unkept
	}
	return fmt.Errorf("%s (%s) %s%s", u.Spec.Name, program, how, u.Log.LastWords())
}

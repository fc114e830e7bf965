// Package fleet owns the life of a deployment, whatever its units run on: the order of their start,
// readiness, their lives one after another, events and commands, faults with their proofs, logs, files that
// they hand over, and unexpected ends, which fail the trial. A platform (Platform, Instance) implements
// what differs: the operations on one life of a unit, and on a node. A unit that is started again begins a
// new life.
//
// A Supervisor is the conductor's side of the control protocol for all units of a trial; a Fleet holds the
// units that one platform runs.
//
// Entry points: NewSupervisor, New, Fleet.Begin; Platform and Instance for a new deployer.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/relay"
)

// Fleet holds the units of a layout that one platform runs, each in its present life. Other units of the
// layout may run elsewhere under the same supervisor. L is the platform's type of a life. A Fleet implements
// lab.Deployment; a platform with its own meter, accounts or arrivals overrides these methods.
type Fleet[L Instance] struct {
	*Supervisor
	// Endpoints are the addresses at which units call each other.
	Endpoints map[string]lab.Endpoint
	// Wanted holds the links of hosts that the layout changes.
	Wanted *links.Wanted
	// Relays stand in front of units that can become slow, or whose link has a delay.
	Relays relay.Relays
	// Beside is the deployment of processes of this host beside the units; nil: none yet.
	Beside lab.Deployment
	// Watching is the context of the fleet's life; Unwatch ends it.
	Watching context.Context
	Unwatch  context.CancelFunc

	platform Platform[L]
	dir      string   // of the trial
	spansTo  []string // variables that tell units where to send their spans
	losses   losses   // of nodes

	mu       sync.Mutex
	byName   map[string]L
	prepared []L                // commands that ran before the units
	harmed   map[fault]struct{} // not healed yet
	stopOnce sync.Once
	stopErr  error // what Stop returns, after stopOnce

	// starting ends when Stop begins: no life starts from then on. Stop then waits for the restarters.
	starting    context.Context
	endStarting context.CancelFunc
	restarters  sync.WaitGroup // goroutines that run keepUp
}

// New returns a fleet without units for the trial whose files are in dir. It outlives ctx.
func New[L Instance](ctx context.Context, s *Supervisor, dir string, platform Platform[L]) *Fleet[L] {
	f := &Fleet[L]{Supervisor: s, dir: dir, platform: platform, byName: map[string]L{},
		harmed: map[fault]struct{}{}, Endpoints: map[string]lab.Endpoint{}, Wanted: links.Of(nil, nil)}
	f.Watching, f.Unwatch = context.WithCancel(context.WithoutCancel(ctx))
	f.starting, f.endStarting = context.WithCancel(f.Watching)
	return f
}

// unit lets every type that embeds a Unit implement Instance.
func (u *Unit) unit() *Unit { return u }

// Add adds a life of a unit, which replaces its former one. Commands that prepare are kept in a list of
// their own.
func (f *Fleet[L]) Add(life L) {
	u := life.unit()
	f.mu.Lock()
	if u.Prepares {
		f.prepared = append(f.prepared, life)
	} else {
		f.byName[u.Spec.Name] = life
	}
	f.mu.Unlock()
	if !u.Prepares {
		f.Supervisor.Add(u)
	}
}

// Named returns the present life of a unit; the zero value if the platform runs no unit of that name.
func (f *Fleet[L]) Named(name string) L {
	life, _ := f.find(name)
	return life
}

// find returns the present life of a unit, and whether the platform runs it.
func (f *Fleet[L]) find(name string) (life L, runs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	life, runs = f.byName[name]
	return life, runs
}

// All returns the units of the platform as they are now, in the order of the layout.
func (f *Fleet[L]) All() []L {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []L
	for _, u := range f.Supervisor.All() {
		if life, ours := f.byName[u.Spec.Name]; ours {
			all = append(all, life)
		}
	}
	return all
}

// Prepared returns the commands that ran before the units, in their order.
func (f *Fleet[L]) Prepared() []L {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.prepared)
}

// Everything returns the commands of Prepared and then the units of All.
func (f *Fleet[L]) Everything() []L { return append(f.Prepared(), f.All()...) }

// Units implements lab.Deployment.
func (f *Fleet[L]) Units() (units []lab.Unit) {
	for _, life := range f.All() {
		u := life.unit()
		span := f.platform.Span
		if u.HasFinished() {
			continue
		}
		if span == "" && u.Spec.Foreign {
			span = lab.SpanBelow
		}
		units = append(units, lab.Unit{Name: u.Spec.Name, Role: u.Spec.Role, PID: u.HostPID(), Span: span,
			NameBy: u.Spec.NameBy})
	}
	if f.platform.Further != nil {
		units = append(units, f.platform.Further()...)
	}
	if f.Beside != nil {
		units = append(units, f.Beside.Units()...)
	}
	return units
}

// Endpoint implements lab.Deployment.
func (f *Fleet[L]) Endpoint(unit string) (lab.Endpoint, error) {
	endpoint, ours := f.Endpoints[unit]
	switch {
	case ours && f.platform.Dial != nil:
		endpoint.Dial = f.platform.Dial(unit)
	case !ours && f.Beside != nil:
		return f.Beside.Endpoint(unit)
	case !ours:
		return endpoint, fmt.Errorf("there is no unit %q that listens", unit)
	}
	return endpoint, nil
}

// logsAtOnce limits how many logs are read at the same time.
const logsAtOnce = 16

// Logs implements lab.Deployment.
func (f *Fleet[L]) Logs() map[string]string {
	logs := map[string]string{}
	if f.Beside != nil {
		maps.Copy(logs, f.Beside.Logs())
	}
	_ = ForAll(f.Watching, logsAtOnce, f.Everything(), func(ctx context.Context, life L) error {
		if read := life.unit().ReadLog; read != nil {
			read(ctx)
		}
		return nil
	})
	for _, life := range f.Everything() {
		if u := life.unit(); u.Log.String() != "" {
			logs[u.Spec.Name] = u.Log.String()
		}
	}
	return logs
}

// Links implements lab.Deployment.
func (f *Fleet[L]) Links() map[string]string { return f.Wanted.Proofs() }

// Clocks implements lab.Deployment.
func (f *Fleet[L]) Clocks(ctx context.Context) ([]lab.ClockReading, error) {
	if !f.platform.OwnClocks {
		return nil, nil
	}
	return f.askClocks(ctx)
}

// PlatformCost implements lab.Deployment.
func (f *Fleet[L]) PlatformCost() lab.PlatformCost {
	cost := f.platform.Made.Cost(f.Starts())
	if f.platform.Images == nil {
		return cost
	}
	var units []lab.UnitSpec
	for _, life := range f.All() {
		units = append(units, life.unit().Spec)
	}
	cost.Images = append(cost.Images, f.platform.Images(f.Watching, units)...)
	return cost
}

// Daemons implements lab.Deployment.
func (f *Fleet[L]) Daemons() (daemons []lab.Unit, why string) {
	if f.platform.Daemons == nil {
		return nil, ""
	}
	return f.platform.Daemons()
}

// Meter implements lab.Deployment: a meter of this host reads the units, unless the platform has another.
func (f *Fleet[L]) Meter() lab.Meter { return nil }

// Accounts implements lab.Deployment for platforms that meter no units.
func (f *Fleet[L]) Accounts(_, _ time.Time) (usage []lab.PlatformUsage, note string) { return nil, "" }

// Arrivals implements lab.Deployment for platforms that add no replicas.
func (f *Fleet[L]) Arrivals(context.Context, func(lab.Arrived) error) error { return nil }

// Furnish makes what must exist before units start: relays at an address of this host, volumes that can
// become full, which show makes visible on nodes, a receiver of spans at the address, and the links of hosts.
func (f *Fleet[L]) Furnish(ctx context.Context, units []lab.UnitSpec, address string,
	host func(name string) *hosts.Host, show func(folder string) error) (err error) {
	if f.Relays, err = relay.InFront(f.Wanted.Relayed(units), f.Endpoints, address); err != nil {
		return err
	}
	if err := volume.Prepare(units, f.Volume, show); err != nil {
		return err
	}
	if f.AwaitsSpans(units) {
		if f.spansTo, err = f.spans.Listen(address); err != nil {
			return err
		}
	}
	return f.Wanted.Make(ctx, host, f.Relays)
}

// AwaitsSpans reports whether spans of units are received.
func (f *Fleet[L]) AwaitsSpans(units []lab.UnitSpec) bool {
	return f.spans != nil && slices.ContainsFunc(units, lab.UnitSpec.IsUsersProgram)
}

// ReceiveSpans starts to receive spans from a listener, which units reach at an address.
func (f *Fleet[L]) ReceiveSpans(from net.Listener, address string) {
	f.spansTo = f.spans.Serve(from, address)
}

// Volume returns the folder of a unit.
func (f *Fleet[L]) Volume(spec lab.UnitSpec) string { return Volume(f.dir, spec) }

// JudgeProcess judges the end of a unit that is a process. how is the error with which it ended. For a
// foreign unit that is the error of its keeper, which may have left processes; left completes the message
// with their place. outOfMemory reports that the kernel has killed the unit at its limit. Once Stop has
// begun, foreign units may end.
func (f *Fleet[L]) JudgeProcess(u *Unit, how error, outOfMemory bool, left string) {
	if !u.Spec.Foreign {
		if how != nil && outOfMemory {
			how = errors.New(OutOfMemory(u.Spec))
		}
		f.Judge(u, how)
		return
	}
	if how != nil {
		u.Unkept = fmt.Errorf("the keeper of unit %s ended: %w%s\nprocesses of the unit may be left %s",
			u.Spec.Name, how, u.Log.LastWords(), left)
	}
	failure := u.failure
	if failure != "" && outOfMemory {
		failure = "ended: " + OutOfMemory(u.Spec)
	}
	if f.starting.Err() == nil && !u.Prepares {
		f.JudgeForeign(u, failure)
	}
}

// Stop implements lab.Deployment. It continues after errors.
func (f *Fleet[L]) Stop() error {
	f.stopOnce.Do(func() {
		defer f.Unwatch()
		f.expectEnds()
		f.endStarting()
		f.restarters.Wait()
		f.stopErr = errors.Join(f.restoreNodes(f.Watching), f.platform.Clear(), f.Relays.Close())
		// Beside stops last, because it removes the trial's folder.
		if f.Beside != nil {
			f.stopErr = errors.Join(f.stopErr, f.Beside.Stop())
		} else {
			f.stopErr = errors.Join(f.stopErr, volume.UnmountBelow(f.dir), os.RemoveAll(f.dir))
		}
	})
	return f.stopErr
}

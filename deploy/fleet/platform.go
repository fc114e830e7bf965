package fleet

import (
	"context"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Instance is one life of a unit on its platform: a process, a container, a pod. It embeds a Unit.
type Instance interface {
	unit() *Unit
	// Start starts the unit, and connects to it if it is one of ours. It closes Ended if it fails before
	// anything was started.
	Start(ctx context.Context) error
	// Kill kills every process of the unit and returns the proof.
	Kill(ctx context.Context) (proof string, err error)
	// Pause stops every process of the unit and returns the proof.
	Pause(ctx context.Context) (proof string, err error)
	// Resume continues the processes that Pause has stopped.
	Resume(ctx context.Context) error
	// End asks the program to end and gives it time to clean up.
	End(ctx context.Context) error
}

// Platform declares what a deployment's platform does and which capabilities it has. New, Reach and Clear are
// required. It lacks a capability whose function is nil, unless the field says otherwise.
type Platform[L Instance] struct {
	// Name is the name of the deployment, and Faults are the faults that it can do to units.
	Name   string
	Faults []lab.FaultKind
	// SharesMemory: the units share memory, so none can be restarted.
	SharesMemory bool
	// AtOnce is the number of units that are started at the same time.
	AtOnce int
	// SetsUp: servers run their setup (lab.Server.Setup) themselves. Otherwise the fleet runs it before their
	// start.
	SetsUp bool
	// NoRestarts: what ends with an error before the load is not started again, and fails the trial.
	NoRestarts bool
	// Keepers: every foreign program, and every command that prepares, runs below a keeper, a process of ours
	// that reports its end.
	Keepers bool
	// OwnClocks: units may run on hosts with clocks of their own.
	OwnClocks bool
	// Made holds what was made once for all trials; nil: nothing was.
	Made *Made
	// Images returns the users' images that units are containers of, as far as their sizes are known; nil: no
	// unit is such a container.
	Images func(ctx context.Context, units []lab.UnitSpec) []lab.ProgramImage
	// Daemons returns the processes of this host that are the platform itself, or why they cannot be read;
	// nil: there are none.
	Daemons func() (daemons []lab.Unit, why string)
	// Span says which processes a unit consists of; "": the process itself, or those below it if it is foreign.
	Span lab.Span
	// New returns the first life of a unit, before its start.
	New func(spec lab.UnitSpec) L
	// Skip reports whether the fleet starts no instance of a unit, because the platform creates its replicas
	// itself.
	Skip func(spec lab.UnitSpec) bool
	// Started is called with every stage of units that runs; they may not be ready yet.
	Started func(ctx context.Context, stage []lab.UnitSpec) error
	// BetweenStages is called with a stage that is ready, before the next one starts.
	BetweenStages func(ctx context.Context, stage []lab.UnitSpec) error
	// Discard removes a command that has run to its end; nil: Clear removes it with the units.
	Discard func(ctx context.Context, life L) error
	// Further returns units that are no instances of the fleet.
	Further func() []lab.Unit
	// Dial returns the address at which this host calls an endpoint; nil: the address that peers call.
	Dial func(endpoint string) string
	// Clear removes everything of the trial from the platform, and fails if something is left.
	Clear func() error
	// Next returns the next life of a unit that has ended, before its start. If mayMove is true, it may run on
	// another node. nil: New returns it.
	Next func(ctx context.Context, ended L, mayMove bool) (L, error)
	// Reach returns the address at which this host reaches a unit, without a relay; "" if it does not listen.
	Reach func(unit string) string
	// AwaitOpen waits until a unit accepts connections again after a fault; nil: the fleet tries the address of
	// Reach.
	AwaitOpen func(ctx context.Context, life L) error
	// Refuse returns why no fault can be done to a unit.
	Refuse func(life L) error
	// Cut disconnects a unit from its network if off is true, or connects it again.
	Cut func(ctx context.Context, life L, off bool) error
	// Vacate ends a unit for an update; nil: the start of its next life does that.
	Vacate func(ctx context.Context, life L) error
	// Gone returns an error if a process of an ended unit still runs; nil: Kill has checked that.
	Gone func(ctx context.Context, life L) error
	// Describe names the container or pod of a unit and its node, for proofs of updates.
	Describe func(life L) string
	// NodeOf returns the node of a unit.
	NodeOf func(life L) string
	Nodes  Nodes[L]
}

// Nodes declares what a platform does with its nodes.
type Nodes[L Instance] struct {
	// Faults are the faults that it can do to nodes; none: it has no nodes.
	Faults []lab.FaultKind
	// Stay: the nodes remain for the next trial.
	Stay bool
	// Named returns a node; nil: none has the name.
	Named func(name string) Node
	// Probe returns a host:port that answers only while a node is up.
	Probe func(name string) string
	// LongestCut limits how long a node may be cut off; 0: no limit.
	LongestCut time.Duration
	// Lost reports whether the platform has noticed that a node is lost; nil: it does not check.
	Lost func(ctx context.Context, name string) (bool, error)
	// Perished waits for the end of a unit whose node was killed.
	Perished func(ctx context.Context, life L) error
	// Close keeps new units off a node if closed is true, or admits them again.
	Close func(ctx context.Context, name string, closed bool) error
	// Evict ends a unit on a closed node.
	Evict func(ctx context.Context, life L) error
	// AwaitEmpty waits until nothing of the trial runs on a node.
	AwaitEmpty func(ctx context.Context, name string) error
}

// Node is a host of a platform. A fault of a node affects all units on it.
type Node interface {
	// Link disconnects the node from the network, or connects it again.
	Link(ctx context.Context, up bool) error
	// Kill ends the node like a power cut; Boot starts it again.
	Kill(ctx context.Context) error
	Boot(ctx context.Context) error
}

// Gate checks before every trial that the owner of a user's hosts, or cluster, consents to load on them.
// Deployers that may use such hosts embed it.
type Gate struct {
	admit func(context.Context) error // nil: every trial may begin
}

// AskBefore sets the check before every trial. Callers set it before the first.
func (g *Gate) AskBefore(admit func(context.Context) error) { g.admit = admit }

// Admit calls the check. It returns an error unless the next trial may begin.
func (g *Gate) Admit(ctx context.Context) error {
	if g.admit == nil {
		return nil
	}
	return g.admit(ctx)
}

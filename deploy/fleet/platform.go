package fleet

import (
	"context"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Instance is one life of a unit as its platform has it: a process, a container, a pod. It embeds a Unit.
type Instance interface {
	unit() *Unit
	// Start starts the unit, and connects to it where it is one of ours. Where nothing was started that could
	// end, it closes Ended.
	Start(ctx context.Context) error
	// AwaitOpen returns when the unit accepts connections, where it listens at all.
	AwaitOpen(ctx context.Context) error
	// Kill ends every process of the unit at once, and returns what was seen of that.
	Kill(ctx context.Context) (proof string, err error)
	// Pause keeps every process of the unit from running, and returns what was seen of that.
	Pause(ctx context.Context) (proof string, err error)
	// Resume lets them go on.
	Resume(ctx context.Context) error
	// End asks the program to end, and gives it time for what it has to put in order.
	End(ctx context.Context) error
}

// Platform is what differs between deployments. A platform cannot do what is nil.
type Platform[L Instance] struct {
	// Name is that of the deployment, and Faults are those that it can do to units.
	Name   string
	Faults []lab.FaultKind
	// SharesMemory says that the units share memory, so that none can be started again.
	SharesMemory bool
	// AtOnce is how many units are started at the same time.
	AtOnce int
	// SetsUp says that servers carry out their setup themselves.
	SetsUp bool
	// Keepers says that foreign programs have keepers, which speak also for commands that prepare.
	Keepers bool
	// OwnClocks says that units may run on hosts with clocks of their own.
	OwnClocks bool
	// Made holds what was made once for all trials; nil: nothing was.
	Made *Made
	// Daemons returns the processes of this host that are the platform itself, or why nobody can read them;
	// nil: there are none.
	Daemons func() (daemons []lab.Unit, why string)
	// Span says which processes a unit is; "": that of its number, or those below it where it is foreign.
	Span lab.Span
	// New returns the first life of a unit, before its start.
	New func(spec lab.UnitSpec) L
	// Skip reports whether the platform itself makes as many of a unit as are wanted.
	Skip func(spec lab.UnitSpec) bool
	// Started is called with every stage of units that runs, and may not be ready yet.
	Started func(ctx context.Context, stage []lab.UnitSpec) error
	// Followed is called with every stage that is ready and has another one after it.
	Followed func(ctx context.Context, stage []lab.UnitSpec) error
	// Discard removes a command that has done its part; nil: it goes with the units.
	Discard func(ctx context.Context, life L) error
	// Further returns units that have no life here.
	Further func() []lab.Unit
	// Dial returns where this host calls a unit, if it does so elsewhere than its peers.
	Dial func(endpoint string) string
	// Clear removes all that the platform has of the trial, and fails where something is left.
	Clear func() error
	// Next returns the next life of a unit that has ended, before its start. It may begin on another node
	// when elsewhere is true.
	Next func(ctx context.Context, ended L, elsewhere bool) (L, error)
	// Reach returns the address at which this host reaches a unit, without a relay; "": it does not listen.
	Reach func(unit string) string
	// Refuse returns why a unit can have no fault at all.
	Refuse func(life L) error
	// Cut takes a unit off its network, or puts it back.
	Cut func(ctx context.Context, life L, off bool) error
	// Vacate has the platform end a unit for an update; nil: the start of its next life does that.
	Vacate func(ctx context.Context, life L) error
	// Gone fails when something still runs of a unit that was ended; nil: who ends it has looked.
	Gone func(ctx context.Context, life L) error
	// Describe returns what a unit runs in, with its node, for proofs of updates.
	Describe func(life L) string
	// NodeOf returns the node of a unit.
	NodeOf func(life L) string
	Nodes  Nodes[L]
}

// Nodes is what a platform does with its nodes.
type Nodes[L Instance] struct {
	// Faults are those that it can do to nodes; none: it has none of its own.
	Faults []lab.FaultKind
	// Stay says that they are there for the next trial, too.
	Stay bool
	// Named returns a node; nil: none has the name.
	Named func(name string) Node
	// Probe returns the host:port that answers only while a node is there.
	Probe func(name string) string
	// LongestCut is how long a node may be cut off; 0: there is no limit.
	LongestCut time.Duration
	// Lost reports whether the platform has noticed that a node is lost; nil: it does not look.
	Lost func(ctx context.Context, name string) (bool, error)
	// Perished returns when a unit has ended whose node was killed.
	Perished func(ctx context.Context, life L) error
	// Close keeps units from a node that is being emptied, or lets it have units again.
	Close func(ctx context.Context, name string, closed bool) error
	// Evict ends a unit on a node that is closed.
	Evict func(ctx context.Context, life L) error
	// AwaitEmpty returns when nothing of the trial runs on a node.
	AwaitEmpty func(ctx context.Context, name string) error
}

// Node is a host of a platform, to which faults are done with all units on it.
type Node interface {
	// Link takes the node off the network, or puts it back.
	Link(ctx context.Context, up bool) error
	// Kill ends the node as a power cut does; Boot starts it again.
	Kill(ctx context.Context) error
	Boot(ctx context.Context) error
}

package lab

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Deployer puts the units of a layout on hosts. One that is an io.Closer keeps things
// between trials and is closed after the last.
type Deployer interface {
	Name() string
	// Can returns its capabilities in addition to running units.
	Can() Capabilities
	// Preflight returns an error, with the remedy, if this host lacks descriptors, processes, memory or other
	// needs of a layout. It starts nothing. It waits for daemons and hosts up to limits of its own, but not
	// longer than ctx.
	Preflight(ctx context.Context, layout Layout) error
	// Deploy starts every unit. dir is a private, existing directory for the
	// deployment's files on this host; Stop removes it. After an error nothing is left running.
	Deploy(ctx context.Context, layout Layout, dir string) (Deployment, error)
}

// Incapable is the error of a deployer that lacks a capability which a layout needs and other deployers have.
type Incapable struct{ Why string }

// Error implements error.
func (i *Incapable) Error() string { return i.Why }

// Capabilities lists the abilities of a deployer in addition to running units; the zero value has none.
type Capabilities struct {
	// Faults lists the kinds of faults that it can inject into units.
	Faults []FaultKind
	// Nodes returns the hosts of a layout into which faults can be injected; nil: it has none.
	Nodes func(layout Layout) []Node
	// Links returns nil if the links of its hosts can be shaped, or the reason why not; nil: it creates no
	// hosts.
	Links func() error
	// Autoscale returns what this host lacks for a platform that adds replicas; nil: the platform adds none.
	Autoscale func() error
	// Disk describes the replicated disk for volumes, such as "GlusterFS 10.3, 3 copies"; nil: it has none.
	Disk func() string
	// Spans: units can reach the receiver at Layout.Spans.
	Spans bool
}

// Node is a host of a deployment, with the kinds of faults that can be injected into it.
type Node struct {
	Name   string
	Faults []FaultKind
	Pinned []string // units that the layout places there, which cannot move to other nodes
}

// Nodes returns nodes with the same kinds of faults.
func Nodes(names []string, faults ...FaultKind) (all []Node) {
	for _, name := range names {
		all = append(all, Node{Name: name, Faults: faults})
	}
	return all
}

// On returns the layout with the nodes of a deployer. It returns an error if the layout needs a replicated
// disk and the deployer has none.
func (l Layout) On(d Deployer) (Layout, error) {
	if nodes := d.Can().Nodes; nodes != nil {
		l.Nodes = nodes(l)
	}
	if !l.OnReplicatedDisk() {
		return l, nil
	}
	return l, CheckDisk(d)
}

// Node returns the node of a name, if there is one.
func (l Layout) Node(name string) (node Node, known bool) {
	return first(l.Nodes, func(n Node) bool { return n.Name == name })
}

// The deployments that studies can name.
const (
	Process      = "process"
	DockerHost   = "docker-host"   // containers in the network of this host
	DockerBridge = "docker-bridge" // containers in a bridge network of their own
	Swarm        = "swarm"         // services of a Docker Swarm of several nodes
	Kubernetes   = "kubernetes"    // pods of a cluster
	SSH          = "ssh"           // processes of hosts that the user names
)

// Deployments lists the deployments that studies can name.
func Deployments() []string {
	return []string{Process, DockerHost, DockerBridge, Swarm, Kubernetes, SSH}
}

// Endpoint is the address of a unit. Both sides are host:port.
type Endpoint struct {
	// Bind is the address on which the unit listens, Dial the one that others call. They differ if the
	// unit has other addresses inside than outside, as in a container.
	Bind, Dial string
}

// Readiness is the readiness check of a unit that does not speak the control protocol: its log, then a
// command. Like units with UnitSpec.Ready, units with such a check start before the others.
type Readiness struct {
	// Log is a part of a line that the unit writes; empty: none.
	Log string
	// Command is a program with arguments that is run on the conductor's host, in UnitSpec.Dir and with
	// the unit's environment, until it exits with 0; empty: none. {host} and {port} in it are replaced by
	// the unit's address as seen from that host.
	Command []string
	// Healthy waits for the health check of the unit's container.
	Healthy bool
	// Within limits the wait for each check; 0: the limit of servers.
	Within time.Duration
}

// Awaited reports whether there is anything to wait for.
func (r Readiness) Awaited() bool { return r.Log != "" || len(r.Command) > 0 || r.Healthy }

// Reach selects the address at which the peers of a unit call it.
type Reach string

const (
	// ReachUsual is the address that the deployment gives to peers. It stays the same when the unit is started
	// again.
	ReachUsual Reach = ""
	// ReachDirect is the unit's own address, without a service or proxy of the platform. Unless it is also the
	// usual one, it may change when the unit is started again.
	ReachDirect Reach = "direct"
	// ReachPublished is a port of the unit's node, which the platform forwards to the unit.
	ReachPublished Reach = "published"
)

// Deployment is a running layout. Its methods may be called from several
// goroutines. A unit that ends before Stop is a failure of the trial.
type Deployment interface {
	// Units lists the running units, in the order of the layout.
	Units() []Unit
	// Endpoint returns the address of a unit that listens, seen from the conductor's host.
	Endpoint(unit string) (Endpoint, error)
	// Failed is closed when a unit reports "failed", or ends unexpectedly. Failure returns
	// the reason, and nil before. Of several failures it is the first, but the end of a server
	// takes precedence over the failures of its clients.
	Failed() <-chan struct{}
	Failure() error
	// Await returns the next event of the named kind from the lead unit. It
	// fails when ctx ends, and with Failure.
	Await(ctx context.Context, kind EventKind) (Event, error)
	// Command sends a command to the lead unit.
	Command(command Command) error
	// Reports waits until the lead unit has ended after the stop command, and then,
	// stage by stage (UnitSpec.Stage), sends that command to every other unit that
	// speaks the protocol and still runs and waits until they have ended too. It
	// returns what each reported, in the order of the layout. A unit that has ended
	// without a report is left out; foreign units go on until Stop.
	Reports(ctx context.Context) ([]UnitReport, error)
	// EndForeign ends foreign units that are no servers as Stop does, and waits for it.
	// The files in the folder UnitSpec.Leaves of their volumes are then in HandedOver,
	// as "UNIT.FILE".
	EndForeign(ctx context.Context) error
	// HandedOver returns the folder of this host with the files that the units have handed
	// over (EventFile). It is complete after Reports, and removed by Stop.
	HandedOver() string
	// Logs returns the standard error of each unit by name, and for foreign units also
	// their standard output. Units without output are left out. Only the end of a long log
	// is kept.
	Logs() map[string]string
	// Stop ends every unit that still runs, by id, and removes the directory.
	// It is safe to call twice and after a failure; it fails when anything is left.
	Stop() error
	Harmer
	Platform
}

// Platform describes where the units of a deployment run: hosts with their clocks and links, daemons, a
// cluster, images.
type Platform interface {
	// NodeOf returns the node that a unit is on now; empty: it is on the conductor's host.
	NodeOf(unit string) string
	// Links returns the probed state of the links that the layout changes, by host.
	Links() map[string]string
	// Clocks reads the clock of every unit that speaks the control protocol and waits for a command. It
	// returns none if all units run on the conductor's host, which has one clock.
	Clocks(ctx context.Context) ([]ClockReading, error)
	// Arrivals calls add for every replica that the platform adds, as soon as it is usable, until ctx ends. It
	// returns at once if the platform adds none.
	Arrivals(ctx context.Context, add func(Arrived) error) error
	// Meter returns a meter for the units if those of this host cannot read them, else nil.
	Meter() Meter
	// Accounts returns the usage of units between two moments as the platform has reported it until now; note
	// is the reason if it has reported nothing or not everything. Both are empty if it meters no units.
	Accounts(from, to time.Time) (reported []PlatformUsage, note string)
	// PlatformCost returns the cost of making the units ready.
	PlatformCost() PlatformCost
	// Daemons returns the processes of the platform itself on this host, for a meter; their roles are the parts
	// of the platform. If they cannot be read, why is the reason; both are empty if there is no platform
	// between the units and the kernel.
	Daemons() (daemons []Unit, why string)
}

// Unit is one running process, container or pod.
type Unit struct {
	Name string `json:"name"`
	Role string `json:"role"`
	PID  int    `json:"pid"`
	// Span selects the processes of the unit; empty: PID alone.
	Span Span `json:"span,omitempty"`
	// NameBy selects how processes of the same program are named: NameByFolder, NameByPort, an argument by its
	// name ("--service": the value of that flag) or by its number, counted from 1; empty: by their folders if
	// these differ, else by their ports.
	NameBy string `json:"-"`
	// Standby units do not run yet: the platform may add them (see Platform.Arrivals).
	Standby bool `json:"-"`
}

// The values of Unit.NameBy that are not arguments.
const (
	NameByFolder = "folder" // that of their script, else their working directory
	NameByPort   = "port"   // the lowest port on which they listen
)

// Span selects the processes that belong to a unit, starting from one process.
type Span string

// Spans other than the process alone.
const (
	// SpanTree: the process and all its descendants.
	SpanTree Span = "tree"
	// SpanContainer: all processes in the control group of the process, which is a container's.
	SpanContainer Span = "container"
	// SpanBelow: all descendants of the process, without the process itself.
	SpanBelow Span = "below"
	// SpanHost: all processes in the PID namespace of the process, without those of
	// containers: the processes of a host itself.
	SpanHost Span = "host"
)

// programs is the prefix of a span that SpanPrograms returns; the names follow.
const programs = "host: "

// SpanPrograms returns a SpanHost limited to programs with these names: "host: dockerd,runc".
func SpanPrograms(names ...string) Span { return Span(programs + strings.Join(names, ",")) }

// Programs returns the names in a span of SpanPrograms, or nil for another span.
func (s Span) Programs() []string {
	list, is := strings.CutPrefix(string(s), programs)
	if !is {
		return nil
	}
	return strings.Split(list, ",")
}

// PeerVariable returns the name of the environment variable with a peer's address:
// CLEAVE_ADDRESS_CORE for the unit core, CLEAVE_ADDRESS_CORE_ADMIN for its port admin (core:admin).
func PeerVariable(unit string) string {
	return "CLEAVE_ADDRESS_" + strings.ToUpper(strings.NewReplacer("-", "_", ":", "_").Replace(unit))
}

// Direct returns the name under which a unit with a sidecar proxy reaches a peer without the proxies, for
// connections that are no calls.
func Direct(peer string) string { return peer + "-direct" }

// AddressOf returns the placeholder for a peer's host:port, in the environment of a unit
// and in the files of a foreign one. The deployer replaces it.
func AddressOf(peer string) string { return "{address:" + peer + "}" }

// AddressSeparator separates the addresses of a peer's replicas.
const AddressSeparator = ","

// StandbyMark is the prefix of the address of a replica that may not be running yet.
const StandbyMark = "?"

// SplitAddress returns the network of an address, host:port or unix:PATH, and the address in it.
func SplitAddress(address string) (network, of string) {
	if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		return "unix", path
	}
	return "tcp", address
}

// Variables that a deployer gives to a unit that it reaches over the network.
const (
	// EnvironmentVariable is the path of a file with more variables, including the
	// following: a JSON object of strings. It contains secrets: only the unit may read it.
	EnvironmentVariable = "CLEAVE_ENVIRONMENT"
	// ControlVariable is the host:port at which the unit waits for its conductor, and
	// TokenVariable the secret that the conductor sends as its first line.
	ControlVariable = "CLEAVE_CONTROL"
	TokenVariable   = "CLEAVE_TOKEN"
	// MemoryVariable is the path of the file with the memory that all units share, if
	// they have not inherited it as a descriptor.
	MemoryVariable = "CLEAVE_MEMORY"
)

// EventKind is the kind of a message from a unit to the conductor.
type EventKind string

// Events, in the order a unit sends them. Every unit may send failed.
const (
	// EventReady: all units of the system are connected and wait for start.
	EventReady EventKind = "ready"
	// EventLoaded: one second of the lead's load, as a LoadSecond.
	EventLoaded EventKind = "loaded"
	// EventFinished: every operation has reached its final state.
	EventFinished EventKind = "finished"
	// EventClock: the answer to CommandClock, as a ClockAnswer.
	EventClock EventKind = "clock"
	// EventUsage: the answer to CommandUsage, as a UsageAnswer.
	EventUsage EventKind = "usage"
	// EventFile: a piece of a file that the unit hands over, as a FilePiece.
	EventFile EventKind = "file"
	// EventReport: the unit's report of its work; the last message that it sends.
	EventReport EventKind = "report"
	// EventFailed: the unit cannot go on; Error is the reason.
	EventFailed EventKind = "failed"
)

// Event is one line that a unit writes to its standard output, as JSON.
type Event struct {
	Event EventKind `json:"event"`
	// ElapsedSeconds runs on the lead's monotonic clock from just before the
	// first start signal until after the last operation (finished only).
	ElapsedSeconds float64         `json:"elapsed_seconds,omitempty"`
	Error          string          `json:"error,omitempty"`
	Data           json.RawMessage `json:"data,omitempty"`
}

// FilePiece is a piece of a file that a unit hands over. The pieces of a file are sent
// in order.
type FilePiece struct {
	// File is a file name without a folder that no other unit of the layout uses.
	File string `json:"file"`
	Data []byte `json:"data"`
}

// CommandKind is the kind of a message from the conductor to a unit.
type CommandKind string

// The kinds of commands. Only the lead unit gets a start command. Units answer clock and usage while they
// wait for another command.
const (
	CommandStart CommandKind = "start" // begin the job; ElapsedSeconds counts from here
	CommandStop  CommandKind = "stop"  // finish the running work, hand over files, report and exit
	CommandClock CommandKind = "clock" // answer with the time of the unit's clock (EventClock)
	CommandUsage CommandKind = "usage" // answer with the usage of the process (EventUsage)
)

// Command is one line that a unit reads from its standard input, as JSON.
// The end of that input means that the conductor is gone: the unit exits.
type Command struct {
	Command CommandKind `json:"command"`
}

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
	// Can returns its capabilities beside running units.
	Can() Capabilities
	// Preflight refuses a layout for which this host lacks descriptors, processes or memory, before anything is
	// started. The error says what to do. It waits for daemons and hosts up to limits of its own, and not after
	// the end of ctx.
	Preflight(ctx context.Context, layout Layout) error
	// Deploy starts every unit. dir is a private, existing directory for what the
	// deployment keeps on this host; Stop removes it. On error nothing is left running.
	Deploy(ctx context.Context, layout Layout, dir string) (Deployment, error)
}

// Incapable is the error of a deployer that lacks a capability which a layout needs and other deployers have.
type Incapable struct{ Why string }

// Error implements error.
func (i *Incapable) Error() string { return i.Why }

// Capabilities lists the abilities of a deployer beside running units; the zero value has none.
type Capabilities struct {
	// Faults are the kinds of faults that it can do to units.
	Faults []FaultKind
	// Nodes returns the hosts of a layout that faults can be done to; nil: it has none.
	Nodes func(layout Layout) []Node
	// Links returns nil if the links of its hosts can be shaped, or the reason why not; nil: it makes no hosts.
	Links func() error
	// Autoscale returns what this host lacks for a platform that adds replicas; nil: the platform adds none.
	Autoscale func() error
	// Disk describes the replicated disk for volumes, such as "GlusterFS 10.3, 3 copies"; nil: it has none.
	Disk func() string
	// Spans: the deployer makes Layout.Spans listen at an address that units reach.
	Spans bool
}

// Node is a host of a deployment, and which faults can be done to it.
type Node struct {
	Name   string
	Faults []FaultKind
	Pinned []string // units that the layout places there, which cannot move to other nodes
}

// Nodes returns hosts to which the same faults can be done.
func Nodes(names []string, faults ...FaultKind) (all []Node) {
	for _, name := range names {
		all = append(all, Node{Name: name, Faults: faults})
	}
	return all
}

// On returns the layout with the nodes of a deployer that faults can be done to. The error says that the
// layout needs a replicated disk and the deployer has none.
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
	// Bind is the address on which the unit listens, Dial the one that others call. They differ where the
	// unit sees other addresses than its peers do, as in a container.
	Bind, Dial string
}

// Readiness is the readiness check of a unit without our protocol: its log, then a command. A unit with one
// starts before the others, as one with UnitSpec.Ready does.
type Readiness struct {
	// Log is a part of a line that the unit writes; empty: none.
	Log string
	// Command is a program of the conductor's host and its arguments, which runs, in
	// UnitSpec.Dir and with the unit's environment, until it ends with 0; empty: none. {host} and
	// {port} in it stand for the unit's address as that host reaches it.
	Command []string
	// Healthy: until the health check of its container says so.
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
	// ReachDirect is the unit's own address, with nothing of the platform before it. Where the usual address is
	// another one, it may change when the unit is started again.
	ReachDirect Reach = "direct"
	// ReachPublished is a port of the unit's node, which the platform forwards to the unit.
	ReachPublished Reach = "published"
)

// Deployment is a running layout. Its methods may be called from several
// goroutines. A unit that ends before Stop is a failure of the trial.
type Deployment interface {
	// Units lists what runs, in the order of the layout.
	Units() []Unit
	// Endpoint returns the address of a unit that listens, seen from the conductor's host.
	Endpoint(unit string) (Endpoint, error)
	// Failed is closed when a unit reports "failed", or ends although nobody asked for
	// it; Failure says which, and is nil until then. Of several it is the first, but
	// rather the end of a server than what its clients say of it.
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
	// Files in the folder UnitSpec.Leaves of their volumes are then among those of
	// HandedOver, each after the name of its unit: "UNIT.FILE".
	EndForeign(ctx context.Context) error
	// HandedOver is the folder of this host with the files that the units have handed
	// over (EventFile). It is complete after Reports, and gone after Stop.
	HandedOver() string
	// Logs returns what each unit has written to its standard error, by name; of
	// foreign units also what they wrote to their standard output. Units that
	// wrote nothing are left out. Long logs keep their end.
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
	// Links returns how probes found the links of hosts that the layout wants changed, by host.
	Links() map[string]string
	// Clocks reads the clock of every unit that speaks the control protocol and waits for a command. It
	// returns none where all units run on the conductor's host, which has one clock.
	Clocks(ctx context.Context) ([]ClockReading, error)
	// Arrivals tells of every replica that the platform adds, when it can be used, until ctx ends. It returns
	// at once where none can be added.
	Arrivals(ctx context.Context, tell func(Arrived) error) error
	// Meter returns a meter of the units where no meter of this host can read them; nil: one can.
	Meter() Meter
	// Accounts returns what the platform has said until now of what units used between two moments; note says
	// why it said nothing, or less than there was. Both are empty where it meters no units.
	Accounts(from, to time.Time) (said []PlatformUsage, note string)
	// PlatformCost returns what it took until the units were ready.
	PlatformCost() PlatformCost
	// Daemons returns the processes of this host that are the platform itself, for a meter: the role is a part
	// of the platform. Where there are none, why says why nobody can read them; both are empty where nothing
	// stands between the units and the kernel.
	Daemons() (daemons []Unit, why string)
}

// Unit is one running process, container or pod.
type Unit struct {
	Name string `json:"name"`
	Role string `json:"role"`
	PID  int    `json:"pid"`
	// Span says which processes are the unit: PID alone, unless set.
	Span Span `json:"span,omitempty"`
	// NameBy tells how to name its processes of one program: NameByFolder, NameByPort, an argument by its
	// name ("--service": the word behind it, or behind "--service=") or by its number from 1 on; empty: by
	// their folders, else by their ports.
	NameBy string `json:"-"`
	// Standby units do not run yet: the platform may add them (see Platform.Arrivals).
	Standby bool `json:"-"`
}

// What tells processes of one program apart, beside an argument.
const (
	NameByFolder = "folder" // that of their script, else the one that they work in
	NameByPort   = "port"   // the lowest that they listen on
)

// Span says which processes belong to a unit.
type Span string

// Spans other than the process alone.
const (
	// SpanTree: the process with all that descend from it.
	SpanTree Span = "tree"
	// SpanContainer: all in the control group of the process, which is a container's.
	SpanContainer Span = "container"
	// SpanBelow: all that descend from the process, which itself only keeps them.
	SpanBelow Span = "below"
	// SpanHost: all that see the same processes as the process does, but not what is in
	// containers there: the processes of a host itself.
	SpanHost Span = "host"
)

// programs begins the span of the programs of a host.
const programs = "host: "

// SpanPrograms is SpanHost for programs of these names alone.
func SpanPrograms(names ...string) Span { return Span(programs + strings.Join(names, ",")) }

// Programs returns the names of a SpanPrograms; none: it is another span.
func (s Span) Programs() []string {
	list, is := strings.CutPrefix(string(s), programs)
	if !is {
		return nil
	}
	return strings.Split(list, ",")
}

// PeerVariable returns the environment variable in which a deployer hands a unit the
// address of another: CLEAVE_ADDRESS_CORE for the unit core, CLEAVE_ADDRESS_CORE_ADMIN for its port admin.
func PeerVariable(unit string) string {
	return "CLEAVE_ADDRESS_" + strings.ToUpper(strings.NewReplacer("-", "_", ":", "_").Replace(unit))
}

// Direct returns the name by which a unit with a proxy beside it knows a peer past the proxies, for what is
// no call.
func Direct(peer string) string { return peer + "-direct" }

// AddressOf stands, in the environment of a unit and in the files of a foreign one, for
// the host:port at which it reaches a peer.
func AddressOf(peer string) string { return "{address:" + peer + "}" }

// AddressSeparator stands between the addresses of a peer that runs several times.
const AddressSeparator = ","

// StandbyMark is before the address of a replica that need not be there yet.
const StandbyMark = "?"

// Variables that a deployer gives to a unit that it reaches over the network.
const (
	// EnvironmentVariable names a file with more variables, the following among them:
	// a JSON object of texts, which nobody else may read.
	EnvironmentVariable = "CLEAVE_ENVIRONMENT"
	// ControlVariable is the host:port at which the unit waits for its conductor, and
	// TokenVariable what the conductor sends first, as a line, to prove that it is one.
	ControlVariable = "CLEAVE_CONTROL"
	TokenVariable   = "CLEAVE_TOKEN"
	// MemoryVariable names the file that is the memory which all units share, where
	// they have not inherited it.
	MemoryVariable = "CLEAVE_MEMORY"
)

// EventKind names what a unit tells the conductor.
type EventKind string

// Events, in the order a unit sends them. Every unit may send failed.
const (
	// EventReady: all units of the system are connected and wait for start.
	EventReady EventKind = "ready"
	// EventLoaded: what the lead saw in a second of its load, as a LoadSecond.
	EventLoaded EventKind = "loaded"
	// EventFinished: every operation has reached its final state.
	EventFinished EventKind = "finished"
	// EventClock: the answer to CommandClock, as a ClockAnswer.
	EventClock EventKind = "clock"
	// EventUsage: the answer to CommandUsage, as a UsageAnswer.
	EventUsage EventKind = "usage"
	// EventFile: a piece of a file that the unit hands over, as a FilePiece.
	EventFile EventKind = "file"
	// EventReport: the unit's own account of its work; the last thing it sends.
	EventReport EventKind = "report"
	// EventFailed: the unit gives up; Error says why.
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

// FilePiece is a piece of a file that a unit hands over. The pieces of a file come
// in its order.
type FilePiece struct {
	// File is a plain file name that no other unit of the layout uses.
	File string `json:"file"`
	Data []byte `json:"data"`
}

// CommandKind names what the conductor tells a unit.
type CommandKind string

// Commands. Only the lead unit is told to start.
const (
	CommandStart CommandKind = "start" // begin the job; the clock starts here
	CommandStop  CommandKind = "stop"  // finish what is under way, hand over, report and end
	CommandClock CommandKind = "clock" // answer, while another command is awaited, with what the clock says
	// answer, while another command is awaited, with what the process has used
	CommandUsage CommandKind = "usage"
)

// Command is one line that a unit reads from its standard input, as JSON.
// The end of that input means that the conductor is gone: the unit ends.
type Command struct {
	Command CommandKind `json:"command"`
}

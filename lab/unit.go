package lab

import (
	"context"
	"strings"
	"time"
)

// UnitSpec is one unit to be started. Its groups say what runs, when, how units reach each other, what the
// unit keeps, and where it runs. Deployers add to its environment: CLEAVE_RUN (the run's label), CLEAVE_UNIT
// (its name), CLEAVE_DIR (its volume) and, if it Listens, CLEAVE_ADDRESS (the host:port to listen on).
type UnitSpec struct {
	Name string // unique in the layout: "core", "worker-007"
	Role string // what metering sums over: "core", "worker"
	Runnable
	Lifecycle
	Networking
	Storage
	Placement
	// Limits bound what the unit can use.
	Limits Limits
}

// Runnable describes the program of a unit, or the container of an image, with its input.
type Runnable struct {
	// Program is the file to run; empty means one of our unit programs, the one that Own
	// names. The deployer knows where those are.
	Program, Own string
	// Image names an image that the user has, which a foreign unit is a container of, in the
	// place of Program: Args are what it is told, or none where the image says that itself.
	Image string
	// Container describes the container of an Image to the letter; nil: it has nothing beside the image. Where
	// it is set, Args, Env, Files and Volume are not for the unit.
	Container *ContainerSpec
	// Compose makes a foreign unit the service of its name in a compose file, which all such
	// units of a layout have in common: it says what runs, and how that is reached.
	Compose *Compose
	// Install is the command that brings a foreign Program or Image where it is missing;
	// empty means that nobody knows one.
	Install string
	Args    []string
	// Env has "KEY=value". {address:PEER} in it stands for the host:port of a peer.
	Env []string
	// Files are written into the unit's volume before it starts, by their names, which
	// may have folders; a name that ends with "/" is one. In those of a foreign unit
	// {host} and {port} stand for its own address, {dir} for its volume, and
	// {address:PEER} for the host:port of a peer, or {host:PEER} and {port:PEER}.
	Files map[string][]byte
	// Dir is the working folder of a foreign unit; empty means its volume. One that has it is a program of
	// the user's: in a container it is left the powers that it may need.
	Dir string
	// Foreign units are not ours: they speak no control protocol, are ended by
	// the deployer (SIGTERM, then SIGKILL) and may consist of many processes,
	// which are metered and ended together. One that ends early fails the trial.
	// In Args and Env of a foreign unit {host} and {port} stand for its own
	// address; {dir}, there and in those of other units, for its volume.
	Foreign bool
	// Server makes a foreign unit a backing service of the others.
	Server *Server
	// NameBy tells processes of one program of a foreign unit apart; see Unit.NameBy.
	NameBy string
}

// Lifecycle says when a unit starts and can be used, which faults it suffers, and when it ends.
type Lifecycle struct {
	// After are units that can be used, or have done their part, before this one starts.
	After []string
	// Finishes: the unit with a Container can be used by those After it when it has ended with 0.
	Finishes bool
	// Restarts: before the load, the unit with a Container is started again when it ends with an error.
	Restarts bool
	// Ready, where it is set, asks as a client whether the unit can be used at its
	// address. Such units start first, all at once, and the others when all are ready; so
	// is one that is started again.
	Ready func(ctx context.Context, address string) error `json:"-"`
	// Readiness is the sign by which a foreign unit without Ready can be used.
	Readiness Readiness
	// Rest, of the lead unit, is the time in which all units are metered before it is told to
	// start: what they use without being asked for anything.
	Rest time.Duration
	// Faults lists the faults that the trial will cause in the unit: for some of them a deployer
	// has to be ready before the unit starts.
	Faults []FaultKind
	// Stage orders the end of a trial: units are told to stop when all those of lower
	// stages have ended, so what these still send is dealt with. Of no consequence for
	// the lead unit, which ends first, and for foreign units.
	Stage int
}

// Networking holds the addresses that a unit listens on, and the units that it calls.
type Networking struct {
	// Listens asks for an address of the unit's own, in CLEAVE_ADDRESS.
	Listens bool
	// Port is the one that an Image listens on, whatever it is told; 0: the deployer chooses.
	Port int
	// Ports are the names of further ports that a foreign unit listens on: {port:NAME} in its
	// Args, Env and Files.
	Ports []string
	// Binds are addresses (host:port) that a foreign unit will listen on. One that
	// another program has fails the deployment.
	Binds []string
	// Floats is the name of an address that the unit shares with units of other nodes, as if
	// it were a unit's: one of the nodes has it at a time, and what runs there sees to that.
	// Its port is the one that all of them listen on, at every address of their nodes.
	Floats string
	// Reached selects the address at which its peers call the unit. Where it is not the usual
	// one, the unit starts before those that name no such address. Servers have the usual one.
	Reached Reach
	// Peers are units whose address this unit gets, as CLEAVE_ADDRESS_<NAME>
	// with the name in capitals and "-" as "_".
	Peers []string
	// Served foreign units get the addresses of the backing services, as ours do.
	Served bool
	// Uses lists what the unit calls, for the picture of the architecture; nil: its peers, and
	// all services of the layout where it is not foreign.
	Uses []Use
}

// Storage holds the folders of a unit.
type Storage struct {
	// Volume names the folder that the unit gets: empty at the start of the trial, kept
	// when the unit is killed and started again. Units that name the same volume share
	// it, and so need the same node; empty means one of the unit's own.
	Volume string
	// Replicated: the volume lies on a replicated disk.
	Replicated bool
	// Mounts are folders of the conductor's host that the unit works with, at the same
	// path: it can only run on that host.
	Mounts []string
	// Reads are folders of the conductor's host that a foreign unit has at the same path
	// and cannot write to, such as the one that its Program lies in.
	Reads []string
	// Leaves is a folder in the volume of a foreign unit with files that it leaves at its
	// end (see Deployment.EndForeign); empty: none.
	Leaves string
}

// Placement holds the node, the processors and the replicas of a unit.
type Placement struct {
	// Node names where the unit is placed: units of the same name share a node, which has
	// an address and ports of its own; empty means the conductor's host.
	Node string
	// Cores pins the unit to these processors; empty means any. Deployers wrap
	// numbers beyond the host's processors around.
	Cores []int
	// Scalable units keep nothing that others of their kind would not have, and so can run
	// several times (see Variant.Scale).
	Scalable bool
	// Group is set by Scale: the unit that this one is a further replica of.
	Group string
	// Autoscale is set by Scale where the platform adds replicas of the unit. These are on
	// Standby: the deployer does not start them.
	Autoscale *Autoscale
	Standby   bool
}

// MayTrace reports whether the unit is a program of the user's, which may record spans.
func (u UnitSpec) MayTrace() bool { return u.Foreign && u.Server == nil }

// Endpoints returns the names of the addresses that the unit listens on: its own, and those of its
// further ports.
func (u UnitSpec) Endpoints() (names []string) {
	if u.Listens {
		names = append(names, u.Name)
	}
	for _, port := range u.Ports {
		names = append(names, PortOf(u.Name, port))
	}
	return names
}

// PortOf returns the name of the endpoint of a unit's further port.
func PortOf(unit, port string) string { return unit + ":" + port }

// Limits bound what a unit can use; zero means no limit.
type Limits struct {
	CPU    float64 `json:"cpu,omitempty" yaml:"cpu,omitempty"`            // processors, such as 0.5
	Memory int64   `json:"memory,omitempty" yaml:"memory,omitempty,size"` // bytes
}

// String shows the limits for people: "0.5 processors, 512 MiB".
func (l Limits) String() string {
	var parts []string
	if l.CPU > 0 {
		parts = append(parts, Plain(l.CPU)+" processors")
	}
	if l.Memory > 0 {
		parts = append(parts, Plain(float64(l.Memory)/(1<<20))+" MiB")
	}
	return strings.Join(parts, ", ")
}

// Server makes a foreign unit a backing service. All servers of a layout start
// at once, before its other units, which wait until each is ready. A server listens at
// its own address and has no privileges of the host's administrator; what it holds is
// of no use after the trial, so it is killed at the end.
//
// In Args, Env, Files and Setup of such a unit {host} and {port} stand for its own
// address, {port:NAME} for a further port, and {dir} for its volume.
type Server struct {
	// Kind names it in messages: "mariadb".
	Kind string
	// Setup runs, one after another, before the first start of the server.
	Setup []ServerSetup
	// Ready asks, as a client, whether the server can be used at the address.
	Ready func(ctx context.Context, address string) error `json:"-"`
	// OpensFirst says that everybody may log in until the server has its user, a moment after its first start.
	OpensFirst bool `json:"-"`
}

// ServerSetup is a program that runs in the place of a server and prepares its volume.
type ServerSetup struct {
	Program string
	Args    []string
	// Visit, where it is set, does a client's part: the program is a server then, and is
	// told to end (SIGTERM) when a visit at the address has succeeded.
	Visit func(ctx context.Context, address string) error `json:"-"`
}

package lab

import (
	"context"
	"strings"
	"time"
)

// UnitSpec describes a unit to be started. The embedded structs say what runs, when it runs, how units reach
// each other, what the unit stores, and where it runs. Deployers add variables to its environment: CLEAVE_RUN
// (the label of the run), CLEAVE_UNIT (its name), CLEAVE_DIR (its volume) and, if it Listens, CLEAVE_ADDRESS
// (the host:port to listen on).
type UnitSpec struct {
	Name string // unique in the layout: "core", "worker-007"
	Role string // "core", "worker"; metering sums over the units of a role
	Runnable
	Lifecycle
	Networking
	Storage
	Placement
	Limits Limits
}

// Runnable describes the program of a unit, or the container of an image, with its input.
type Runnable struct {
	// Program is the path of the program. If it is empty, the unit runs our unit program with
	// the name Own, which the deployer finds itself.
	Program, Own string
	// Image names an image of the user. A foreign unit with it is a container of the image,
	// and has no Program. Args are the arguments of the container; without any, the image's
	// own are used.
	Image string
	// Container describes the whole container of an Image; nil: the image says everything. If it is set, Args,
	// Env, Files and Volume are not used.
	Container *ContainerSpec
	// Compose makes a foreign unit the service with its name in a compose file, which all such
	// units of a layout share. The file says what runs, and at which address.
	Compose *Compose
	// Install is the command that installs a missing foreign Program or Image; empty: unknown.
	Install string
	Args    []string
	// Env holds variables as "KEY=value". {address:PEER} in it stands for the host:port of a peer.
	Env []string
	// Files are written into the unit's volume before it starts. The keys are paths; a
	// path that ends with "/" is a folder. In files of a foreign unit {host} and {port}
	// stand for its own address, {dir} for its volume, and {address:PEER} for the
	// host:port of a peer, or {host:PEER} and {port:PEER} for its parts.
	Files map[string][]byte
	// Dir is the working folder of a foreign unit; empty means its volume. A unit with Dir is a program of
	// the user: in a container it keeps the privileges that it may need.
	Dir string
	// Foreign is set for programs that are not ours. They do not speak the control protocol.
	// The deployer ends them (SIGTERM, then SIGKILL). They may have many processes, which
	// are metered and ended together. If one ends early, the trial fails. In Args and Env
	// of a foreign unit {host} and {port} stand for its own address. {dir} stands for the
	// volume, also in those of our own units.
	Foreign bool
	// Server makes a foreign unit a backing service of the others.
	Server *Server
	// NameBy distinguishes processes of one program in a foreign unit; see Unit.NameBy.
	NameBy string
}

// Lifecycle says when a unit starts and is ready, which faults it gets, and when it ends.
type Lifecycle struct {
	// After names the units that must be ready, or have finished, before this one starts.
	After []string
	// Finishes is set if the unit with a Container is to end with exit code 0. Only then do the units After
	// it start.
	Finishes bool
	// Restarts is set if the unit with a Container is restarted when it ends with an error before the load.
	Restarts bool
	// Ready, if set, asks as a client whether the unit is ready at its address. Units with
	// Ready start first and at the same time. The others start when all of these are ready.
	// Ready is also called after a restart.
	Ready func(ctx context.Context, address string) error `json:"-"`
	// Readiness says how to find out that a foreign unit without Ready is ready.
	Readiness Readiness
	// Rest, of the lead unit, is the time in which all units are metered before the lead
	// starts. It shows their usage without requests.
	Rest time.Duration
	// Faults lists the faults that the trial will cause in the unit. For some of them the
	// deployer must prepare the unit before it starts.
	Faults []FaultKind
	// Stage orders the end of a trial: units are told to stop when all units of lower
	// stages have ended, so that they still handle what those send at their end. It has no
	// effect for the lead unit, which ends first, and for foreign units.
	Stage int
}

// Networking holds the addresses that a unit listens on, and the units that it calls.
type Networking struct {
	// Listens is set if the unit needs its own address, in CLEAVE_ADDRESS.
	Listens bool
	// Port is the fixed port on which an Image listens; 0: the deployer chooses the port.
	Port int
	// Ports are the names of further ports on which a foreign unit listens: {port:NAME} in its
	// Args, Env and Files.
	Ports []string
	// Binds are addresses (host:port) on which a foreign unit will listen. The deployment
	// fails if another program uses one of them.
	Binds []string
	// Floats is the name of an address that the unit shares with units on other nodes. For
	// peers it is like the name of a unit. One of the nodes has the address at a time; the
	// units themselves see to that. All of them listen on its port, at every address of their
	// nodes.
	Floats string
	// Reached selects the address at which its peers call the unit. If it is not the usual
	// address, the unit starts before those that have no such address. Servers have the usual
	// one.
	Reached Reach
	// Peers are units whose addresses this unit gets, as CLEAVE_ADDRESS_<NAME>
	// with the name in capitals and "-" as "_".
	Peers []string
	// Served is set for foreign units that get the addresses of the backing services, as ours
	// do.
	Served bool
	// Uses lists what the unit calls, for the picture of the architecture. If it is nil, these
	// are its peers and, unless it is foreign, all services of the layout.
	Uses []Use
}

// Storage holds the folders of a unit.
type Storage struct {
	// Volume names the folder of the unit. It is empty at the start of the trial, and is kept
	// when the unit is restarted. Units with the same name of a volume share it, and must be
	// on the same node. Without a name the unit has its own volume.
	Volume string
	// Replicated is set if the volume is on a replicated disk.
	Replicated bool
	// Mounts are folders of the conductor's host that the unit can use at the same path. Such
	// a unit can only run on that host.
	Mounts []string
	// Reads are folders of the conductor's host that a foreign unit can read at the same
	// path, such as the folder of its Program.
	Reads []string
	// Leaves is a folder in the volume of a foreign unit, for files that it writes for the
	// conductor until its end (see Deployment.EndForeign); empty: none.
	Leaves string
}

// Placement holds the node, the processors and the replicas of a unit.
type Placement struct {
	// Node names the node of the unit, which has its own address and ports. Units with the
	// same Node share it. Empty means the conductor's host.
	Node string
	// Cores pins the unit to these processors; empty means any. Deployers take the numbers
	// modulo the number of processors of the host.
	Cores []int
	// Scalable is set for units that store nothing that other replicas would lack. They can
	// have several replicas (see Variant.Scale).
	Scalable bool
	// Group is set by Scale for further replicas: it names the unit of which this is one.
	Group string
	// Autoscale is set by Scale if the platform adds replicas of the unit. These are on
	// Standby: the deployer does not start them.
	Autoscale *Autoscale
	Standby   bool
}

// IsUsersProgram reports whether the unit is a program of the user. It may record spans, use its port over
// UDP, and clean up at its end. Servers do none of these.
func (u UnitSpec) IsUsersProgram() bool { return u.Foreign && u.Server == nil }

// Endpoints returns the names of the addresses on which the unit listens: its own, and those of
// its further ports.
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

// Limits are limits of the usage of a unit; zero means no limit.
type Limits struct {
	CPU    float64 `json:"cpu,omitempty" yaml:"cpu,omitempty"`            // processors, such as 0.5
	Memory int64   `json:"memory,omitempty" yaml:"memory,omitempty,size"` // bytes
}

// String describes the limits: "0.5 processors, 512 MiB".
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

// Server makes a foreign unit a backing service. All servers of a layout start at the same
// time. The other units start when all servers are ready. A server listens at its own
// address and does not run as the host's administrator. Its data are not needed after the
// trial, so it is killed at the end.
//
// In Args, Env, Files and Setup of such a unit {host} and {port} stand for its own
// address, {port:NAME} for a further port, and {dir} for its volume.
type Server struct {
	// Kind is the name of the server in messages: "mariadb".
	Kind string
	// Setup lists programs that run one after another before the first start of the server.
	Setup []ServerSetup
	// Ready asks as a client whether the server is ready at the address.
	Ready func(ctx context.Context, address string) error `json:"-"`
	// OpensFirst is set if, for a moment after its first start, everybody can log in: until its user is created.
	OpensFirst bool `json:"-"`
}

// ServerSetup is a program that runs before a server, in its unit, and prepares its volume.
type ServerSetup struct {
	Program string
	Args    []string
	// Visit, if set, is the work of a client: the program is then a server. Visit is called
	// until it succeeds; then the program is told to end (SIGTERM).
	Visit func(ctx context.Context, address string) error `json:"-"`
}

package lab

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// System is an application under test. It knows its own rules, which
// architectures it can take and how its work is checked; it knows neither
// deployers nor meters.
type System interface {
	// Describe names the system, its architectures and its parameters.
	Describe() SystemInfo
	// Layout says which units the variant consists of at a point. The point has
	// passed Describe's limits. The seed fixes every random choice of the job.
	Layout(v Variant, p Point, seed uint64) (Layout, error)
	// Audit judges the reports that the units handed in after the job. It is
	// called once per trial, also when reports are missing.
	Audit(v Variant, p Point, reports []UnitReport) Audit
}

// SystemInfo describes a system for validation and for `cleave list`.
type SystemInfo struct {
	Name          string         `json:"name"`
	Summary       string         `json:"summary"`
	Operation     string         `json:"operation"` // what one operation is: "round trip"
	Architectures []Architecture `json:"architectures"`
	Parameters    []Parameter    `json:"parameters"`
	// Check says why a variant whose architecture and knobs exist cannot be all the
	// same; nil: every combination can.
	Check func(v Variant) error `json:"-"`
	// Host says why this host cannot play a point at which others can; nil: it can play
	// all.
	Host func(p Point) error `json:"-"`
	// Changes says in which knobs one variant differs from another that it follows;
	// nil: in the architecture, and in every knob that both have.
	Changes func(from, to Variant) []KnobChange `json:"-"`
	// Metrics are what trials of the system are compared in, the headline first;
	// empty means JobMetrics. A system that has some is a Measurer.
	Metrics []Metric `json:"metrics,omitempty"`
	// Restartable: units may be killed and started again while the load goes on.
	Restartable bool `json:"restartable,omitempty"`
	// Foreign: variants bring the definition of their system, and studies the scenario
	// that it is loaded with; no study file can say either.
	Foreign bool `json:"foreign,omitempty"`
	// Model is the text of the model file that the system plays, for its studies; empty: it plays none.
	Model string `json:"-"`
}

// LiveAuditor is a System whose audit reads the backing services and the trial's
// directory. It is asked instead of Audit where the job was played to its end,
// after the units have reported and while the services still run.
type LiveAuditor interface {
	AuditLive(ctx context.Context, v Variant, p Point, left Leftover) Audit
}

// Leftover is what a trial has left behind for its audit.
type Leftover struct {
	Reports []UnitReport
	// Addresses are those of the backing services, by their names in the layout.
	Addresses map[string]string
	// Foreign are the addresses, from the conductor's host, of foreign units that listen
	// and are no backing services. They still run.
	Foreign map[string]string
	// Dir is the folder with the files that the units handed over.
	Dir string
	// Seed is the one that Layout was given.
	Seed uint64
	// Spawned is when the deployer began to start the units.
	Spawned time.Time
	// Faults are what was done to the trial. The report of a unit that was killed
	// tells of its last life only.
	Faults []FaultRecord
	// ClocksApart is how far apart the clocks (time since 1970) of two units can be: moments of
	// different units that are closer prove no order.
	ClocksApart time.Duration
}

// Measurer is a System with metrics of its own.
type Measurer interface {
	// Measure says what was found in a trial. Metered.Roles tells the units of the
	// system from those that load it. It is called once per trial whose job was
	// played to its end, while the trial's directory and services are still there.
	Measure(ctx context.Context, v Variant, p Point, metered Metered, left Leftover) (Measured, error)
}

// Measured is what a system found in one of its trials.
type Measured struct {
	// Values are by the names of SystemInfo.Metrics. One that could not be
	// measured is left out.
	Values map[string]float64
	// Spectra are the distributions behind them, by quantity; see Quantities.
	Spectra map[string][]Quantile
	// Operations are what single ones gave; none where the load has one only.
	Operations []OperationOutcome
	Course     []Slice  // as the generator saw it
	Cohorts    *Cohorts // likewise; nil where they were not counted
	WarmUp     *WarmUp  // likewise; nil where it lasts a fixed time
	Search     *Search  // likewise; nil where the capacity is not looked for
	Network    string   // likewise; empty where there is none
	Remarks    []string // likewise
	// Paths show where the time of single operations went.
	Paths []Path
	// Traffic is what units sent each other and to backing services.
	Traffic []Traffic
}

// Architecture is a named placement, binding, data and coordination.
type Architecture struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Knobs   []Knob `json:"knobs,omitempty"`
	// Tuned names the architecture that is this one with what we can do better; empty
	// where there is none, or where this is it.
	Tuned string `json:"tuned,omitempty"`
}

// Knob is one choice inside an architecture. The first value is the default.
type Knob struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Values  []string `json:"values"`
	// Free knobs take other values than these too; SystemInfo.Check judges them.
	Free bool `json:"free,omitempty"`
	// Means says what values are, in words for readers who know no knobs: "a saga". Those
	// that say so themselves are not in it.
	Means map[string]string `json:"means,omitempty"`
}

// Parameter is a whole-numbered factor of a system with its limits.
type Parameter struct {
	Name    string  `json:"name"`
	Summary string  `json:"summary"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	// Scaled parameters are multiplied by the scale of an experiment: they set
	// how much work a trial does, not what kind.
	Scaled bool `json:"scaled,omitempty"`
	// Optional parameters need not be set; the system has a value of its own.
	Optional bool `json:"optional,omitempty"`
}

// Architecture returns the named architecture of the system.
func (s SystemInfo) Architecture(name string) (Architecture, bool) {
	for _, a := range s.Architectures {
		if a.Name == name {
			return a, true
		}
	}
	return Architecture{}, false
}

// Parameter returns the named parameter of the system.
func (s SystemInfo) Parameter(name string) (Parameter, bool) {
	for _, p := range s.Parameters {
		if p.Name == name {
			return p, true
		}
	}
	return Parameter{}, false
}

// KnobValue returns the setting of a knob: the variant's, else the default,
// else "" where the architecture has no such knob.
func (a Architecture) KnobValue(v Variant, knob string) string {
	if value, ok := v.Knobs[knob]; ok {
		return value
	}
	for _, k := range a.Knobs {
		if k.Name == knob {
			return k.Values[0]
		}
	}
	return ""
}

// Layout is a variant spelled out as units, ready for a deployer.
type Layout struct {
	Units []UnitSpec
	// Prepare are commands that run to their end, one after another, before the
	// units start. One that fails, fails the trial.
	Prepare []UnitSpec
	// Lead is the name of the unit that speaks the control protocol: it reports
	// ready, takes start and stop, and reports finished.
	Lead string
	// Operations is the number of operations the job consists of.
	Operations int64
	// SharedMemory is the size in bytes of the memory that all units share as
	// inherited file descriptor 3; 0 means none.
	SharedMemory int64
	// Descriptors is the most file descriptors that one unit will hold open.
	Descriptors int
	// SocketName is the longest path, in bytes, of a Unix socket that a unit makes below
	// the trial's directory; 0 means that none is made. The kernel limits such paths.
	SocketName int
	// Services are the backing services of the trial. Every unit that is not
	// foreign gets their addresses (see ServiceVariable).
	Services []ServiceSpec
	// Replicated are folders of the conductor's host that shall lie on the replicated disk.
	Replicated []string
	// Links are those of hosts that units are on, where they shall be otherwise than they are.
	Links map[string]Network
	// Nodes are the hosts of its deployment that faults can be done to, besides units and
	// services; who deploys it says so (Capabilities).
	Nodes []Node
	// Spans receives the spans of foreign units that are no servers, whose environment tells them where to send
	// these; nil: nobody does.
	Spans SpanReceiver
}

// UnitSpec is one unit to be started. Deployers add to its environment:
// CLEAVE_RUN (the run's label), CLEAVE_UNIT (its name), CLEAVE_DIR (its volume), and
// CLEAVE_ADDRESS (the host:port to listen on) where Listens.
type UnitSpec struct {
	Name string // unique in the layout: "core", "worker-007"
	Role string // what metering sums over: "core", "worker"
	// Program is the file to run; empty means one of our unit programs, the one that Own
	// names. The deployer knows where those are.
	Program, Own string
	// Image names an image that the user has, which a foreign unit is a container of, in the
	// place of Program: Args are what it is told, or none where the image says that itself.
	Image string
	// Port is the one that an Image listens on, whatever it is told; 0: the deployer chooses.
	Port int
	// Container is what the container of an Image has beside it; nil: nothing. Then Args, Env, Files and
	// Volume are not for the unit, whose container is what Container says to the letter.
	Container *ContainerSpec
	// After are units that can be used, or have done their part, before this one starts.
	After []string
	// Finishes: the unit with a Container can be used by those After it when it has ended with 0.
	Finishes bool
	// Install is the command that brings a foreign Program or Image where it is missing;
	// empty means that nobody knows one.
	Install string
	Args    []string
	// Foreign units are not ours: they speak no control protocol, are ended by
	// the deployer (SIGTERM, then SIGKILL) and may consist of many processes,
	// which are metered and ended together. One that ends early fails the trial.
	// In Args and Env of a foreign unit {host} and {port} stand for its own
	// address; {dir}, there and in those of other units, for its volume.
	Foreign bool
	// Server makes a foreign unit a backing service of the others.
	Server *Server
	// Compose makes a foreign unit the service of its name in a compose file, which all such
	// units of a layout have in common: it says what runs, and how that is reached.
	Compose *Compose
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
	// end (see Ender); empty: none.
	Leaves string
	// Served foreign units get the addresses of the backing services, as ours do.
	Served bool
	// Ready, where it is set, asks as a client whether the unit can be used at its
	// address. Such units start first, all at once, and the others when all are ready; so
	// is one that is started again.
	Ready func(ctx context.Context, address string) error `json:"-"`
	// Readiness is how a foreign unit without Ready shows that it can be used.
	Readiness Readiness
	// Files are written into the unit's volume before it starts, by their names, which
	// may have folders; a name that ends with "/" is one. In those of a foreign unit
	// {host} and {port} stand for its own address, {dir} for its volume, and
	// {address:PEER} for the host:port of a peer, or {host:PEER} and {port:PEER}.
	Files map[string][]byte
	// NameBy is what tells processes of one program of a foreign unit apart; see Unit.NameBy.
	NameBy string
	// Dir is where a foreign unit runs; empty means its volume. One that has it is a program of
	// the user's: in a container it is left the powers that it may need.
	Dir string
	// Binds are addresses (host:port) that a foreign unit will listen on. One that
	// another program has fails the deployment.
	Binds []string
	// Env has "KEY=value". {address:PEER} in it stands for the host:port of a peer.
	Env []string
	// Listens asks for an address of the unit's own, in CLEAVE_ADDRESS.
	Listens bool
	// Reached is at which of its addresses its peers call the unit. Where it is not the usual
	// one, the unit starts before those that name no such address. Servers have the usual one.
	Reached Reach
	// Ports are the names of further ports that a foreign unit listens on: {port:NAME} in its
	// Args, Env and Files.
	Ports []string
	// Stage orders the end of a trial: units are told to stop when all those of lower
	// stages have ended, so what these still send is dealt with. Of no consequence for
	// the lead unit, which ends first, and for foreign units.
	Stage int
	// Peers are units whose address this unit gets, as CLEAVE_ADDRESS_<NAME>
	// with the name in capitals and "-" as "_".
	Peers []string
	// Uses are what the unit calls, for the picture of the architecture; nil: its peers, and
	// all services of the layout where it is not foreign.
	Uses []Use
	// Cores pins the unit to these processors; empty means any. Deployers wrap
	// numbers beyond the host's processors around.
	Cores []int
	// Node names where the unit is placed: units of the same name share a node, which has
	// an address and ports of its own; empty means the conductor's host.
	Node string
	// Floats is the name of an address that the unit shares with units of other nodes, as if
	// it were a unit's: one of the nodes has it at a time, and what runs there sees to that.
	// Its port is the one that all of them listen on, at every address of their nodes.
	Floats string
	// Limits are what the unit can use at most.
	Limits Limits
	// Scalable units keep nothing that others of their kind would not have, and so can run
	// several times (see Variant.Scale).
	Scalable bool
	// Group is set by Scale: the unit that this one is a further replica of.
	Group string
	// Autoscale is set by Scale where the platform adds replicas of the unit. These are on
	// Standby: the deployer does not start them.
	Autoscale *Autoscale
	Standby   bool
	// Rest is, of the lead unit, how long all units are metered before it is told to start:
	// what they use without being asked for anything.
	Rest time.Duration
	// Faults are what the trial will do to the unit: for some of that a deployer has to
	// be ready before the unit starts.
	Faults []FaultKind
}

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

// Limits are what a unit can use at most; zero means no limit.
type Limits struct {
	CPU    float64 `json:"cpu,omitempty"`    // processors, such as 0.5
	Memory int64   `json:"memory,omitempty"` // bytes
}

// String shows the limits for people: "0.5 processors, 512 MiB".
func (l Limits) String() string {
	var parts []string
	if l.CPU > 0 {
		parts = append(parts, strconv.FormatFloat(l.CPU, 'g', -1, 64)+" processors")
	}
	if l.Memory > 0 {
		parts = append(parts, strconv.FormatInt(l.Memory>>20, 10)+" MiB")
	}
	return strings.Join(parts, ", ")
}

// Server is what makes a foreign unit a backing service. All servers of a layout start
// at once, before its other units, which wait until each is ready. A server listens at
// its own address and has no privileges of the host's administrator; what it holds is
// of no use after the trial, so it is killed at the end.
//
// In Args, Env, Files and Setup of such a unit {host} and {port} stand for its own
// address, {port:NAME} for a further port, and {dir} for its volume.
type Server struct {
	// Kind is what it is, for messages: "mariadb".
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

// UnitReport is what a unit said about its own work when the job was over.
type UnitReport struct {
	Unit string `json:"unit"`
	// PID is the number of the unit's process as the unit sees it; 0 where the deployer
	// cannot tell.
	PID  int             `json:"pid"`
	Data json.RawMessage `json:"data"`
}

// AuditVerdict says whether a trial kept the rules of its system.
type AuditVerdict string

// The verdicts of an audit. Only a valid trial counts.
const (
	AuditValid   AuditVerdict = "valid"
	AuditInvalid AuditVerdict = "invalid"
	AuditUnknown AuditVerdict = "unknown"
)

// Audit is the judgement over one trial.
type Audit struct {
	Verdict  AuditVerdict     `json:"verdict"`
	Counts   map[string]int64 `json:"counts,omitempty"`
	Problems []string         `json:"problems,omitempty"`
	// Said are the last lines of the output of a user's own audit.
	Said []string `json:"said,omitempty"`
	// Figures are numbers that are not rules, such as fairness shares.
	Figures map[string]float64 `json:"figures,omitempty"`
}

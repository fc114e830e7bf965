// Package crossing is the smallest system with a network in it: callers send a text to a callee,
// one call after another, and get it back. Its variants compare the paths of a call: the protocol,
// a Unix socket, containers and clusters, a proxy in between.
//
// It has no business rules and deploys nothing; it only knows which values of knobs a deployment rules
// out. Package crossingunit runs the two units.
//
// Entry point: System.
package crossing

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Name is the name of the system in study files.
const Name = "crossing"

// The architectures: net/http with a connection for each caller, and grpc-go with one for all.
const (
	HTTP = "http"
	GRPC = "grpc"
)

// Knobs and their values.
const (
	knobOver  = "over"
	knobFront = "front"
	knobNodes = "nodes"
	knobReach = "reach"

	tcp     = "tcp"
	unix    = "unix"
	none    = "none"
	haproxy = "haproxy"
	nginx   = "nginx"
	either  = "any" // of knobNodes: the deployment decides
	one     = "one"
	two     = "two"
	usual   = "usual" // of knobReach: lab.ReachUsual
)

// The roles of units, which are their names, too.
const (
	RoleCaller = "caller"
	RoleCallee = "callee"
	RoleFront  = "front"
)

// Factors of points.
const (
	callers = "callers"
	calls   = "calls"
)

// Job is the argument of a unit program, as JSON.
type Job struct {
	Role    string `json:"role"`
	Calls   int    `json:"calls"`   // of each caller
	Callers int    `json:"callers"` // concurrent ones
	GRPC    bool   `json:"grpc"`    // over gRPC instead of HTTP
	// Unix is the name of the socket in the folder that both units share; empty: TCP.
	Unix string `json:"unix,omitempty"`
	// To is the unit that is called: the callee, or the front.
	To string `json:"to"`
}

// Account is the report of a unit.
type Account struct {
	Right  int64 `json:"right"`  // caller: measured calls that returned the text
	Wrong  int64 `json:"wrong"`  // caller: measured calls that returned something else
	Before int64 `json:"before"` // caller: calls before the start, which are not measured
	Served int64 `json:"served"` // callee: all calls, including those before the start
}

// System describes crossing to the lab. The zero value is ready for use.
type System struct{}

var (
	_ lab.System   = System{}
	_ lab.Profiled = System{}
)

// Profiling implements lab.Profiled.
func (System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"github.com/cleave-lab/cleave/systems/crossing"}}
}

// Describe implements lab.System.
func (System) Describe() lab.SystemInfo {
	return lab.SystemInfo{
		Name: Name, Operation: "call", Summary: "one unit calls another, which answers with what it was sent: " +
			"what the network between them costs",
		Architectures: []lab.Architecture{
			{Name: HTTP, Summary: "HTTP/1.1 of net/http, on connections that are kept", Knobs: knobs()},
			{Name: GRPC, Summary: "gRPC of grpc-go, on one connection", Knobs: knobs()},
		},
		Parameters: []lab.Parameter{
			{Name: callers, Summary: "callers at once", Min: 1, Max: 256},
			{Name: calls, Summary: "calls of each", Min: 1, Max: 10_000_000, Scaled: true},
		},
		Check: check,
	}
}

// knobs returns the knobs of both architectures, each with its default first.
func knobs() []lab.Knob {
	return []lab.Knob{
		{Name: knobOver, Summary: "transport of the calls, if both units are on one host",
			Values: []string{tcp, unix}},
		{Name: knobFront, Summary: "proxy before the callee", Values: []string{none, haproxy, nginx}},
		{Name: knobNodes, Summary: "whether the two units are on one node, or on two: of a cluster, hosts by " +
			"SSH, or networks of this host", Values: []string{either, one, two}},
		{Name: knobReach, Values: []string{usual, string(lab.ReachDirect), string(lab.ReachPublished)},
			Summary: "address of the callee in calls: the one that its deployment gives to callers, its own, or a " +
				"published port of its node"},
	}
}

// check returns an error for combinations of knobs and deployments that do not exist, with what to change.
func check(v lab.Variant) error {
	isApart := slices.Contains([]string{lab.Swarm, lab.Kubernetes, lab.SSH}, v.Deployment)
	isDocker := slices.Contains([]string{lab.DockerHost, lab.DockerBridge}, v.Deployment)
	over, front, nodes, reach := settings(v)
	isDirect := over != unix && front == none
	switch {
	case reach != lab.ReachUsual && !isDirect:
		return fmt.Errorf("%s=%s: only a caller that calls the callee itself, over TCP, chooses its address: "+
			"leave out %s and %s", knobReach, reach, knobOver, knobFront)
	case over == unix && front != none:
		return fmt.Errorf("%s=%s and %s=%s: a proxy before the callee is called over TCP", knobOver, over,
			knobFront, front)
	case over == unix && isApart:
		return fmt.Errorf("%s=%s: a Unix socket does not lead from one unit of a cluster, or of hosts by SSH, to "+
			"another: deploy with %s, %s or %s",
			knobOver, over, lab.Process, lab.DockerHost, lab.DockerBridge)
	case over == unix && nodes == two:
		return fmt.Errorf("%s=%s and %s=%s: a Unix socket does not lead from one node to another", knobOver, over,
			knobNodes, nodes)
	case nodes != either && isDocker:
		return fmt.Errorf("%s=%s: the deployment %s has no nodes, these have: %s, %s, %s, %s",
			knobNodes, nodes, v.Deployment, lab.Process, lab.SSH, lab.Swarm, lab.Kubernetes)
	}
	return nil
}

// settings returns the values of the knobs of a variant.
func settings(v lab.Variant) (over, front, nodes string, reach lab.Reach) {
	all := lab.Architecture{Knobs: knobs()}
	if value := all.KnobValue(v, knobReach); value != usual { // usual is the zero value of lab.Reach
		reach = lab.Reach(value)
	}
	return all.KnobValue(v, knobOver), all.KnobValue(v, knobFront), all.KnobValue(v, knobNodes), reach
}

// The names of nodes. Both kinds of clusters have nodes with these names; by SSH, the first one is the first
// host; with processes, each is a network of this host. The caller is on the first one, since it leads the
// trial: a swarm puts the leading unit there.
const firstNode, secondNode = "node-1", "node-2"

// Layout implements lab.System.
func (System) Layout(v lab.Variant, p lab.Point, _ uint64) (lab.Layout, error) {
	over, front, nodes, reach := settings(v)
	count := level(p, callers)
	each := level(p, calls)
	job := Job{Calls: each, Callers: count, GRPC: v.Architecture == GRPC, To: RoleCallee}
	if front != none {
		job.To = RoleFront
	}
	volume, socketLength := "", 0
	if over == unix {
		job.Unix = "callee.sock"
		volume = "sockets"
		socketLength = len(volume + "/" + job.Unix)
	}
	var units []lab.UnitSpec
	for _, role := range []string{RoleCaller, RoleCallee} {
		job.Role = role
		u := kit.Unit(role, Name, job)
		u.Volume = volume
		units = append(units, u)
	}
	caller, callee := &units[0], &units[1]
	caller.Peers = []string{job.To}
	caller.Uses = []lab.Use{{To: job.To, How: v.Architecture}}
	callee.Listens = true
	callee.Reached = reach
	if nodes != either {
		caller.Node = firstNode
		callee.Node = map[string]string{one: firstNode, two: secondNode}[nodes]
	}
	switch front {
	case haproxy:
		protocol := ""
		if job.GRPC {
			protocol = " proto h2" // without TLS it is not negotiated
		}
		units = append(units, loaded.Proxy(RoleFront,
			append(loaded.ProxyDefaults(answerTimeout), "frontend clients", loaded.ProxyBind+protocol,
				"  default_backend units", "backend units", loaded.ProxyServer(RoleCallee)+protocol),
			[]string{RoleCallee}))
	case nginx:
		units = append(units, loaded.Nginx(RoleFront, answerTimeout,
			loaded.Route{Path: "/", To: []string{RoleCallee}, GRPC: job.GRPC}))
	}
	units[len(units)-1].Node = units[1].Node // the last unit is the front, if there is one
	// A front has two connections for each caller: one from it and one to the callee.
	return lab.Layout{
		Units: units, Lead: RoleCaller, Operations: int64(count) * int64(each),
		Descriptors: spareDescriptors + 2*count, SocketName: socketLength,
	}, nil
}

const (
	// answerTimeout limits the wait of a front for an answer, in seconds.
	answerTimeout = 30
	// spareDescriptors is the number of open files of a unit without its connections.
	spareDescriptors = 64
)

// level returns the level of a factor at a point, 0 if it is not set.
func level(p lab.Point, factor string) int {
	value, _ := p.Level(factor)
	return int(value)
}

// Audit implements lab.System: every call must have returned its text, and the callee must have served as
// many calls as were made.
func (System) Audit(_ lab.Variant, p lab.Point, reports []lab.UnitReport) lab.Audit {
	want := int64(level(p, callers)) * int64(level(p, calls))
	var all Account // the sums over both units
	missing := []string{RoleCaller, RoleCallee}
	var problems []string
	for _, report := range reports {
		var account Account
		if err := json.Unmarshal(report.Data, &account); err != nil {
			problems = append(problems, fmt.Sprintf("the report of %s cannot be read: %v", report.Unit, err))
			continue
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == report.Unit })
		all.Right += account.Right
		all.Wrong += account.Wrong
		all.Before += account.Before
		all.Served += account.Served
	}
	audit := lab.Audit{Verdict: lab.AuditUnknown,
		Counts: map[string]int64{"right": all.Right, "wrong": all.Wrong, "served": all.Served}}
	if len(missing) > 0 {
		audit.Problems = append(problems, fmt.Sprintf("there is no report of %v", missing))
		return audit
	}
	if all.Right != want || all.Wrong != 0 {
		problems = append(problems, fmt.Sprintf("%d calls were right and %d wrong, of %d", all.Right, all.Wrong,
			want))
	}
	if made := all.Before + all.Right + all.Wrong; all.Served != made {
		problems = append(problems, fmt.Sprintf("the callee has served %d calls, and %d were made", all.Served,
			made))
	}
	audit.Verdict = lab.AuditValid
	audit.Problems = problems
	if len(problems) > 0 {
		audit.Verdict = lab.AuditInvalid
	}
	return audit
}

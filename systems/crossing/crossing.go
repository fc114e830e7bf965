// Package crossing is the smallest system that has a network in it: callers send a text to a
// callee, one call after another, and get it back. What is compared is the way that a call
// takes: the protocol, a Unix socket, containers and clusters, a proxy in between.
//
// It has no rules of business and knows no deployment. What the two units do is in crossingunit.
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
	either  = "any"
	one     = "one"
	two     = "two"
	usual   = "usual"
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

// Job is the job of a unit.
type Job struct {
	Role    string `json:"role"`
	Calls   int    `json:"calls"`   // of each caller
	Callers int    `json:"callers"` // at once
	GRPC    bool   `json:"grpc"`
	// Unix is the name of the socket in the folder that the two share; empty: TCP.
	Unix string `json:"unix,omitempty"`
	// To is the unit that is called: the callee, or what stands before it.
	To string `json:"to"`
}

// Account is the report of a unit.
type Account struct {
	Right  int64 `json:"right"`  // caller: calls that gave the text back
	Wrong  int64 `json:"wrong"`  // caller: calls that gave something else
	Before int64 `json:"before"` // caller: calls before the start, which are not measured
	Served int64 `json:"served"` // callee: calls that came, with those
}

// System describes crossing to the lab. The zero value is ready for use.
type System struct{}

var _ lab.System = System{}

// Describe implements lab.System.
func (System) Describe() lab.SystemInfo {
	over := lab.Knob{Name: knobOver, Summary: "what carries the bytes, where both units are on one host",
		Values: []string{tcp, unix}}
	nodes := lab.Knob{Name: knobNodes, Summary: "whether the two units are on one node, or on two: of a " +
		"cluster, hosts by SSH, or networks of this host", Values: []string{either, one, two}}
	reach := lab.Knob{
		Name: knobReach, Values: []string{usual, string(lab.ReachDirect), string(lab.ReachPublished)},
		Summary: "at which address the callee is called: the one that its deployment gives to callers, its own, " +
			"or a published port of its node",
	}
	front := lab.Knob{Name: knobFront, Summary: "what stands before the callee",
		Values: []string{none, haproxy, nginx}}
	return lab.SystemInfo{
		Name: Name, Operation: "call", Summary: "one unit calls another, which answers with what it was sent: " +
			"what the network between them costs",
		Architectures: []lab.Architecture{
			{Name: HTTP, Summary: "HTTP/1.1 of net/http, on connections that are kept",
				Knobs: []lab.Knob{over, front, nodes, reach}},
			{Name: GRPC, Summary: "gRPC of grpc-go, on one connection", Knobs: []lab.Knob{over, front, nodes, reach}},
		},
		Parameters: []lab.Parameter{
			{Name: callers, Summary: "callers at once", Min: 1, Max: 256},
			{Name: calls, Summary: "calls of each", Min: 1, Max: 10_000_000, Scaled: true},
		},
		Check: check,
	}
}

// check refuses ways that no deployment has.
func check(v lab.Variant) error {
	cluster := v.Deployment == lab.Swarm || v.Deployment == lab.Kubernetes
	over, front, nodes, reach := settings(v)
	switch {
	case reach != lab.ReachUsual && (over == unix || front != none):
		return fmt.Errorf("%s=%s: only who calls the callee itself, over TCP, chooses its address: leave %s and %s",
			knobReach, reach, knobOver, knobFront)
	case over == unix && front != none:
		return fmt.Errorf("%s=%s and %s=%s: what stands before the callee is called over TCP", knobOver, over,
			knobFront, front)
	case over == unix && cluster:
		return fmt.Errorf("%s=%s: a Unix socket does not lead from one unit of a cluster to another: deploy with "+
			"%s, %s or %s",
			knobOver, over, lab.Process, lab.DockerHost, lab.DockerBridge)
	case over == unix && nodes == two:
		return fmt.Errorf("%s=%s and %s=%s: a Unix socket does not lead from one node to another", knobOver, over,
			knobNodes, nodes)
	case nodes != either && (v.Deployment == lab.DockerHost || v.Deployment == lab.DockerBridge):
		return fmt.Errorf("%s=%s: the deployment %s has no nodes, these have: %s, %s, %s, %s",
			knobNodes, nodes, v.Deployment, lab.Process, lab.SSH, lab.Swarm, lab.Kubernetes)
	}
	return nil
}

// settings returns the values of the knobs of a variant.
func settings(v lab.Variant) (over, front, nodes string, reach lab.Reach) {
	or := func(knob, otherwise string) string {
		if value, set := v.Knobs[knob]; set {
			return value
		}
		return otherwise
	}
	if at := or(knobReach, usual); at != usual {
		reach = lab.Reach(at)
	}
	return or(knobOver, tcp), or(knobFront, none), or(knobNodes, either), reach
}

// Nodes by the names that both kinds of clusters have. The first has the caller, as it does
// in a swarm, whose first node has the unit that leads the trial.
const firstNode, secondNode = "node-1", "node-2"

// Layout implements lab.System.
func (System) Layout(v lab.Variant, p lab.Point, _ uint64) (lab.Layout, error) {
	over, front, nodes, reach := settings(v)
	count, each := level(p, callers), level(p, calls)
	job := Job{Calls: each, Callers: count, GRPC: v.Architecture == GRPC, To: RoleCallee}
	if front != none {
		job.To = RoleFront
	}
	volume, socketName := "", 0
	if over == unix {
		job.Unix, volume = "callee.sock", "sockets"
		socketName = len(volume + "/" + job.Unix)
	}
	var units []lab.UnitSpec
	for _, role := range []string{RoleCaller, RoleCallee} {
		job.Role = role
		u := kit.Unit(role, Name, job)
		u.Volume = volume
		units = append(units, u)
	}
	caller, callee := &units[0], &units[1]
	caller.Peers, caller.Uses = []string{job.To}, []lab.Use{{To: job.To, How: v.Architecture}}
	callee.Listens, callee.Stage, callee.Reached = true, 1, reach
	if nodes != either {
		caller.Node, callee.Node = firstNode, map[string]string{one: firstNode, two: secondNode}[nodes]
	}
	switch front {
	case haproxy:
		protocol := ""
		if job.GRPC {
			protocol = " proto h2" // without TLS nobody negotiates it
		}
		units = append(units, loaded.Proxy(RoleFront,
			append(loaded.ProxyDefaults(longestAnswer), "frontend clients", loaded.ProxyBind+protocol,
				"  default_backend units", "backend units", loaded.ProxyServer(RoleCallee)+protocol),
			[]string{RoleCallee}))
	case nginx:
		units = append(units, loaded.Nginx(RoleFront, longestAnswer,
			loaded.Route{Path: "/", To: []string{RoleCallee}, GRPC: job.GRPC}))
	}
	units[len(units)-1].Node = callee.Node // what stands before the callee is on its node
	return lab.Layout{
		Units: units, Lead: RoleCaller, Operations: int64(count) * int64(each),
		Descriptors: spareDescriptors + 2*count, SocketName: socketName,
	}, nil
}

const (
	// longestAnswer is how long an answer may take, in seconds.
	longestAnswer = 30
	// spareDescriptors are open in every unit whatever its callers.
	spareDescriptors = 64
)

func level(p lab.Point, factor string) int {
	value, _ := p.Level(factor)
	return int(value)
}

// Audit implements lab.System: every call must have brought its text back, and the callee must have served
// as many calls as were made.
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
		all.Right, all.Wrong = all.Right+account.Right, all.Wrong+account.Wrong
		all.Before, all.Served = all.Before+account.Before, all.Served+account.Served
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
	audit.Verdict, audit.Problems = lab.AuditValid, problems
	if len(problems) > 0 {
		audit.Verdict = lab.AuditInvalid
	}
	return audit
}

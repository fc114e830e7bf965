package trial

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/load/stream"
)

// HTTP2 is the protocol HTTP/2: by ALPN with https, in clear text with http.
const HTTP2 = "http2"

// Defaults of a Spec.
const (
	DefaultConnections = 64
	DefaultTimeout     = 5 * time.Second
	DefaultPacing      = "exact"
)

// Limits of a Spec, so that a typing error does not exhaust the host's memory.
const (
	maxLoops       = 64      // per process
	maxConnections = 200_000 // of all agents together; each user has one
	maxStreams     = 10_000  // on one connection
)

// Spec is a load as a user describes it. It is plain data, which agents receive as JSON.
type Spec struct {
	Scenario scenario.File `json:"scenario"`
	Dir      string        `json:"dir,omitempty"` // folder of the files that scenario and load name
	// Target replaces the target of the scenario: http://, https://, grpc:// (without TLS) or grpcs://.
	Target string `json:"target,omitempty"`
	Unix   string `json:"unix,omitempty"` // path of a socket to use instead of the target's host
	// Replicas are further addresses of the target, for plain HTTP/1.1. The permission for the target covers
	// them, so they must be addresses of hosts that Cleave made.
	Replicas []netip.AddrPort `json:"-"`
	// Load replaces the whole load of the scenario, unless it is empty.
	Load scenario.Load `json:"load"`

	Protocol string `json:"protocol,omitempty"` // empty: by the target; or HTTP2
	// OneUse makes a new connection for every flow.
	OneUse   bool   `json:"one_use,omitempty"`
	Insecure bool   `json:"insecure,omitempty"`  // accept any certificate
	Roots    []byte `json:"roots,omitempty"`     // certificates to trust, PEM; empty: the host's
	ProtoSet []byte `json:"proto_set,omitempty"` // gRPC descriptors, a FileDescriptorSet; empty: by reflection

	// Loops is the number of sending threads, for plain HTTP/1.1. Zero: one.
	Loops int `json:"loops,omitempty"`
	// Part is the number of this agent, from 0, among Of agents. It plays every Of-th flow with its share of
	// users and connections. If Of is 0, there is one agent.
	Part int `json:"part,omitempty"`
	Of   int `json:"of,omitempty"`
	// After is the progress of other trials with the same scenario; see Outcome.Progress.
	After scenario.Progress `json:"after,omitzero"`

	// Connections is the size of the pool of an open loop, of all agents together; zero: DefaultConnections.
	Connections int `json:"connections,omitempty"`
	// Streams is the number of flows that share a connection of HTTP/2 or gRPC; zero: 32.
	Streams int               `json:"streams,omitempty"`
	Timeout scenario.Duration `json:"timeout,omitempty"` // of an operation; zero: DefaultTimeout
	Pacing  string            `json:"pacing,omitempty"`  // see engine.ParsePacing; empty: DefaultPacing
	// Lateness is permitted in addition to that of the pacing, before the generator is considered the limit.
	Lateness scenario.Duration `json:"lateness,omitempty"`
	// TraceShare is that of scenario.Origin.
	TraceShare float64 `json:"trace_share,omitempty"`

	// Guard decides whether the target may be loaded. The zero value permits this host's loopback only.
	Guard consent.Guard `json:"-"`
}

// Trial is a load that is ready to be played, any number of times, one at a time.
type Trial struct {
	spec     Spec
	at       destination
	ticket   consent.Ticket
	model    model
	plan     *scenario.Plan
	pacing   engine.Pacing
	roots    *x509.CertPool     // nil: the host's
	progress *scenario.Progress // of all loads so far; shared with copies at other rates
	// reached is the address of the ticket that was reached first, or nil; shared with copies.
	reached *atomic.Pointer[netip.AddrPort]
}

// Prepare checks everything, asks whether the target may be loaded and prepares the load. The error names
// all mistakes.
func (s Spec) Prepare(ctx context.Context) (*Trial, error) {
	t, err := s.Check()
	if err != nil {
		return nil, err
	}
	if err := t.checkFiles(); err != nil {
		return nil, err
	}
	return t, t.admit(ctx)
}

// Check checks everything, but does not ask for the permission to load the target. The returned trial can
// answer questions and join outcomes of agents, but cannot be played; see Prepare.
func (s Spec) Check() (*Trial, error) {
	s.fill()
	t := &Trial{spec: s, progress: &s.After, reached: new(atomic.Pointer[netip.AddrPort])}
	var mistakes []error
	note := func(err error) { mistakes = append(mistakes, err) }
	var err error
	t.at, err = newDestination(s.Target)
	note(err)
	t.model, err = newModel(s.Load, s.Scenario.Seed, s.Dir)
	note(err)
	t.pacing, err = engine.ParsePacing(s.Pacing)
	note(err)
	t.plan, err = s.Scenario.Compile(s.Dir)
	note(err)
	if len(s.Roots) > 0 {
		t.roots = x509.NewCertPool()
		if !t.roots.AppendCertsFromPEM(s.Roots) {
			note(errors.New("the certificates to trust hold none in PEM form"))
		}
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	return t, errors.Join(t.checkShares(), t.checkProtocol())
}

// fill fills in the defaults.
func (s *Spec) fill() {
	s.Target = cmp.Or(s.Target, s.Scenario.Target)
	if s.Load == (scenario.Load{}) && s.Scenario.Load != nil {
		s.Load = *s.Scenario.Load
	}
	s.Loops = cmp.Or(s.Loops, 1)
	s.Of = cmp.Or(s.Of, 1)
	s.Connections = cmp.Or(s.Connections, DefaultConnections)
	s.Timeout = cmp.Or(s.Timeout, scenario.Duration(DefaultTimeout))
	s.Pacing = cmp.Or(s.Pacing, DefaultPacing)
}

// checkShares checks that the load can be divided among loops and agents.
func (t *Trial) checkShares() error {
	s := &t.spec
	what, n := t.clients()
	switch {
	case s.Loops < 1 || s.Loops > maxLoops:
		return fmt.Errorf("%d loops: use 1 to %d, at most one for each processor", s.Loops, maxLoops)
	case s.Part < 0 || s.Part >= s.Of:
		return fmt.Errorf("there is no part %d of %d", s.Part, s.Of)
	case n < t.parts():
		return fmt.Errorf("%d %s cannot be shared out among %d loops: use more of them, or fewer loops and agents",
			n, what, t.parts())
	case n > maxConnections:
		return fmt.Errorf("%d %s are too many: use at most %d", n, what, maxConnections)
	case s.Streams < 0 || s.Streams > maxStreams:
		return fmt.Errorf("%d streams on a connection: use 1 to %d", s.Streams, maxStreams)
	case !(s.TraceShare >= 0 && s.TraceShare <= 1):
		return fmt.Errorf("the share of traced flows is %g, expected 0 to 1", s.TraceShare)
	case s.Timeout < 0:
		return fmt.Errorf("the time limit %v is negative", time.Duration(s.Timeout))
	case time.Duration(s.Timeout) > longest:
		return tooLong("time limit", time.Duration(s.Timeout))
	case t.model.users > 0 && t.pacing.Lateness() > 0:
		return fmt.Errorf("pacing %s belongs to an open loop: users act when they have thought", t.pacing)
	}
	return nil
}

// checkProtocol checks that target, steps and options agree on the protocol.
func (t *Trial) checkProtocol() error {
	s := &t.spec
	http, grpc := t.plan.Protocols()
	switch {
	case s.Protocol != "" && s.Protocol != HTTP2:
		return fmt.Errorf("protocol %q is unknown: use %s, or leave it out", s.Protocol, HTTP2)
	case len(s.Unix) > engine.MaxUnixPath:
		return fmt.Errorf("unix socket path %q has %d bytes: use 1 to %d", s.Unix, len(s.Unix), engine.MaxUnixPath)
	case t.at.grpc() && http:
		return fmt.Errorf("%s speaks gRPC, and what is asked is a path of HTTP: every step needs a method: write "+
			"a scenario whose steps have grpc: package.Service/Method; the address of a server that speaks HTTP "+
			"begins with http://", s.Target)
	case http && grpc:
		return errors.New("some steps are gRPC and some are not: a connection speaks one of them, so load them " +
			"apart")
	case s.Loops > 1 && t.streams():
		return errors.New("loops are for plain HTTP/1.1: everything else uses all processors already")
	case len(s.Replicas) > 0 && t.streams():
		return errors.New("a target that runs several times is loaded over plain HTTP/1.1 only: have a proxy in " +
			"front of it")
	case s.Streams != 0 && !t.streams():
		return errors.New("streams belong to HTTP/2 and gRPC: on HTTP/1.1 a connection carries one operation at " +
			"a time")
	case len(s.ProtoSet) > 0 && !grpc:
		return errors.New("gRPC descriptors are given, but no step calls a method")
	}
	return nil
}

// streams reports whether package stream plays the load, that is, everything but plain HTTP/1.1.
func (t *Trial) streams() bool {
	return t.at.secure() || t.spec.Protocol == HTTP2 || len(t.methods()) > 0
}

// methods returns the methods that gRPC steps call.
func (t *Trial) methods() []string {
	var all []string
	for _, flow := range t.spec.Scenario.Flows {
		for _, step := range flow.Steps {
			if step.GRPC != "" && !slices.Contains(all, step.GRPC) {
				all = append(all, step.GRPC)
			}
		}
	}
	return all
}

// protocol returns the protocol for package stream.
func (t *Trial) protocol() stream.Protocol {
	if len(t.methods()) > 0 {
		return stream.GRPC
	}
	return stream.Protocol(t.spec.Protocol)
}

// parts returns the number of loops of all agents together.
func (t *Trial) parts() int { return t.spec.Of * t.spec.Loops }

// part returns the number of a loop among all loops of all agents. The loops of agent Part together have
// every Of-th flow.
func (t *Trial) part(loop int) int { return loop*t.spec.Of + t.spec.Part }

// share returns a loop's share of a number.
func (t *Trial) share(n, loop int) int {
	share := n / t.parts()
	if t.part(loop) < n%t.parts() {
		share++
	}
	return share
}

// Due counts the flows of the schedule that are due before a time. One goroutine may use it at a time.
type Due struct {
	arrivals schedule.Arrivals
	next     time.Duration
	more     bool
	n        int64
}

// Due returns a counter that begins at the start of the schedule. In a closed loop nothing is ever due.
func (t *Trial) Due() *Due {
	d := &Due{arrivals: schedule.Share(t.model.open.Arrivals(), t.spec.Part, t.spec.Of)}
	d.next, d.more = d.arrivals.Next()
	return d
}

// Before returns the number of flows due before a time, which must not decrease from call to call.
func (d *Due) Before(at time.Duration) int64 {
	for d.more && d.next < at {
		d.n++
		d.next, d.more = d.arrivals.Next()
	}
	return d.n
}

// Open reports whether the load is an open loop.
func (t *Trial) Open() bool { return t.model.users == 0 }

// Duration returns the time in which flows are begun.
func (t *Trial) Duration() time.Duration { return t.model.duration }

// Longest returns the longest time that the load can take until the last operation in flight is aborted.
func (t *Trial) Longest() time.Duration { return t.model.duration + 2*time.Duration(t.spec.Timeout) }

// Operations returns the names of the operations, in the order of all results.
func (t *Trial) Operations() []string { return t.plan.Operations() }

// maxRate returns the highest permitted rate, in flows per second; zero: no limit.
func (t *Trial) maxRate() float64 {
	if t.ticket.Own {
		return 0
	}
	return t.ticket.MaxRate / float64(t.spec.Scenario.LongestFlow())
}

// withLoad returns the trial with another load and seed. It shares progress and the reached address.
func (t *Trial) withLoad(load scenario.Load, seed uint64) (*Trial, error) {
	other := *t
	other.spec.Load = load
	var err error
	other.model, err = newModel(other.spec.Load, seed, t.spec.Dir)
	return &other, err
}

// Warmup returns the trial as a warm-up of some duration: with all users from the beginning, or at the mean
// rate of its schedule.
func (t *Trial) Warmup(d time.Duration) (*Trial, error) {
	l := scenario.Load{Duration: scenario.Duration(d), Users: t.model.users,
		Think: scenario.Duration(t.model.think)}
	if t.Open() {
		l = AtRate(scenario.Load{Duration: scenario.Duration(d), Arrivals: t.spec.Load.Arrivals},
			t.model.open.OfferedRate(t.model.duration))
	}
	return t.withLoad(l, t.spec.Scenario.Seed)
}

// AtRate returns the load at another constant mean rate, in flows per second.
func AtRate(l scenario.Load, rate float64) scenario.Load {
	l.Rate = fmt.Sprintf("%.17g", rate)
	return l
}

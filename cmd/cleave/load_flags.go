package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/load/trial"
)

// loadFlags are the flags of load. Commands that load systems of the user have some of them (foreignFlags).
type loadFlags struct {
	isSet func(flag string) bool
	value func(flag string) string // as text

	// when flows begin
	rate, arrivals, ramp, steps, spike, replay string
	users                                      int
	think, rampUp, duration                    time.Duration
	seed                                       uint64

	// the request, for a URL
	method, body string
	headers      []string
	expectStatus string
	expectBody   []string
	expectJSON   []string
	expectHeader []string

	// where to, and how
	target, unix, allow, ca, protoSet string
	http2, noKeepAlive, insecure      bool
	timeout                           time.Duration
	connections, streams              int
	traceShare                        share

	// what sends it
	pacing        string
	loops, agents int
	agent         []string

	// judgement
	objective     string
	search, abort bool
	resolution    float64

	outputs loadOutputs
	allowed string // text of the allow list
}

// register adds the flags to a command, in groups.
func (f *loadFlags) register(command *cobra.Command) {
	f.isSet = command.Flags().Changed
	f.value = func(name string) string { return command.Flag(name).Value.String() }
	addGroup(command, "When flows begin", f.addSchedule)
	addGroup(command, "What is sent (for a URL; a scenario says it itself)", f.addRequest, f.addAnswers)
	addGroup(command, "Where to, and how", f.addTarget, f.addAllowed, f.addConnections, f.addClient,
		f.addLoadConnections)
	addGroup(command, "Judgement", f.addJudgement)
	addGroup(command, "What sends it", f.addSenders)
	addGroup(command, "Output", f.outputs.addTo)
}

// loadNotes is a part of the help, which explains values of flags.
const loadNotes = `

Rates are per second (5000, 0.5), or 300/m, 900/h; times are 150ms, 2s, 5m.

Objectives are conditions with commas between: p50 p90 p95 p99 p99.9 max mean
(response time; service.p99 and so on are service time), errors, achieved (share
of the offered rate), late, unsent, rate: 'p99<50ms,errors<0.1%,achieved>=99%'.

Pacing is how exactly operations leave, at a price in processor time that is
printed: exact (within some microseconds; 20 us for each sleep and wake on a
virtual machine), grid:1ms (in packets, up to 1 ms late, a fifth of the price at
10000/s), spin (under a microsecond, keeps a processor busy).

Exit codes: 0 the load was achieved (and met its objective), 1 the target could
not be reached or no operation succeeded, 2 bad arguments or target not allowed,
3 this host lacks a part (open files for so many connections), 4 the load was not
achieved, the client was the limit, the objective was missed or no rate met it,
130 interrupted.`

func (f *loadFlags) addSchedule(flags *pflag.FlagSet) {
	flags.StringVarP(&f.rate, "rate", "r", "", "open loop: `flows` per second, or 300/m, 900/h")
	flags.StringVar(&f.ramp, "ramp", "", "open loop: evenly rising rate, `FROM:TO`")
	flags.StringVar(&f.steps, "steps", "",
		"open loop: rates one after the other, `FROM:BY:COUNT:EACH`, e.g. 60/m:60/m:5:1m")
	flags.StringVar(&f.spike, "spike", "",
		"open loop: rate with a peak, `BASE:PEAK:AT:FOR`, e.g. 100:1000:10s:2s")
	flags.StringVar(&f.replay, "replay", "",
		"open loop: `file` of arrivals: a time in seconds per line, or what --lines or --jtl wrote")
	flags.StringVar(&f.arrivals, "arrivals", "",
		"open loop: `kind` of arrivals: constant (default), jittered or poisson")
	flags.IntVarP(&f.users, "users", "u", 0, "closed loop: `number` of users, each with a connection")
	flags.DurationVar(&f.think, "think", 0, "closed loop: pause of a user between flows")
	flags.DurationVar(&f.rampUp, "ramp-up", 0, "closed loop: time over which the users begin")
	flags.DurationVarP(&f.duration, "duration", "d", 0, "time within which flows are begun (default 10s)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of arrivals and generated values (default 1, or the scenario's)")
}

func (f *loadFlags) addRequest(flags *pflag.FlagSet) {
	flags.StringVarP(&f.method, "method", "X", "", "`method` of the request (default GET, with a body POST)")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "header of the request, `'Name: value'`; repeatable")
	flags.StringVar(&f.body, "body", "", "`text` to send, or @FILE; for gRPC: the message as JSON")
}

func (f *loadFlags) addAnswers(flags *pflag.FlagSet) {
	flags.StringVar(&f.expectStatus, "expect-status", "",
		"`status` of a right answer: 200, 2xx, 200-299 or a list (default 200-399); for gRPC: OK")
	flags.StringArrayVar(&f.expectBody, "expect-body", nil,
		"`text` that a right answer contains, or re:PATTERN; repeatable")
	flags.StringArrayVar(&f.expectJSON, "expect-json", nil,
		"`path=value` that a right answer has, e.g. items.0.id=7; repeatable")
	flags.StringArrayVar(&f.expectHeader, "expect-header", nil,
		"`'Name: text'` that a right answer has, or 'Name: re:PATTERN'; repeatable")
}

func (f *loadFlags) addTarget(flags *pflag.FlagSet) {
	flags.StringVar(&f.target, "target", "", "`URL` instead of the scenario's target")
	flags.StringVar(&f.unix, "unix", "", "Unix `socket` to connect to instead of the URL's host")
}

// addAllowed adds the flags about allowed targets and trusted certificates.
func (f *loadFlags) addAllowed(flags *pflag.FlagSet) {
	flags.StringVar(&f.allow, "allow", "",
		"`file` with other targets and the consent of their owners (docs/consent.md)")
	flags.StringVar(&f.ca, "ca", "", "PEM `file` of certificates to trust instead of the host's")
}

// addConnections adds the flag for the number of connections of an open loop.
func (f *loadFlags) addConnections(flags *pflag.FlagSet) {
	flags.IntVarP(&f.connections, "connections", "c", trial.DefaultConnections,
		"open loop: `number` of connections in the pool")
}

func (f *loadFlags) addClient(flags *pflag.FlagSet) {
	flags.DurationVar(&f.timeout, "timeout", trial.DefaultTimeout, "time limit of an operation")
	flags.BoolVar(&f.http2, "http2", false, "use HTTP/2; with http:// in clear text (h2c)")
	flags.Var(&f.traceShare, "trace-share", "trace this `share` of the flows, e.g. 1/32: their requests have a "+
		"traceparent header that asks services for spans (docs/traces.md)")
}

// addLoadConnections adds the flags about connections that only the command load has.
func (f *loadFlags) addLoadConnections(flags *pflag.FlagSet) {
	flags.Lookup("connections").Usage += "; without a rate: number of users"
	flags.IntVar(&f.streams, "streams", 0,
		"`number` of flows at a time on a connection of HTTP/2 or gRPC (default 32)")
	flags.BoolVar(&f.noKeepAlive, "no-keep-alive", false, "open a new connection for every flow")
	flags.BoolVar(&f.insecure, "insecure", false, "accept any certificate")
	flags.StringVar(&f.protoSet, "proto-set", "",
		"`file` of gRPC descriptors, made by protoc -o (default: ask the server)")
}

func (f *loadFlags) addJudgement(flags *pflag.FlagSet) {
	flags.StringVar(&f.objective, "objective", "",
		"`conditions` to meet, e.g. 'p99<50ms,errors<0.1%'; if missed: exit code 4")
	flags.BoolVar(&f.abort, "abort", false,
		"abort the load when the objective can no longer be met, or was missed 5 seconds in a row")
	flags.BoolVar(&f.search, "search", false,
		"search for the highest rate that meets the objective, from --rate on")
	flags.Float64Var(&f.resolution, "resolution", 1.03,
		"precision of the search: `ratio` of the lowest rate that failed to the highest that passed")
}

func (f *loadFlags) addSenders(flags *pflag.FlagSet) {
	flags.StringVar(&f.pacing, "pacing", trial.DefaultPacing,
		"`precision` of send times: exact, grid:1ms (any length) or spin")
	flags.IntVar(&f.loops, "loops", 1,
		"number of sending `threads`, for plain HTTP/1.1 at rates beyond one processor")
	flags.IntVar(&f.agents, "agents", 0, "`number` of processes here that share the load")
	flags.StringArrayVar(&f.agent, "agent", nil,
		"`command` that starts an agent to share the load, e.g. 'ssh b cleave agent'; repeatable")
}

// share is a flag between 0 and 1: "1/32" or "0.03".
type share float64

// The methods of pflag.Value.

func (s *share) String() string { return strconv.FormatFloat(float64(*s), 'g', -1, 64) }
func (s *share) Type() string   { return "share" }

func (s *share) Set(text string) error {
	above, below, fraction := strings.Cut(text, "/")
	value, err := strconv.ParseFloat(above, 64)
	if err == nil && fraction {
		var divisor float64
		divisor, err = strconv.ParseFloat(below, 64)
		value /= divisor
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return fmt.Errorf("%q is no share: expected 0 to 1, or a fraction such as 1/32", text)
	}
	*s = share(value)
	return nil
}

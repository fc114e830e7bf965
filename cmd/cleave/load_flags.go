package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/load/trial"
)

// loadFlags are the flags of load.
type loadFlags struct {
	given func(flag string) bool
	value func(flag string) string // as text

	// when flows begin
	rate, arrivals, ramp, steps, spike, replay string
	users                                      int
	think, rampUp, duration                    time.Duration
	seed                                       uint64

	// what is sent, for a URL
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

// group is a part of the help.
type group struct {
	title string
	flags *pflag.FlagSet
}

// register makes the flags, and the help that shows them in groups.
func (f *loadFlags) register(command *cobra.Command) {
	groups := []group{f.whenFlags(), f.whatFlags(), f.whereFlags(), f.judgeFlags(), f.senderFlags(),
		f.outputs.flags()}
	for _, g := range groups {
		g.flags.SortFlags = false
		command.Flags().AddFlagSet(g.flags)
	}
	usual := new(cobra.Command).UsageFunc()
	command.SetUsageFunc(func(asked *cobra.Command) error {
		if asked != command { // a command below inherits this function
			return usual(asked)
		}
		fmt.Fprintf(command.OutOrStdout(), "Usage:\n  cleave %s [flags]\n  cleave load import FILE   make a "+
			"scenario from HAR, OpenAPI or JMeter\n\nExamples:\n%s\n",
			command.Use, command.Example)
		for _, g := range groups {
			fmt.Fprintf(command.OutOrStdout(), "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(80))
		}
		_, err := fmt.Fprint(command.OutOrStdout(), loadHelpEnd)
		return err
	})
}

// loadHelpEnd is the end of the help.
const loadHelpEnd = `
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
3 this process may not open so many files, 4 the load was not achieved, the
client was the limit, the objective was missed or no rate met it, 130 interrupted.
`

func (f *loadFlags) whenFlags() group {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.StringVarP(&f.rate, "rate", "r", "", "open loop: `flows` per second, or 300/m, 900/h")
	set.StringVar(&f.ramp, "ramp", "", "open loop: rate that rises evenly, `FROM:TO`")
	set.StringVar(&f.steps, "steps", "",
		"open loop: rates one after the other, `FROM:BY:COUNT:EACH`, e.g. 60/m:60/m:5:1m")
	set.StringVar(&f.spike, "spike", "", "open loop: `BASE:PEAK:AT:FOR`, e.g. 100:1000:10s:2s")
	set.StringVar(&f.replay, "replay", "",
		"open loop: arrivals from a `file`: a time in seconds per line, or what --lines or --jtl wrote")
	set.StringVar(&f.arrivals, "arrivals", "", "open loop: constant (default), jittered or poisson")
	set.IntVarP(&f.users, "users", "u", 0, "closed loop: `number` of users, each with a connection")
	set.DurationVar(&f.think, "think", 0, "closed loop: pause of a user between flows")
	set.DurationVar(&f.rampUp, "ramp-up", 0, "closed loop: time over which the users begin")
	set.DurationVarP(&f.duration, "duration", "d", 0, "how long flows are begun (default 10s)")
	set.Uint64Var(&f.seed, "seed", 0, "of arrivals and generated values (default 1, or the scenario's)")
	return group{"When flows begin", set}
}

func (f *loadFlags) whatFlags() group {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.StringVarP(&f.method, "method", "X", "", "default GET, with a body POST")
	set.StringArrayVarP(&f.headers, "header", "H", nil, "`'Name: value'`, may be repeated")
	set.StringVar(&f.body, "body", "", "text to send, or @FILE; of gRPC: the message as JSON")
	set.StringVar(&f.expectStatus, "expect-status", "",
		"200, 2xx, 200-299 or a list (default 200-399); of gRPC: OK")
	set.StringArrayVar(&f.expectBody, "expect-body", nil, "`text` that answers contain, or re:PATTERN")
	set.StringArrayVar(&f.expectJSON, "expect-json", nil, "`path=value` that answers have, e.g. items.0.id=7")
	set.StringArrayVar(&f.expectHeader, "expect-header", nil,
		"`'Name: text'` that answers have, or 'Name: re:PATTERN'")
	return group{"What is sent (for a URL; a scenario says it itself)", set}
}

func (f *loadFlags) whereFlags() group {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.StringVar(&f.target, "target", "", "`URL` instead of the scenario's target")
	set.StringVar(&f.unix, "unix", "", "connect to this Unix `socket` instead of the URL's host")
	set.StringVar(&f.allow, "allow", "", "`file` with other targets and their owners' consent (docs/consent.md)")
	set.IntVarP(&f.connections, "connections", "c", trial.DefaultConnections,
		"open loop: size of the pool of connections; without a rate: that many users")
	set.IntVar(&f.streams, "streams", 0, "flows at a time on a connection of HTTP/2 or gRPC (default 32)")
	set.BoolVar(&f.noKeepAlive, "no-keep-alive", false, "a new connection for every flow")
	set.DurationVar(&f.timeout, "timeout", trial.DefaultTimeout, "time limit of an operation")
	set.BoolVar(&f.http2, "http2", false, "HTTP/2; with http:// in clear text (h2c)")
	set.StringVar(&f.ca, "ca", "", "PEM `file` of certificates to trust instead of the host's")
	set.BoolVar(&f.insecure, "insecure", false, "accept any certificate")
	set.StringVar(&f.protoSet, "proto-set", "",
		"gRPC descriptors: `file` made by protoc -o (default: ask the server)")
	return group{"Where to, and how", set}
}

func (f *loadFlags) judgeFlags() group {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.StringVar(&f.objective, "objective", "",
		"`conditions` to meet, e.g. 'p99<50ms,errors<0.1%'; missed: exit code 4")
	set.BoolVar(&f.abort, "abort", false,
		"break the load off when the objective cannot be met any more, or was missed 5 seconds in a row")
	set.BoolVar(&f.search, "search", false, "find the highest rate that meets the objective, from --rate on")
	set.Float64Var(&f.resolution, "resolution", 1.03,
		"how near the search comes: `ratio` of the lowest rate that failed to the highest that passed")
	return group{"Judgement", set}
}

func (f *loadFlags) senderFlags() group {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.StringVar(&f.pacing, "pacing", trial.DefaultPacing, "exact, grid:1ms (any length) or spin")
	set.IntVar(&f.loops, "loops", 1, "sending `threads`, for plain HTTP/1.1 that one processor cannot send")
	set.IntVar(&f.agents, "agents", 0, "share the load out among this `number` of processes here")
	set.StringArrayVar(&f.agent, "agent", nil,
		"share it out among agents started by this `command`, may be repeated, e.g. 'ssh b cleave agent'")
	return group{"What sends it", set}
}

// forURL lists the flags that say what is sent.
func forURL() []string {
	return []string{"method", "header", "body", "expect-status", "expect-body", "expect-json", "expect-header"}
}

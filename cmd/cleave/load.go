package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/load/trial"
)

// loadFlags are the flags of load.
type loadFlags struct {
	rate      string
	pacing    string
	body      string
	objective string
	allow     string
	search    bool
	spec      trial.Spec
	outputs   loadOutputs
}

func (a app) loadCommand() *cobra.Command {
	var flags loadFlags
	command := &cobra.Command{
		Use:   "load URL",
		Short: "send load to a URL and say how long answers take",
		Long: `Sends plain HTTP/1.1 requests to one URL and measures.

Open loop (--rate): operations are due by a schedule, whatever the target does.
Response time runs from the due time, so waiting that a stalled target causes is
counted; service time runs from the actual send. The pool of connections is
fixed; an operation that finds none waits, and one that is never sent is counted
as unsent. Closed loop (--users): each user waits for the answer, thinks, goes on.

Pacing is how exactly operations leave, at a price in processor time: exact
(within some microseconds; 20 us per sleep and wake on a virtual machine),
grid:1ms (in packets, up to 1 ms late, a fifth of the price at 10000/s), or spin
(under a microsecond, keeps a processor busy).

Load goes to this host only; for others see --allow. Redirects are answers and
are not followed. Without --expect-body or --expect-json nobody reads what the
target answers: a failure behind status 200 stays unseen.

Exit codes: 0 the load was achieved (and met its objective), 1 the target could
not be reached or no operation succeeded, 2 bad arguments or target not allowed,
4 the load was not achieved, the client was the limit, or the objective missed.`,
		Example: `  cleave load http://127.0.0.1:8080/ -r 5000 -d 30s --expect-body '"ok":true'
  cleave load http://127.0.0.1:8080/ -u 64 --think 100ms --ramp-up 5s
  cleave load http://127.0.0.1:8080/ -r 100 --search --objective 'p99<50ms'`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			flags.spec.URL = args[0]
			return a.load(command.Context(), &flags)
		},
	}
	flags.register(command)
	return command
}

func (f *loadFlags) register(command *cobra.Command) {
	flags, s := command.Flags(), &f.spec
	flags.StringVarP(&f.rate, "rate", "r", "", "open loop: operations per second, or 300/m, 900/h")
	flags.StringVar(&s.Arrivals, "arrivals", trial.Constant, "open loop: constant or poisson")
	flags.Uint64Var(&s.Seed, "seed", 1, "of poisson arrivals")
	flags.IntVarP(&s.Connections, "connections", "c", 64, "open loop: size of the pool of connections")
	flags.IntVarP(&s.Users, "users", "u", 0, "closed loop: number of users, each with a connection")
	flags.DurationVar(&s.Think, "think", 0, "closed loop: pause between an answer and the next operation")
	flags.DurationVar(&s.RampUp, "ramp-up", 0, "closed loop: time over which the users begin")
	flags.DurationVarP(&s.Duration, "duration", "d", 10*time.Second, "how long operations are begun")
	flags.DurationVar(&s.Timeout, "timeout", 5*time.Second, "time limit of an operation")
	flags.StringVar(&f.pacing, "pacing", "exact", "exact, grid:1ms (any length) or spin")
	flags.StringVarP(&s.Method, "method", "X", "", "default GET, with a body POST")
	flags.StringArrayVarP(&s.Headers, "header", "H", nil, "'Name: value', may be repeated")
	flags.StringVar(&f.body, "body", "", "text to send, or @FILE")
	flags.StringVar(&s.Unix, "unix", "", "connect to this Unix socket instead of the URL's host")
	flags.StringVar(&s.Expect.Status, "expect-status", "", "200, 2xx, 200-299 or a list (default 200-399)")
	flags.StringArrayVar(&s.Expect.Body, "expect-body", nil, "text that answers contain, or re:PATTERN")
	flags.StringArrayVar(&s.Expect.JSON, "expect-json", nil, "path=value that answers have, e.g. items.0.id=7")
	flags.StringVar(&f.objective, "objective", "", "for example 'p99<50ms,errors<0.1%'")
	flags.BoolVar(&f.search, "search", false, "find the highest rate that meets the objective, from --rate on")
	flags.StringVar(&f.allow, "allow", "", "list of other targets and their owners' consent (docs/consent.md)")
	f.outputs.register(command)
}

// load plays what the flags say.
func (a app) load(ctx context.Context, flags *loadFlags) error {
	limit, err := flags.complete()
	if err != nil {
		return withCode(exitBadPlan, "%w", err)
	}
	prepared, err := flags.spec.Prepare(ctx)
	if err != nil {
		return withCode(exitBadPlan, "%w", err)
	}
	outcome, played := a.playLoad(ctx, prepared, limit, flags)
	var limited *trial.ClientLimitError
	if errors.As(played, &limited) {
		played = withCode(exitLoadNotReached, "%w", played)
	}
	if outcome.Results == nil {
		return errors.Join(played, flags.outputs.close())
	}
	shown := a.out
	if flags.outputs.json == "-" {
		shown = a.story
	}
	showLoad(shown, &outcome)
	if err := errors.Join(played, flags.outputs.write(a.out, &outcome), flags.outputs.close()); err != nil {
		return err
	}
	return judgeLoad(&outcome.Summary, limit, flags.search)
}

// playLoad plays one trial, or those of a search.
func (a app) playLoad(ctx context.Context, prepared *trial.Trial, limit objective.Objective, flags *loadFlags) (trial.Outcome, error) {
	if flags.search {
		return trial.Search(ctx, prepared, limit, flags.objective, func(rate float64, probe record.Probe) {
			verdict := "passes"
			if !probe.Pass {
				verdict = "fails: " + strings.Join(probe.Reasons, "; ")
			}
			fmt.Fprintf(a.story, "%g/s %s\n", rate, verdict)
		})
	}
	second, err := a.eachSecond(flags)
	if err != nil {
		return trial.Outcome{}, err
	}
	return prepared.Play(ctx, second)
}

// complete reads the flags that are texts.
func (f *loadFlags) complete() (objective.Objective, error) {
	var mistakes []error
	var limit objective.Objective
	note := func(err error) { mistakes = append(mistakes, err) }
	s := &f.spec
	var err error
	if f.rate != "" {
		s.Rate, err = schedule.ParseRate(f.rate)
		note(err)
	}
	s.Pacing, err = engine.ParsePacing(f.pacing)
	note(err)
	s.Body, err = loadBody(f.body)
	note(err)
	if f.objective != "" {
		limit, err = objective.Parse(f.objective)
		note(err)
	}
	if f.search && (f.objective == "" || f.rate == "") {
		note(errors.New("--search needs --objective, and --rate to begin with"))
	}
	if f.rate == "" && s.Users == 0 {
		note(errors.New("give --rate for an open loop or --users for a closed one"))
	}
	if f.allow != "" {
		s.Guard.Allowed, err = readAllowList(f.allow)
		note(err)
	}
	if s.Method == "" {
		s.Method = "GET"
		if len(s.Body) > 0 {
			s.Method = "POST"
		}
	}
	note(f.outputs.check(f.search))
	return limit, errors.Join(mistakes...)
}

// loadBody is the text itself or, after @, what a file holds.
func loadBody(text string) ([]byte, error) {
	path, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return []byte(text), nil
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--body: %w", err)
	}
	return body, nil
}

func readAllowList(path string) ([]consent.Permission, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--allow: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	return consent.ReadList(file, path)
}

// leastAchieved is the share of the offered rate below which a load was not
// achieved.
const leastAchieved = 0.99

// judgeLoad turns the summary into the command's error.
func judgeLoad(s *record.Summary, limit objective.Objective, searched bool) error {
	switch {
	case searched && (s.Capacity == nil || s.Capacity.Rate == nil):
		return withCode(exitLoadNotReached, "no rate met the objective %s", s.Capacity.Objective)
	case searched:
		return nil
	case s.OK == 0 && s.Sent > 0:
		return withCode(exitFailed, "none of %d operations succeeded", s.Sent)
	case s.OfferedRate != nil && s.AchievedRate < leastAchieved**s.OfferedRate:
		return withCode(exitLoadNotReached, "the load was not achieved: %.6g/s of %.6g/s were sent, %d operations never: offer less, or use more connections",
			s.AchievedRate, *s.OfferedRate, s.Unsent)
	case s.Generator.Limited:
		return withCode(exitLoadNotReached, "the client, not the system, was the limit: %s", strings.Join(s.Generator.LimitedBy, "; "))
	}
	if pass, reasons := limit.Judge(s); !pass {
		return withCode(exitLoadNotReached, "the objective was missed: %s", strings.Join(reasons, "; "))
	}
	return nil
}

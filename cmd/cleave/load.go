package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/agent"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/search"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/meter"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/unit"
)

func (a app) loadCommand() *cobra.Command {
	flags := &loadFlags{}
	command := &cobra.Command{
		Use:   "load URL | SCENARIO.yaml",
		Short: "send load to a URL, or play a scenario, and say how long answers take",
		Long: `Sends load to a system and measures it: one request again and again (URL), or
the flows of a scenario file (docs/load.md). http:// is HTTP/1.1, https:// what
the server picks, grpc:// and grpcs:// unary gRPC.

Open loop (--rate, --ramp, --steps, --spike, --replay): flows are due by a
schedule, whatever the target does. Response time runs from the due time, so the
waiting that a stalled target causes is counted; service time runs from the
actual send. The pool of connections is fixed; a flow that finds none waits, and
one that is never begun is counted as unsent.
Closed loop (--users): each user waits for its answers, thinks, and goes on.

Load goes to this host only; for others see --allow. Redirects are answers and
are not followed. An operation without --expect-body, --expect-json or
--expect-header (in a scenario: expect) is unchecked: a failure behind status
200 stays unseen.` + loadNotes,
		Example: `  cleave load http://127.0.0.1:8080/ -r 5000 -d 30s --expect-body '"ok":true'
  cleave load http://127.0.0.1:8080/ -u 64 --think 100ms --ramp-up 5s
  cleave load http://127.0.0.1:8080/ --steps 60/m:60/m:5:1m --json load.json
  cleave load http://127.0.0.1:8080/ -c 64
  cleave load http://127.0.0.1:8080/ --search --objective 'p99<50ms'
  cleave load shop.yaml --target https://127.0.0.1:8443 --ca ca.pem --jtl shop.jtl
  cleave load grpc://127.0.0.1:9090/shop.Orders/Create --body '{"item":7}' -r 50
  cleave load shop.yaml --agent 'ssh a cleave agent' --agent 'ssh b cleave agent'`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return a.load(command.Context(), args[0], flags)
		},
	}
	flags.register(command)
	command.AddCommand(a.loadImportCommand())
	return command
}

// loadRun is one call of the command load.
type loadRun struct {
	app
	flags *loadFlags
	spec  trial.Spec
	goal  objective.Objective
	trial *trial.Trial
	group *agent.Group // nil: this process sends the load
}

// load plays the load of the command line. source is a URL or the path of a scenario.
func (a app) load(ctx context.Context, source string, flags *loadFlags) error {
	run, err := a.newLoadRun(ctx, source, flags)
	if err != nil {
		return loadRefusal(err)
	}
	outcome, played := run.play(ctx)
	// Lists of operations are complete even if the load was interrupted: no operation so far is missing.
	interrupted := played != nil && ctx.Err() != nil
	complete := outcome.Results != nil && (played == nil || interrupted)
	var limited *trial.ClientLimitError
	var unreachable *engine.UnreachableError
	switch {
	case interrupted:
		played = withCode(exitInterrupted, "interrupted")
	case errors.As(played, &limited), errors.As(played, &unreachable) && unreachable.Own():
		played = withCode(exitLoadNotReached, "%w", played)
	}
	if outcome.Results == nil {
		return errors.Join(played, flags.outputs.close(complete))
	}
	shown := a.textStream(isOutput(flags.outputs.json) || isOutput(flags.outputs.hgrm))
	a.conceal(&outcome)
	showLoad(shown, &outcome)
	if err := errors.Join(played, flags.outputs.write(a, &outcome), flags.outputs.close(complete)); err != nil {
		return err
	}
	return judgeLoad(&outcome.Summary, run.goal, flags.search)
}

// conceal replaces secrets in texts that the target has answered.
func (a app) conceal(o *trial.Outcome) {
	o.Report.Example = a.secrets.Conceal(o.Report.Example)
	for _, texts := range o.Summary.ErrorSamples {
		for i := range texts {
			texts[i] = a.secrets.Conceal(texts[i])
		}
	}
}

// loadRefusal returns the error of a load that was not begun, with its exit code: this host
// allows too few open files, or the arguments are wrong.
func loadRefusal(err error) error {
	if _, is := errors.AsType[*trial.FilesError](err); is {
		return withCode(exitMissingPart, "%w", err)
	}
	return badPlan(err)
}

// newLoadRun checks the arguments and asks for consent.
func (a app) newLoadRun(ctx context.Context, source string, flags *loadFlags) (*loadRun, error) {
	run := &loadRun{app: a, flags: flags}
	var err error
	if run.spec, run.goal, err = flags.read(source); err != nil {
		return nil, err
	}
	for _, header := range flags.headers {
		if name, value, _ := strings.Cut(header, ":"); secret.Named(name) && !secret.HasReference(value) {
			a.warn("everybody on this host can read the value of %s in the process list: better set NAME in the "+
				"environment and write -H '%s: ${NAME}'", name, name)
		}
	}
	if run.spec.Scenario, err = fillScenario(a.secrets, run.spec.Scenario); err != nil {
		return nil, err
	}
	commands, err := flags.agentCommands()
	if err != nil {
		return nil, err
	}
	if len(commands) == 0 {
		run.trial, err = run.spec.Prepare(ctx)
		return run, err
	}
	// Agents ask for consent themselves, because the target may be another host there.
	share := run.spec
	share.Of = len(commands) // each agent sends one share, to which the limits of one process apply
	if _, err := share.Check(); err != nil {
		return nil, err
	}
	if run.trial, err = run.spec.Check(); err != nil {
		return nil, err
	}
	job := agent.Job{Schema: agent.Schema, Spec: run.spec, Allow: flags.allowed}
	run.group = &agent.Group{Commands: commands, Job: job, Remote: len(flags.agent) > 0}
	return run, nil
}

// play plays one load, or the loads of a search.
func (r *loadRun) play(ctx context.Context) (trial.Outcome, error) {
	if r.flags.search {
		return r.search(ctx)
	}
	loadCtx, watch := r.trial.Watched(ctx, r.goal, r.flags.abort)
	hooks, err := r.flags.outputs.open(r.group != nil)
	if err != nil {
		return trial.Outcome{}, badPlan(err)
	}
	outs, endOuts, err := r.openOuts(r.flags.outputs.out)
	if err != nil {
		return trial.Outcome{}, err
	}
	defer endOuts()
	show := r.watcher(outs)
	logged := hooks.Second
	hooks.Second = func(s trial.Second) error {
		show(s)
		return errors.Join(logged(s), watch(s))
	}
	outcome, err := r.send(loadCtx, hooks)
	return trial.Aborted(loadCtx, outcome, err)
}

// send plays one load, in this process or with agents.
func (r *loadRun) send(ctx context.Context, hooks trial.Hooks) (trial.Outcome, error) {
	if r.group != nil {
		return r.group.Play(ctx, agent.Listeners{Second: hooks.Second, Row: hooks.Row})
	}
	return r.trial.Play(ctx, hooks)
}

// search looks for the capacity.
func (r *loadRun) search(ctx context.Context) (trial.Outcome, error) {
	capacity := trial.CapacitySearch{Objective: r.goal, Resolution: r.flags.resolution, Confirm: true,
		Probed: func(probe record.Probe) {
			if r.flags.outputs.progress == "none" {
				return
			}
			verdict, longer := "passes", ""
			if !probe.Pass {
				verdict = "fails: " + strings.Join(probe.Reasons, "; ")
			}
			if probe.Disturbed != "" {
				verdict += "; it may be wrong: " + probe.Disturbed
			}
			if probe.Confirms {
				longer = fmt.Sprintf("%d times as long ", search.Longer)
			} else if probe.Short {
				longer = fmt.Sprintf("%g times as long ", search.ShortShare)
			}
			fmt.Fprintf(r.errOut, "%s %s%s\n", perSecond(probe.Rate), longer, verdict)
		}}
	if len(r.flags.agent) == 0 { // otherwise other hosts send the load
		capacity.Host = meter.NewHost(version)
		capacity.MaxSteal = study.Defaults().Gates.MaxStealShare
	}
	if r.flags.rate == "" && r.spec.Load.Users > 0 {
		if err := r.findFirstRate(ctx); err != nil {
			return trial.Outcome{}, err
		}
	}
	if r.group != nil {
		capacity.Play = r.playWithAgents
	}
	return r.trial.Search(ctx, capacity)
}

// playWithAgents plays one load of a search with the agents.
func (r *loadRun) playWithAgents(
	ctx context.Context, load scenario.Load, seed uint64,
) (trial.Outcome, error) {
	group := *r.group
	group.Job.Spec.Load = load
	group.Job.Spec.Scenario.Seed = seed
	outcome, err := group.Play(ctx, agent.Listeners{})
	r.group.Job.Spec.After = outcome.Progress // the next load must not use the same values again
	return outcome, err
}

// findFirstRate plays the closed loop of a search for a second. Then it replaces it by an open loop, with a
// quarter of the rate that the users reached.
func (r *loadRun) findFirstRate(ctx context.Context) error {
	const part = 4
	load := r.spec.Load
	load.Duration = scenario.Duration(time.Second)
	var outcome trial.Outcome
	var err error
	if r.group != nil {
		outcome, err = r.playWithAgents(ctx, load, r.spec.Scenario.Seed)
	} else {
		spec := r.spec
		spec.Load = load
		var prepared *trial.Trial
		if prepared, err = spec.Prepare(ctx); err == nil {
			outcome, err = prepared.Play(ctx, trial.Hooks{})
		}
	}
	if err != nil {
		return err
	}
	rate := max(1, math.Round(outcome.Summary.AchievedRate/part))
	fmt.Fprintf(r.errOut, "%d users get %s done: the search begins at %s\n", r.spec.Load.Users,
		perSecond(outcome.Summary.AchievedRate), perSecond(rate))
	r.spec.Load = trial.AtRate(scenario.Load{Duration: r.spec.Load.Duration, Arrivals: r.spec.Load.Arrivals},
		rate)
	r.spec.After = outcome.Progress
	if r.group != nil { // the agents ask for consent and prepare each load
		r.group.Job.Spec.Load = r.spec.Load
		r.trial, err = r.spec.Check()
		return err
	}
	r.trial, err = r.spec.Prepare(ctx)
	return err
}

// leastAchieved is the smallest achieved share of the offered rate with which a load counts
// as achieved.
const leastAchieved = 0.99

// judgeLoad returns the error with which the command ends. The summary of a search has a capacity.
func judgeLoad(s *record.Summary, goal objective.Objective, searched bool) error {
	switch {
	case searched && s.Capacity.Rate == nil:
		return withCode(exitLoadNotReached, "no rate met the objective %s", s.Capacity.Objective)
	case searched:
		return nil
	case s.Aborted != "":
		return withCode(exitLoadNotReached, "the load was broken off: %s", s.Aborted)
	case s.OK == 0 && s.Sent > 0:
		return withCode(exitFailed, "none of %d operations succeeded", s.Sent)
	case s.Generator.Limited:
		return withCode(exitLoadNotReached, "the client, not the system, was the limit: %s",
			strings.Join(s.Generator.LimitedBy, "; "))
	case s.OfferedRate != nil && s.AchievedRate < leastAchieved*(*s.OfferedRate):
		return withCode(exitLoadNotReached,
			"the load was not achieved: %.6g/s of %.6g/s were sent, %d never: offer less, or use more connections",
			s.AchievedRate, *s.OfferedRate, s.Unsent)
	}
	if pass, reasons := goal.Judge(s); !pass {
		return withCode(exitLoadNotReached, "the objective was missed: %s", strings.Join(reasons, "; "))
	}
	return nil
}

// agentCommand returns the hidden command that runs an agent, see package load/agent.
func agentCommand(in io.Reader, out io.Writer) *cobra.Command {
	var text string
	command := &cobra.Command{
		Use: "agent", Hidden: true, Args: arguments(cobra.NoArgs),
		Short: "send a share of a load for cleave load, or the load of an experiment",
		RunE: func(command *cobra.Command, _ []string) error {
			host := meter.NewHost(version)
			if text == "" {
				return agent.Serve(command.Context(), in, out, nil, host)
			}
			job, err := agent.ParseJob(text)
			if err != nil {
				return badPlan(err)
			}
			if os.Getenv(lab.EnvironmentVariable) != "" { // in a pod, where the standard streams are not connected
				if in, out, err = unit.Streams(); err != nil {
					return err
				}
			}
			return agent.Serve(command.Context(), in, out, &job, host)
		},
	}
	command.Flags().StringVar(&text, "job", "",
		"`job` as JSON, or @FILE (default: the first line of standard input)")
	return command
}

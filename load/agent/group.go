package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
)

// Group is a group of agents that share a load.
type Group struct {
	// Commands start the agents, one each: a program and its arguments, no shell.
	Commands [][]string
	// Job is the whole job; every agent gets its part of the spec.
	Job Job
	// Remote: agents may be on other hosts, so the job must contain the files that scenario and load name.
	Remote bool
}

// readyTimeout is the longest time until agents are ready, in addition to the times for which they may
// wait for the target and warm it up.
const readyTimeout = 60 * time.Second

// Listeners are called during the load; each may be nil. Calls of one listener do not overlap, but calls
// of both may. An error of a listener does not end the load; Play returns it at the end.
type Listeners struct {
	// Second is called with each second of the load, summed up over all agents. It must not keep the
	// results.
	Second func(trial.Second) error
	// Row is called with every operation, until its first error. It gets the operations of one loop of an
	// agent in the order of their ends.
	Row func(record.Row) error
}

// Play starts the agents, begins their loads at the same time and returns the outcome of all. Its error
// names an agent that fails, ends early, disagrees with the others or does not send all of its rows, and
// quotes the end of its output. If the context ends early, Play stops the agents, and the outcome holds
// the results until then. No agent is left running.
func (g Group) Play(ctx context.Context, listeners Listeners) (trial.Outcome, error) {
	whole, err := g.Job.Spec.Check()
	if err != nil {
		return trial.Outcome{}, err
	}
	// An agent that fails ends the others, too.
	working, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	g.Job.Rows = listeners.Row != nil
	agents, err := g.startAll(working)
	defer func() { stopAll(agents) }()
	if err != nil {
		return trial.Outcome{}, err
	}
	limit := readyTimeout + time.Duration(g.Job.Await.For+max(g.Job.Warmup, g.Job.WarmupLimit))
	err = forAll(agents, giveUp, func(a *member) error {
		_, err := a.await(ctx, lab.EventReady, limit)
		return err
	})
	if err != nil {
		return trial.Outcome{}, err
	}
	return lead(ctx, whole, agents, giveUp, listeners)
}

// lead plays the load with agents that are ready.
func lead(
	ctx context.Context, whole *trial.Trial, agents []*member, giveUp context.CancelCauseFunc,
	listeners Listeners,
) (trial.Outcome, error) {
	seconds := trial.NewSeconds(len(agents), listeners.Second)
	rows := &gatheredRows{row: listeners.Row}
	for i, a := range agents {
		a.rows = rows
		a.second = func(s trial.Second) { seconds.Take(i, s) }
		a.send(lab.Command{Command: lab.CommandStart})
	}
	limit := whole.Longest() + reportTimeout
	names := make([]string, len(agents))
	parts := make([]trial.Outcome, len(agents))
	err := forAll(agents, giveUp, func(a *member) (err error) {
		names[a.number] = a.name
		parts[a.number], err = a.finish(ctx, limit)
		seconds.End(a.number)
		return err
	})
	if err != nil {
		return trial.Outcome{}, err
	}
	sum, err := whole.Join(names, parts)
	return sum, errors.Join(err, seconds.Err(), rows.err, ctx.Err())
}

// startAll starts the agents and sends each its part of the job.
func (g Group) startAll(ctx context.Context) ([]*member, error) {
	var agents []*member
	whole := g.Job
	if g.Remote {
		var err error
		if whole, err = whole.Pack(); err != nil {
			return nil, err
		}
	}
	for i, command := range g.Commands {
		a, err := start(ctx, i, command)
		if err != nil {
			return agents, err
		}
		agents = append(agents, a)
		job := whole
		job.Schema = Schema
		job.Seconds = true
		job.Spec.Part = i
		job.Spec.Of = len(g.Commands)
		go a.send(job) // a long job may block until the agent reads it; ready shows that it has done so
	}
	return agents, nil
}

// forAll calls do for all agents at the same time and returns the first error. It calls giveUp with that
// error, so that the others stop waiting.
func forAll(agents []*member, giveUp context.CancelCauseFunc, do func(*member) error) error {
	var all sync.WaitGroup
	errs := make(chan error, len(agents))
	for _, a := range agents {
		all.Go(func() {
			if err := do(a); err != nil {
				errs <- err
				giveUp(err)
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs // the first error; nil if there is none
}

// stopAll ends the agents that still run.
func stopAll(agents []*member) {
	var all sync.WaitGroup
	for _, a := range agents {
		all.Go(a.stop)
	}
	all.Wait()
}

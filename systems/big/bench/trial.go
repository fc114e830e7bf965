package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
	"github.com/cleave-lab/cleave/systems/big"
)

// trialTimeout ends a trial that hangs. Trials take seconds.
const trialTimeout = 2 * time.Minute

// cost is what a round trip took in one trial.
type cost struct {
	cpu     float64 // seconds of all processes
	elapsed float64 // seconds
}

// player plays one trial of a contender.
type player struct {
	contender contender
	play      func(ctx context.Context, seed uint64) (cost, error)
}

// newPlayers prepares the contenders; missing says why the peer cannot run.
func newPlayers(ctx context.Context, o options, chosen []contender) (players []player, missing error, err error) {
	own, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(o.unit); err != nil {
		return nil, nil, fmt.Errorf("cleave-unit is missing, run make build first: %w", err)
	}
	scratch, err := leftovers.Claim(leftovers.Root()) // its label tells "cleave clean" that we live
	if err != nil {
		return nil, nil, err
	}
	deployer := process.New(o.unit, []string{own, janitorName}, nil, scratch.Label)
	for _, c := range chosen {
		if c.architecture != "" {
			players = append(players, player{c, func(ctx context.Context, seed uint64) (cost, error) {
				return playTrial(ctx, deployer, c, seed)
			}})
			continue
		}
		if missing == nil {
			missing = buildPeer(ctx, o.peer)
		}
		if missing == nil {
			players = append(players, player{c, func(ctx context.Context, seed uint64) (cost, error) {
				return playPeer(ctx, o.peer, c, seed)
			}})
		}
	}
	return players, missing, nil
}

// playTrial deploys the contender, runs the job between two marks of the meter
// and tears everything down. A trial whose audit is not valid is an error.
func playTrial(ctx context.Context, deployer lab.Deployer, c contender, seed uint64) (measured cost, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	layout, err := big.System{}.Layout(c.variant(), c.point(), seed)
	if err != nil {
		return cost{}, err
	}
	if err := deployer.Preflight(layout); err != nil {
		return cost{}, err
	}
	dir, err := os.MkdirTemp("", "big")
	if err != nil {
		return cost{}, err
	}
	deployment, err := deployer.Deploy(ctx, layout, dir)
	if err != nil {
		return cost{}, err
	}
	defer func() { err = errors.Join(err, deployment.Stop()) }()
	event, metered, err := runJob(ctx, deployment)
	if err != nil {
		return cost{}, err
	}
	if err := audit(ctx, deployment, c); err != nil {
		return cost{}, err
	}
	n := float64(layout.Operations)
	return cost{cpu: metered.Total.CPUSeconds / n, elapsed: event.ElapsedSeconds / n}, nil
}

// runJob returns the lead unit's finish and what was used until then.
func runJob(ctx context.Context, deployment lab.Deployment) (lab.Event, lab.Metered, error) {
	if _, err := deployment.Await(ctx, lab.EventReady); err != nil {
		return lab.Event{}, lab.Metered{}, err
	}
	metering, err := meter.New().Watch(ctx, deployment.Units())
	if err != nil {
		return lab.Event{}, lab.Metered{}, err
	}
	event, err := finish(ctx, deployment, metering)
	metered, stopped := metering.Stop()
	if why, absent := metered.Total.Unavailable["cpu_seconds"]; absent {
		stopped = errors.Join(stopped, fmt.Errorf("CPU time could not be metered: %s", why))
	}
	return event, metered, errors.Join(err, stopped)
}

func finish(ctx context.Context, deployment lab.Deployment, metering lab.Metering) (lab.Event, error) {
	if err := metering.Mark(); err != nil {
		return lab.Event{}, err
	}
	if err := deployment.Command(lab.Command{Command: lab.CommandStart}); err != nil {
		return lab.Event{}, err
	}
	event, err := deployment.Await(ctx, lab.EventFinished)
	if err != nil {
		return lab.Event{}, err
	}
	return event, metering.Mark()
}

func audit(ctx context.Context, deployment lab.Deployment, c contender) error {
	if err := deployment.Command(lab.Command{Command: lab.CommandStop}); err != nil {
		return err
	}
	reports, err := deployment.Reports(ctx)
	if err != nil {
		return err
	}
	audit := big.System{}.Audit(c.variant(), c.point(), reports)
	if audit.Verdict != lab.AuditValid {
		return fmt.Errorf("audit %s: %q", audit.Verdict, audit.Problems)
	}
	return nil
}

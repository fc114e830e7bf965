package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/systems/big"
)

// trialTimeout ends a trial that hangs. Trials take seconds.
const trialTimeout = 2 * time.Minute

// cost is the cost of a round trip in one trial.
type cost struct {
	cpu     float64 // seconds of all processes
	elapsed float64 // seconds
}

// String returns the cost in one line.
func (c cost) String() string {
	return fmt.Sprintf("CPU %s, wall %s", figure.Amount(c.cpu, "s"),
		figure.Amount(c.elapsed, "s"))
}

// newSides returns the contenders as sides of a comparison. If the peer was chosen but cannot run here, it is
// left out, and missing is the reason.
func newSides(
	ctx context.Context, o options, chosen []contender,
) (sides []figures.Side[cost], missing error, err error) {
	units, err := trials.Units(o.units)
	if err != nil {
		return nil, nil, err
	}
	deployer, err := trials.Deployer(units)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range chosen {
		play := func(ctx context.Context, seed uint64) (cost, error) { return playTrial(ctx, deployer, c, seed) }
		if c.architecture == "" {
			if missing == nil {
				missing = buildPeer(ctx, o.peer)
			}
			if missing != nil {
				continue
			}
			play = func(ctx context.Context, seed uint64) (cost, error) { return playPeer(ctx, o.peer, c, seed) }
		}
		sides = append(sides, figures.Side[cost]{Name: c.String(), Play: play, Says: cost.String})
	}
	return sides, missing, nil
}

// playTrial deploys the contender below the folder for temporary files, runs the job
// between two marks of the meter and tears everything down. A trial whose audit is not
// valid is an error.
func playTrial(
	ctx context.Context, deployer lab.Deployer, c contender, seed uint64,
) (measured cost, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	layout, err := big.System{}.Layout(c.variant(), c.point(), seed)
	if err != nil {
		return cost{}, err
	}
	err = trials.Play(ctx, deployer, layout, "", func(o trials.Outcome) error {
		n := float64(layout.Operations)
		measured = cost{cpu: o.Used.Total.CPUSeconds / n, elapsed: o.Finished.ElapsedSeconds / n}
		return audit(c, o.Reports)
	})
	return measured, err
}

// audit returns an error unless the audit of the reports is valid.
func audit(c contender, reports []lab.UnitReport) error {
	audit := big.System{}.Audit(c.variant(), c.point(), reports)
	if audit.Verdict != lab.AuditValid {
		return fmt.Errorf("audit %s: %q", audit.Verdict, audit.Problems)
	}
	return nil
}

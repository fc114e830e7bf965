package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/docker"
	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
)

// candidate is a deployer that is measured.
type candidate struct {
	name string
	// ready is the goal for the time until the units are ready, the platform included.
	ready figures.Goal
	// deployer returns a new deployer, whose platform does not exist yet. A cluster keeps its files in dir.
	deployer func(dir string) lab.Deployer
}

// candidates returns all deployers that can be measured. processes runs units that are not containers, and
// label marks everything that is made.
func candidates(processes *process.Deployer, program, label string) []candidate {
	inDocker := func(network docker.Network) func(string) lab.Deployer {
		return func(string) lab.Deployer { return docker.New(network, processes, program, label) }
	}
	return []candidate{
		{lab.Process, figures.Goal{Must: 1, Stretch: 0.2}, func(string) lab.Deployer { return processes }},
		{lab.DockerHost, figures.Goal{Must: 5, Stretch: 2}, inDocker(docker.Host)},
		{lab.DockerBridge, figures.Goal{Must: 5, Stretch: 2}, inDocker(docker.Bridge)},
		{lab.Swarm, figures.Goal{Must: 15, Stretch: 8}, func(dir string) lab.Deployer {
			return swarm.New(processes, program, label, filepath.Join(dir, lab.Swarm), nil)
		}},
		{lab.Kubernetes, figures.Goal{Must: 30, Stretch: 15}, func(dir string) lab.Deployer {
			return kubernetes.New(processes, program, filepath.Join(dir, lab.Kubernetes), label, nil)
		}},
	}
}

// toMeasure returns those of the candidates with names in only (see choose) that this host can do. It prints
// why it leaves out the others.
func toMeasure(ctx context.Context, program, dir, only string) ([]candidate, error) {
	processes, err := trials.Deployer(program)
	if err != nil {
		return nil, err
	}
	label, err := launch.Own()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(candidates(processes, program, label.String()), only)
	if err != nil {
		return nil, err
	}
	measured := slices.DeleteFunc(chosen, func(c candidate) bool {
		why := c.deployer(dir).Preflight(ctx, layout(units))
		if why != nil {
			fmt.Fprintf(os.Stderr, "  %s is left out: %v\n", c.name, why)
		}
		return why != nil
	})
	if len(measured) == 0 {
		return nil, errors.New("nothing is left to measure on this host")
	}
	return measured, nil
}

// choose returns the candidates with the names in only, separated by commas; all if it is empty.
func choose(all []candidate, only string) ([]candidate, error) {
	if only == "" {
		return all, nil
	}
	var chosen []candidate
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(c candidate) bool { return c.name == name })
		if i < 0 {
			there := strings.Join(names(all), ", ")
			return nil, fmt.Errorf("-only: there is no deployer %q; there are %s", name, there)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// names returns the names of candidates.
func names(candidates []candidate) []string {
	var names []string
	for _, c := range candidates {
		names = append(names, c.name)
	}
	return names
}

// play deploys a layout with a new deployer, calls ready when it is ready, and ends the deployment and
// whatever the deployer keeps between trials.
func (c candidate) play(
	ctx context.Context, l lab.Layout, dir string, ready func(lab.Deployment) error,
) (err error) {
	d := c.deployer(dir)
	if closer, keeps := d.(io.Closer); keeps {
		defer func() { err = errors.Join(err, closer.Close()) }()
	}
	if err := d.Preflight(ctx, l); err != nil {
		return err
	}
	trial, err := os.MkdirTemp(dir, "trial-")
	if err != nil {
		return err
	}
	deployment, err := d.Deploy(ctx, l, trial)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deployment.Stop()) }()
	if _, err := deployment.Await(ctx, lab.EventReady); err != nil {
		return err
	}
	return ready(deployment)
}

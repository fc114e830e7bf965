// Package compose deploys units that are services of a compose file, with docker compose or
// docker-compose, whichever this host has. Units that are no containers, such as the load
// generator, run as processes beside them.
//
// The compose command starts the services, in the order of the file. From then on each of their
// containers is a unit like any other, which is supervised and metered and can have faults.
//
// Everything that it makes carries the label cleave.run and lies in networks of
// 198.19.0.0/16, a range for benchmarks that is not routed (RFC 2544). Package
// leftovers finds the objects of a killed conductor by that label.
//
// Entry points: New, Deployer.Deploy.
package compose

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// Deployer starts containers by a compose file.
type Deployer struct {
	processes *process.Deployer // for units that are no containers
	label     string
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer that runs units that are not containers with processes. label
// marks everything that is made.
func New(processes *process.Deployer, label string) *Deployer {
	return &Deployer{processes: processes, label: label}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return "compose" }

// Can implements lab.Deployer.
func (d *Deployer) Can() lab.Capabilities {
	return lab.Capabilities{Faults: []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause}}
}

// Preflight implements lab.Deployer.
func (d *Deployer) Preflight(ctx context.Context, layout lab.Layout) error {
	services, rest := split(layout)
	_, _, err := findTool(ctx)
	if len(services) == 0 {
		err = errors.Join(err, errors.New("the layout has no service of a compose file: deploy it in another way"))
	}
	return errors.Join(err, d.processes.Preflight(ctx, rest))
}

// split splits a layout into the services of the compose file and the rest.
func split(layout lab.Layout) (services []lab.UnitSpec, rest lab.Layout) {
	isService := func(spec lab.UnitSpec) bool { return spec.Compose != nil }
	isOther := func(spec lab.UnitSpec) bool { return !isService(spec) }
	rest = layout
	rest.Units = slices.DeleteFunc(slices.Clone(layout.Units), isService)
	return slices.DeleteFunc(slices.Clone(layout.Units), isOther), rest
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	tool, client, err := findTool(ctx)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	services, rest := split(layout)
	running := &deployment{deployer: d, engine: client,
		project: &project{tool: tool, spec: services[0], label: d.label, dir: dir}}
	supervisor := fleet.NewSupervisor(layout, fleet.HandedOver(dir))
	running.Fleet = fleet.New(ctx, supervisor, dir, running.platform())
	rest.Prepare = nil // open runs the commands, before the services
	open := func() error {
		if err := running.prepare(ctx, layout.Prepare); err != nil {
			return err
		}
		if err := running.project.up(ctx); err != nil {
			return err
		}
		return running.adopt(ctx)
	}
	if err := running.Launch(ctx, fleet.Parts{Rest: rest}, open, d.processes, nil); err != nil {
		return nil, err
	}
	return running, nil
}

// Missing returns an error that names what this host lacks for compose files, or nil.
func Missing() error {
	_, _, err := findTool(context.Background())
	return err
}

// toolPatience bounds a question to the docker program about its version.
const toolPatience = 10 * time.Second

// findTool returns the compose command and a client of Docker's daemon. It fails unless both are there.
func findTool(ctx context.Context) ([]string, *engine.Client, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, nil, &lab.MissingError{What: "a compose file needs Docker, which is not installed here",
			Install: lab.AptInstall("docker.io", "docker-compose")}
	}
	client, err := engine.Open(ctx)
	if err != nil {
		return nil, nil, engine.Unanswered("a compose file needs", err)
	}
	if run(ctx, toolPatience, nil, "docker", "compose", "version") == nil {
		return []string{"docker", "compose"}, client, nil
	}
	if path, err := exec.LookPath("docker-compose"); err == nil {
		return []string{path}, client, nil
	}
	return nil, nil, &lab.MissingError{What: "a compose file needs docker compose, which is not installed here",
		Install: lab.AptInstall("docker-compose")}
}

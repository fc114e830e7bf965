// Command bench measures what deploying costs: the time from nothing until six units are
// ready, and the time until they are gone, by each deployer that this host can do, in
// rounds in which every deployer has its turn; and the meter's share of one core for fifty
// containers.
//
// Its units are those of package deploytest. It prints a table and writes the figures as
// JSON to the file named by -out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/cleave-lab/cleave/deploy/docker"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
)

const (
	units      = 6
	containers = 50
	// window is how long fifty containers are metered: several rounds of sampling.
	window = 20 * time.Second
)

func main() {
	if play := trials.Part(os.Args[1:]); play != nil {
		exitOn(play())
		return
	}
	out := flag.String("out", "results/bench/deploy.json", "`file` for the figures as JSON")
	rounds := flag.Int("rounds", 5, "rounds; the intervals need at least 2")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exitOn(bench(ctx, *rounds, *out))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-deploy:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, rounds int, out string) (err error) {
	dir, err := os.MkdirTemp("", "cleave-bench-deploy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "unit")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./deploy/deploytest/unit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the unit program: %w: %s", err, text)
	}
	deployers, end, err := deployers(program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	all, err := starts(ctx, deployers, dir, rounds)
	if err != nil {
		return err
	}
	if len(deployers) > 1 {
		share, err := metering(ctx, deployers[1], dir)
		if err != nil {
			return err
		}
		all = append(all, share)
	}
	return figures.Publish(os.Stdout, out, all)
}

// deployers are the process deployer and, where this host has Docker, those of containers.
func deployers(program string) (all []lab.Deployer, end func() error, err error) {
	processes, err := trials.Deployer(program)
	if err != nil {
		return nil, nil, err
	}
	if missing := docker.Missing(); missing != nil {
		fmt.Fprintln(os.Stderr, "processes only:", missing)
		return []lab.Deployer{processes}, func() error { return nil }, nil
	}
	label, err := launch.Own()
	if err != nil {
		return nil, nil, err
	}
	host := docker.New(docker.Host, processes, program, label.String())
	bridge := docker.New(docker.Bridge, processes, program, label.String())
	return []lab.Deployer{processes, host, bridge}, func() error { return errors.Join(host.Close(), bridge.Close()) }, nil
}

// layout is a lead that is ready when it has called all others.
func layout(count int) lab.Layout {
	l := lab.Layout{Lead: "lead", Units: []lab.UnitSpec{{Name: "lead", Role: "lead", Args: []string{"lead"}}}}
	for n := 1; n < count; n++ {
		name := fmt.Sprintf("unit-%02d", n)
		l.Units[0].Args, l.Units[0].Peers = append(l.Units[0].Args, name), append(l.Units[0].Peers, name)
		l.Units = append(l.Units, lab.UnitSpec{Name: name, Role: "unit", Args: []string{"serve"}, Listens: true})
	}
	return l
}

// deploy deploys a layout, has something done with it when it is ready, and stops it.
func deploy(ctx context.Context, d lab.Deployer, l lab.Layout, dir string, ready func(lab.Deployment) error) (err error) {
	if err := d.Preflight(l); err != nil {
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

// took is how long a layout took until it was ready, and from then until it was gone.
type took struct{ ready, gone time.Duration }

// starts measures how long six units take.
func starts(ctx context.Context, deployers []lab.Deployer, dir string, rounds int) ([]figures.Figure, error) {
	var sides []figures.Side[took]
	for _, d := range deployers {
		sides = append(sides, figures.Side[took]{
			Name: d.Name(),
			Play: func(ctx context.Context, _ uint64) (took, error) {
				begun := time.Now()
				var ready time.Time
				err := deploy(ctx, d, layout(units), dir, func(lab.Deployment) error { ready = time.Now(); return nil })
				return took{ready.Sub(begun), time.Since(ready)}, err
			},
			Says: func(t took) string { return fmt.Sprintf("ready after %v, gone after %v", t.ready, t.gone) },
		})
	}
	measured, err := figures.Play(ctx, figures.Rounds{Count: rounds, Story: os.Stderr}, sides...)
	if err != nil {
		return nil, err
	}
	var all []figures.Figure
	for i, d := range deployers {
		goal := figures.Goal{Must: 5, Stretch: 2}
		if d.Name() == lab.Process {
			goal = figures.Goal{Must: 1, Stretch: 0.2}
		}
		ready := figures.Each(measured[i], func(t took) float64 { return t.ready.Seconds() })
		gone := figures.Each(measured[i], func(t took) float64 { return t.gone.Seconds() })
		all = append(all,
			figures.Median(fmt.Sprintf("%s: %d units ready", d.Name(), units), "s", lab.LowerIsBetter, ready).To(goal),
			figures.Median(fmt.Sprintf("%s: %d units gone", d.Name(), units), "s", lab.LowerIsBetter, gone))
	}
	return all, nil
}

// metering measures what the meter takes for many containers.
func metering(ctx context.Context, d lab.Deployer, dir string) (figures.Figure, error) {
	var metered lab.Metered
	err := deploy(ctx, d, layout(containers), dir, func(deployment lab.Deployment) error {
		fmt.Fprintf(os.Stderr, "  %d containers are metered for %v\n", containers, window)
		watching, err := meter.New().Watch(ctx, deployment.Units())
		if err != nil {
			return err
		}
		err = watching.Mark()
		if err == nil {
			time.Sleep(window)
			err = watching.Mark()
		}
		var stopped error
		metered, stopped = watching.Stop()
		return errors.Join(err, stopped)
	})
	share := figures.Median(fmt.Sprintf("%d containers: meter's share of one core", containers), "1", lab.LowerIsBetter, []float64{metered.OwnShare})
	return share.To(figures.Goal{Must: 0.01, Stretch: 0.005}), err
}

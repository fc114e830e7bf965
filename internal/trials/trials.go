// Package trials plays single trials for the benchmarks of systems: it deploys a layout, plays its job as the
// conductor does (run.Job), and tears everything down.
//
// It has no plan, stores nothing and repeats nothing: a failed trial ends a benchmark. The benchmark and
// internal/figures decide what is measured, and how often.
//
// Entry points: Main; Deployer, and Part for its processes; Play for one trial.
package trials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
	"github.com/cleave-lab/cleave/run"
)

// The first arguments with which a deployer starts this program again for one of its parts; see
// deploy/process.
const (
	janitorName = "janitor"
	keeperName  = "keeper"
)

// Part returns the main function of the part of a Deployer for which this program was started, or nil if it
// was not started by a Deployer. args are the program's arguments without its name. A test binary that
// deploys must call it in TestMain, because otherwise its janitor would run all tests again.
func Part(args []string) func() error {
	switch {
	case len(args) == 2 && args[0] == janitorName:
		return func() error { return process.Janitor(os.Stdin, args[1]) }
	case len(args) > 0 && args[0] == keeperName:
		return func() error { return process.Keep(os.Stdin, os.Stdout, args[1:]) }
	}
	return nil
}

// Main is the main function of a benchmark. It runs the benchmark, whose context ends at an interrupt. If a
// deployer has started this program for one of its parts, it runs that part instead (see Part); parts holds
// such functions for programs that the benchmark itself starts. It exits with 1 on errors.
func Main(
	name string, bench func(ctx context.Context) error, parts ...func(args []string) func() error,
) {
	var play func() error
	for _, part := range append(parts, Part) {
		if play == nil {
			play = part(os.Args[1:])
		}
	}
	if play == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		play = func() error { return bench(ctx) }
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Units returns the absolute path of the folder of the unit programs, or an error if it does not exist.
func Units(path string) (string, error) {
	info, err := os.Stat(path) // fails for "", for which Abs returns the working directory
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	if err != nil {
		return "", fmt.Errorf("the unit programs are missing, run make build first: %w", err)
	}
	return filepath.Abs(path)
}

// Deployer returns a deployer of the unit programs in a folder. It starts this program as its janitor and as
// its keepers: the program's main function must begin with Part.
func Deployer(units string) (*process.Deployer, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	label, err := launch.Own() // "cleave clean" spares what belongs to a living process
	if err != nil {
		return nil, err
	}
	return process.New(units, []string{own, janitorName}, []string{own, keeperName}, label.String()), nil
}

// Outcome is the result of a trial.
type Outcome struct {
	run.Played
	// Deployment is the deployment that was played; its servers still run.
	Deployment lab.Deployment
}

// Play deploys a layout into a new folder below dir, runs its job and tears it down. An empty dir is the
// folder for temporary files. Play calls judge with the outcome while the servers still run, and returns its
// error. Errors after the deployment contain the logs of the units.
func Play(
	ctx context.Context, deployer lab.Deployer, layout lab.Layout, dir string, judge func(Outcome) error,
) (err error) {
	if err := deployer.Preflight(ctx, layout); err != nil {
		return err
	}
	private, err := os.MkdirTemp(dir, "cleave-bench-trial-")
	if err != nil {
		return fmt.Errorf("make a folder for the trial: %w", err)
	}
	deployment, err := deployer.Deploy(ctx, layout, private)
	if err != nil {
		return errors.Join(err, os.RemoveAll(private))
	}
	defer func() {
		err = errors.Join(err, deployment.Stop()) // which removes private
		if logs := deployment.Logs(); err != nil && len(logs) > 0 {
			err = fmt.Errorf("%w %v", err, logs)
		}
	}()
	played, err := run.Job{Deployment: deployment, Meter: meter.New()}.Play(ctx)
	if why, absent := played.Used.Total.Unavailable["cpu_seconds"]; err == nil && absent {
		err = fmt.Errorf("CPU time could not be metered: %s", why)
	}
	if err != nil {
		return err
	}
	return judge(Outcome{Played: played, Deployment: deployment})
}

// Command bench measures the cost of the meter: CPU time per sampling round, the interval that it
// chooses, its share of one core and the duration of a mark, for units that sleep and for units that keep
// every core busy.
//
// It starts itself as the units, prints a table and writes the figures as JSON to the file of -out. It
// does not measure the accuracy of the meter; the tests of package meter do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
)

// roleVariable makes this program a unit, "sleeping" or "busy".
const roleVariable = "CLEAVE_METER_BENCH_ROLE"

// scenario is a number of equal units, and how they are metered.
type scenario struct {
	units   int
	role    string
	windows int
	length  time.Duration
}

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		live(role)
		return
	}
	out := flag.String("out", "results/bench/meter.json", "`file` for the figures as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench-meter:", err)
		os.Exit(1)
	}
}

// live is the main function of a unit: it works until its input ends.
func live(role string) {
	if role == "busy" {
		go func() {
			for x := uint64(1); ; x = x*6364136223846793005 + 1442695040888963407 {
				_ = x
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // the end of the input is the signal to stop
}

// bench measures all scenarios, prints the figures and writes the file.
func bench(ctx context.Context, out string) error {
	// A window must contain several sampling rounds.
	scenarios := []scenario{
		{100, "sleeping", 5, 6 * time.Second},
		{500, "sleeping", 2, 20 * time.Second},
		{100, "busy", 5, 6 * time.Second},
	}
	var all []figures.Figure
	for _, s := range scenarios {
		fmt.Fprintf(os.Stderr, "%d %s units: %d windows of %v\n", s.units, s.role, s.windows, s.length)
		some, err := measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%d %s units: %w", s.units, s.role, err)
		}
		all = append(all, some...)
	}
	return figures.Publish(os.Stdout, out, all)
}

// measure starts the units of a scenario, meters them window by window and stops them.
func measure(ctx context.Context, s scenario) (all []figures.Figure, err error) {
	units, end, err := start(ctx, s)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return nil, err
	}
	var shares, costs, intervals, marks []float64
	for range s.windows {
		metered, marking, err := window(ctx, units, s.length)
		if err != nil {
			return nil, err
		}
		shares = append(shares, metered.OwnShare)
		marks = append(marks, marking)
		// The two samples of the marks are outside the window.
		if rounds := float64(len(metered.Samples) - 2); rounds > 0 {
			costs = append(costs, metered.OwnWindowCPUSeconds/rounds)
			intervals = append(intervals, metered.WindowSeconds/rounds)
		}
	}
	if len(costs) == 0 {
		return nil, fmt.Errorf("no sampling round fell into windows of %v: they have to be longer", s.length)
	}
	name := fmt.Sprintf("%d %s units: ", s.units, s.role)
	median := func(what, unit string, values []float64) figures.Figure {
		return figures.Median(name+what, unit, lab.LowerIsBetter, values)
	}
	share := median("meter's share of one core between the marks", "1", shares)
	if s.units == 100 { // the goal is for so many units
		share = share.To(figures.Goal{Must: 0.01, Stretch: 0.005})
	}
	return []figures.Figure{
		share,
		median("CPU time per sampling round", "s", costs),
		median("interval between rounds", "s", intervals),
		median("wall time of one mark", "s", marks),
	}, nil
}

// window meters the units once. It also returns the mean wall time of a mark in seconds.
func window(ctx context.Context, units []lab.Unit, length time.Duration) (lab.Metered, float64, error) {
	metering, err := meter.New().Watch(ctx, units)
	if err != nil {
		return lab.Metered{}, 0, err
	}
	var marking time.Duration
	for number := range 2 {
		if number == 1 {
			select {
			case <-ctx.Done():
				return lab.Metered{}, 0, ctx.Err()
			case <-time.After(length):
			}
		}
		begun := time.Now()
		if err := metering.Mark(); err != nil {
			return lab.Metered{}, 0, err
		}
		marking += time.Since(begun)
	}
	metered, err := metering.Stop()
	return metered, marking.Seconds() / 2, err
}

// start starts the units and returns a function that stops them.
func start(ctx context.Context, s scenario) ([]lab.Unit, func() error, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, func() error { return nil }, err
	}
	var commands []*exec.Cmd
	end := func() error {
		err := writer.Close() // the end of their input stops all units
		for _, command := range commands {
			err = errors.Join(err, command.Wait())
		}
		return errors.Join(err, reader.Close())
	}
	var units []lab.Unit
	for number := range s.units {
		command := exec.CommandContext(ctx, os.Args[0])
		command.Env = append(os.Environ(), roleVariable+"="+s.role, "GOMAXPROCS=2")
		command.Stdin = reader
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := command.Start(); err != nil {
			return nil, end, err
		}
		commands = append(commands, command)
		units = append(units, lab.Unit{Name: fmt.Sprintf("unit-%03d", number), Role: s.role,
			PID: command.Process.Pid})
	}
	time.Sleep(2 * time.Second) // the runtimes of the units settle
	return units, end, nil
}

// Command bench measures the simulator: its events per second of CPU time, on systems from one processor to
// 10,000 services; the CPU time of a million operations of 10,000 services, the warm-up among them; and
// whether memory grows with simulated time.
//
// It prints a table and writes the figures as JSON to the file named by -out. Whether the results of a
// simulation are right is tested in package sim.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/predict/sim"
)

func main() {
	out := flag.String("out", "results/bench/predict.json", "`file` for the figures as JSON")
	rounds := flag.Int("rounds", 5, "how often each system is simulated")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, *out, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench-predict:", err)
		os.Exit(1)
	}
}

// trial holds the cost of one simulation.
type trial struct {
	events    float64
	cpu, wall float64 // seconds
	allocated float64 // bytes
}

// measured returns a function that simulates a number of operations of a system, the first tenth of them as a
// warm-up, and returns what all of them cost.
func measured(s sim.System, operations int) func(context.Context, uint64) (trial, error) {
	return func(ctx context.Context, seed uint64) (trial, error) {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cpu := figures.OwnCPU()
		start := time.Now()
		const batches = 20
		warmUp := operations / 10
		r, err := sim.Run(ctx, s, sim.Options{Seed: seed, WarmUp: warmUp, Batches: batches,
			PerBatch: (operations - warmUp) / batches, Quantiles: []float64{0.5, 0.99}})
		if err != nil {
			return trial{}, err
		}
		used := figures.OwnCPU() - cpu
		t := trial{events: float64(r.Events), cpu: used.Seconds(), wall: time.Since(start).Seconds()}
		runtime.ReadMemStats(&after)
		t.allocated = float64(after.TotalAlloc - before.TotalAlloc)
		return t, nil
	}
}

// bench simulates all systems in rounds and publishes the figures.
func bench(ctx context.Context, out string, rounds int) error {
	short := fiveServices(0)
	// The figures below refer to the scenes by their index.
	scenes := []struct {
		name       string
		system     sim.System
		operations int
	}{
		{"one processor", oneProcessor(), 1_000_000},
		{"5 services, open", short, 200_000},
		{"5 services, 1,000 users", fiveServices(1000), 200_000},
		{"10,000 services", manyServices(), 1_000_000},
		{"5 services, ten times as long", short, 2_000_000},
	}
	var sides []figures.Side[trial]
	for _, s := range scenes {
		sides = append(sides, figures.Side[trial]{Name: s.name, Play: measured(s.system, s.operations),
			Says: func(t trial) string { return fmt.Sprintf("%.3g events/s in %.3g s", t.events/t.cpu, t.wall) }})
	}
	trials, err := figures.Play(ctx, figures.Rounds{Count: rounds, Seed: 1, Story: os.Stderr}, sides...)
	if err != nil {
		return err
	}
	var all []figures.Figure
	for i, s := range scenes[:4] {
		f := figures.Median("events per second of CPU, "+s.name, "events/s", lab.HigherIsBetter,
			figures.Each(trials[i], func(t trial) float64 { return t.events / t.cpu }))
		all = append(all, f.To(figures.Goal{Must: 3e6, Stretch: 6e6}))
	}
	long := figures.Median("CPU time of a million operations, 10,000 services", "s", lab.LowerIsBetter,
		figures.Each(trials[3], func(t trial) float64 { return t.cpu }))
	long.Note = fmt.Sprintf("%.3g events", trials[3][0].events)
	var grown []float64
	for i, t := range trials[4] {
		grown = append(grown, t.allocated-trials[1][i].allocated)
	}
	more := figures.Median("memory of ten times the simulated time", "B", lab.LowerIsBetter, grown)
	more.Note = "allocated beyond that of the shorter simulation"
	return figures.Publish(os.Stdout, out, append(all, long.To(figures.Goal{Must: 60, Stretch: 20}),
		more.To(figures.Goal{Must: 1 << 20, Stretch: 1 << 16})))
}

// Command bench measures what deploying costs, for each deployer that this host can do: the
// time until six units are ready, and from then until they are gone, in rounds in which every
// deployer has its turn; and the meter's share of one core for fifty units. The time until
// the units are ready includes the platform: a swarm, a cluster and images are made in every
// round and removed at its end.
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
	"path/filepath"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/gobuild"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
)

const (
	units = 6  // whose start is measured
	many  = 50 // that are metered
	// window is the time for which units are metered: several rounds of sampling.
	window = 20 * time.Second
)

// options are those of the command line.
type options struct {
	out, only string
	rounds    int
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "results/bench/deploy.json", "`file` for the figures as JSON")
	known := strings.Join(names(candidates(nil, "", "")), ", ")
	flag.StringVar(&o.only, "only", "", "comma-separated `names` of the only deployers to measure, of "+known)
	flag.IntVar(&o.rounds, "rounds", 5, "rounds")
	trials.Main("bench-deploy", func(ctx context.Context) error {
		flag.Parse()
		return bench(ctx, o)
	})
}

// bench measures the deployers that the options name, and publishes the figures.
func bench(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "cleave-bench-deploy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "unit")
	if err := gobuild.Build(program, nil, "./deploy/deploytest/unit"); err != nil {
		return err
	}
	measured, err := toMeasure(ctx, program, dir, o.only)
	if err != nil {
		return err
	}
	all, err := starts(ctx, measured, dir, o.rounds)
	if err != nil {
		return err
	}
	for _, c := range measured {
		share, err := metering(ctx, c, dir)
		if err != nil {
			return fmt.Errorf("meter %d units of %s: %w", many, c.name, err)
		}
		all = append(all, share...)
	}
	return figures.Publish(os.Stdout, o.out, all)
}

// layout returns a layout of count units, whose lead is ready when it has called all others.
func layout(count int) lab.Layout {
	l := lab.Layout{Lead: "lead", Units: []lab.UnitSpec{{
		Name: "lead", Role: "lead",
		Runnable: lab.Runnable{Args: []string{"lead"}},
	}}}
	for n := 1; n < count; n++ {
		name := fmt.Sprintf("unit-%02d", n)
		l.Units[0].Args = append(l.Units[0].Args, name)
		l.Units[0].Peers = append(l.Units[0].Peers, name)
		l.Units = append(l.Units, lab.UnitSpec{
			Name: name, Role: "unit",
			Runnable:   lab.Runnable{Args: []string{"serve"}},
			Networking: lab.Networking{Listens: true},
		})
	}
	return l
}

// took holds the time until a layout was ready, and the time from then until nothing of it
// was left. cost breaks the former down.
type took struct {
	ready, gone time.Duration
	cost        lab.PlatformCost
}

// String returns the times as a line of the bench's story.
func (t took) String() string {
	text := fmt.Sprintf("ready after %.2f s, gone after %.2f s", t.ready.Seconds(), t.gone.Seconds())
	if t.cost.MadeSeconds > 0 {
		text += fmt.Sprintf("; the platform took %.2f s, images %.2f s, units %.2f s",
			t.cost.MadeSeconds, t.cost.ImagesSeconds, t.cost.ReadySeconds)
	}
	return text
}

// start plays one round of a candidate and returns its times.
func start(ctx context.Context, c candidate, dir string) (t took, err error) {
	begun := time.Now()
	var ready time.Time
	err = c.play(ctx, layout(units), dir, func(d lab.Deployment) error {
		ready = time.Now()
		t.cost = d.PlatformCost()
		return nil
	})
	t.ready = ready.Sub(begun)
	t.gone = time.Since(ready)
	return t, err
}

// starts measures the times of units in rounds, and returns their medians for each candidate.
func starts(ctx context.Context, measured []candidate, dir string, rounds int) ([]figures.Figure, error) {
	var sides []figures.Side[took]
	for _, c := range measured {
		sides = append(sides, figures.Side[took]{
			Name: c.name,
			Play: func(ctx context.Context, _ uint64) (took, error) { return start(ctx, c, dir) },
			Says: took.String,
		})
	}
	played, err := figures.Play(ctx, figures.Rounds{Count: rounds, Story: os.Stderr}, sides...)
	if err != nil {
		return nil, err
	}
	var all []figures.Figure
	for i, c := range measured {
		median := func(what string, seconds func(took) float64) figures.Figure {
			return figures.Median(c.name+": "+what, "s", lab.LowerIsBetter, figures.Each(played[i], seconds))
		}
		platform := median("platform up", func(t took) float64 { return t.cost.MadeSeconds })
		ready := median(fmt.Sprintf("%d units ready", units), func(t took) float64 { return t.ready.Seconds() })
		gone := median(fmt.Sprintf("%d units gone", units), func(t took) float64 { return t.gone.Seconds() })
		if platform.Value > 0 {
			all = append(all, platform)
		}
		all = append(all, ready.To(c.ready), gone.To(figures.Goal{Must: 10, Stretch: 2}))
	}
	return all, nil
}

// metering measures the meter's share of a core for many units. If this host has no room for
// them, it reports that and returns no figure.
func metering(ctx context.Context, c candidate, dir string) ([]figures.Figure, error) {
	if why := c.deployer(dir).Preflight(ctx, layout(many)); why != nil {
		fmt.Fprintf(os.Stderr, "  %s: no %d units are metered: %v\n", c.name, many, why)
		return nil, nil
	}
	var metered lab.Metered
	err := c.play(ctx, layout(many), dir, func(deployment lab.Deployment) error {
		fmt.Fprintf(os.Stderr, "  %s: %d units are metered for %v\n", c.name, many, window)
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
	name := fmt.Sprintf("%s: %d units, meter's share of one core", c.name, many)
	share := figures.Median(name, "1", lab.LowerIsBetter, []float64{metered.OwnShare})
	return []figures.Figure{share.To(figures.Goal{Must: 0.01, Stretch: 0.005})}, err
}

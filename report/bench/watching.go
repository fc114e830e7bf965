//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
	"github.com/cleave-lab/cleave/report/progress"
	"github.com/cleave-lab/cleave/store"
)

// watch is the cost of watching a run: the CPU time of each process as a share of one core.
type watch struct{ server, browser, writing float64 }

// watching measures the cost of watching a run with eight units: while nobody watches, while a program
// follows it, and while Chromium shows its page.
func watching(ctx context.Context, arguments []string) (err error) {
	flags := flag.NewFlagSet("bench-serve", flag.ContinueOnError)
	out := flags.String("out", "results/bench/serve.json", "`file` for the figures as JSON")
	cleave := flags.String("cleave", "bin/cleave", "the `program` that shows the run")
	rounds := flags.Int("rounds", 5, "how often each side is measured")
	length := flags.Duration("length", 20*time.Second, "how long a side is measured each time")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *rounds < 1 || *length < time.Second {
		return fmt.Errorf("-rounds is %d and -length is %v: give at least 1 and 1s", *rounds, *length)
	}
	root, err := os.MkdirTemp("", "cleave-watching-")
	if err != nil {
		return fmt.Errorf("make a folder for the run: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	ctx, end := context.WithCancel(ctx)
	defer end()
	name, played, err := playFakeRun(ctx, root)
	if err != nil {
		return err
	}
	server := exec.CommandContext(ctx, *cleave, "serve", root, "--address", "127.0.0.1:0")
	at, _, err := startAndRead(server)
	if err != nil {
		end()
		return errors.Join(err, <-played)
	}
	b := watcher{server: server.Process.Pid, page: at, run: name, length: *length}
	sides := []figures.Side[watch]{b.side("nobody watches", b.alone),
		b.side("one page is followed", b.following), b.side("one page in Chromium", b.inChromium)}
	found, err := figures.Play(ctx, figures.Rounds{Count: *rounds, Seed: 1, Story: os.Stderr}, sides...)
	end()
	_ = server.Wait() // it was killed
	if err = errors.Join(err, <-played); err != nil {
		return err
	}
	return figures.Publish(os.Stdout, *out, costs(sides, found))
}

// costs returns the figures of the measured costs.
func costs(sides []figures.Side[watch], found [][]watch) []figures.Figure {
	share := func(what string, of func(watch) float64, in []watch) figures.Figure {
		return figures.Median(what+", share of one core", "1", lab.LowerIsBetter, figures.Each(in, of))
	}
	goal := figures.Goal{Must: 0.01, Stretch: 0.005}
	all := []figures.Figure{share("writing each second of 8 units", func(w watch) float64 { return w.writing },
		found[0]).To(goal)}
	for i, side := range sides {
		used := share("cleave serve, "+side.Name, func(w watch) float64 { return w.server }, found[i])
		all = append(all, used.To(goal))
	}
	return append(all, share("Chromium with the page", func(w watch) float64 { return w.browser }, found[2]))
}

// playFakeRun writes the folder of a run as if trials of ten seconds were played, until the context ends. It
// returns at once, with the name of the run and a channel for the error at its end.
func playFakeRun(ctx context.Context, root string) (name string, ended <-chan error, err error) {
	plan := lab.Plan{Schema: lab.PlanSchema, Created: time.Now().UTC(), Study: lab.Study{Name: "watched",
		Title: "Watched", Design: lab.Design{Blocks: 1000, Seed: 1}}}
	folder, err := store.Create(root, plan, nil)
	if err != nil {
		return "", nil, err
	}
	journal, err := folder.Progress()
	if err != nil {
		return "", nil, err
	}
	file, unopened := folder.Seconds()
	if err := errors.Join(unopened, folder.Lock()); err != nil {
		return "", nil, err
	}
	shown := progress.New(journal, progress.JSON, time.Now)
	seconds := progress.NewSeconds(file)
	done := make(chan error, 1)
	go func() {
		shown.Begin(plan, 0)
		for number := 1; ctx.Err() == nil; number++ {
			shown.TrialStarted(lab.PlannedTrial{Number: number, Block: number, Variant: "a", Point: "p"}, 1)
			seconds.Trial(number, 1)
			for second := 1; second <= 10 && ctx.Err() == nil; second++ {
				addSecond(seconds, float64(second))
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
			shown.TrialEnded(lab.Trial{Number: number, Block: number, Attempt: 1, Variant: "a", Valid: true})
		}
		folder.Unlock()
		done <- errors.Join(seconds.Close(), journal.Close())
	}()
	return strings.TrimPrefix(folder.Dir(), root+"/"), done, nil
}

// addSecond writes a second of the load and of eight units.
func addSecond(seconds *progress.Seconds, end float64) {
	median, p99 := 0.001+end/1e5, 0.01+end/1e4
	seconds.Loaded(lab.LoadSecond{Slice: lab.Slice{End: end, OK: 500, Median: &median, P99: &p99}})
	used := lab.UsedSecond{End: end, Cores: map[string]float64{}}
	for unit := range 8 {
		used.Cores[fmt.Sprintf("unit-%d", unit)] = 0.1 + end/100
	}
	seconds.Used(used)
}

// watcher measures a server while a run is watched.
type watcher struct {
	server int    // its process ID
	page   string // address of its first page
	run    string // name of the run
	length time.Duration
}

// side returns a side that measures with play.
func (w watcher) side(name string, play func(context.Context) (watch, error)) figures.Side[watch] {
	return figures.Side[watch]{Name: name,
		Play: func(ctx context.Context, _ uint64) (watch, error) { return play(ctx) },
		Says: func(w watch) string {
			return fmt.Sprintf("server %.2f %%, browser %.2f %%", 100*w.server, 100*w.browser)
		}}
}

// alone measures while nobody watches.
func (w watcher) alone(ctx context.Context) (watch, error) { return w.measure(ctx, 0) }

// following measures while this program reads the events that a page would get.
func (w watcher) following(ctx context.Context) (watch, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	answer, err := get(reading, w.page+"live/"+w.run)
	if err != nil {
		return watch{}, fmt.Errorf("follow the run: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // events may still come
	go func() { _, _ = io.Copy(io.Discard, answer.Body) }()
	return w.measure(ctx, 0)
}

// inChromium measures while Chromium shows the page.
func (w watcher) inChromium(ctx context.Context) (found watch, err error) {
	profile, err := os.MkdirTemp("", "cleave-chromium-")
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(profile)) }()
	browser := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu",
		"--remote-debugging-port=0", "--user-data-dir="+profile, w.page+"run/"+w.run)
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := browser.Start(); err != nil {
		return found, fmt.Errorf("start chromium: %w: type: apt-get install chromium", err)
	}
	defer func() {
		killed := syscall.Kill(-browser.Process.Pid, syscall.SIGKILL)
		_ = browser.Wait()      // it was killed
		time.Sleep(time.Second) // until all of its processes have ended, which write to the profile
		err = errors.Join(err, killed)
	}()
	select {
	case <-time.After(10 * time.Second): // until it has started and loaded the page
	case <-ctx.Done():
		return found, ctx.Err()
	}
	return w.measure(ctx, browser.Process.Pid)
}

// measure meters the server, this program and, unless it is 0, the process of a browser.
func (w watcher) measure(ctx context.Context, browser int) (found watch, err error) {
	units := []lab.Unit{{Name: "server", Role: "server", PID: w.server},
		{Name: "writing", Role: "writing", PID: os.Getpid()}}
	if browser != 0 {
		units = append(units, lab.Unit{Name: "browser", Role: "browser", PID: browser, Span: lab.SpanTree})
	}
	metering, err := meter.New().Watch(ctx, units)
	if err != nil {
		return found, err
	}
	err = metering.Mark()
	if err == nil {
		select {
		case <-time.After(w.length):
			err = metering.Mark()
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	used, stopped := metering.Stop()
	if err = errors.Join(err, stopped); err != nil {
		return found, err
	}
	share := func(seconds float64) float64 { return seconds / used.WindowSeconds }
	found.server = share(used.Units[0].CPUSeconds)
	found.writing = share(used.Units[1].CPUSeconds - used.OwnWindowCPUSeconds)
	if browser != 0 {
		found.browser = share(used.Units[2].CPUSeconds)
	}
	return found, nil
}

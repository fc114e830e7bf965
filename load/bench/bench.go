//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
)

// plan holds the scenes to measure, and their lengths and repetitions.
type plan struct {
	rounds   int
	length   time.Duration // of a load
	stall    time.Duration // length of the load with a stall
	memory   time.Duration // length of the load over many connections
	others   time.Duration // the same for tools other than cleave
	searches int
	probe    time.Duration // length of one load of a search
	only     []string      // scenes; empty: all
	among    []string      // tools that take part; empty: all

	scratch  string
	self     string
	tools    []tool
	progress *os.File
}

// read reads the flags; out is the file for the figures.
func (p *plan) read(arguments []string) (out string, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&out, "out", "results/bench/load.json", "`file` for the figures")
	quick := flags.Bool("quick", false, "short loads, one round: to see that all works; the figures say little")
	only := flags.String("only", "", "these `scenes`, with commas: "+strings.Join(scenes(), ", "))
	among := flags.String("tools", "",
		"these `tools`, with commas: "+strings.Join(toolNames(), ", ")+"; empty: all that can be had")
	flags.IntVar(&p.rounds, "rounds", 5, "how often every tool has its turn")
	flags.DurationVar(&p.length, "length", 4*time.Second, "length of one load")
	flags.DurationVar(&p.stall, "stall", 20*time.Second,
		"length of the load in which the target stalls for one second at three quarters")
	flags.DurationVar(&p.memory, "memory", 10*time.Minute, "length of the load over many connections")
	flags.DurationVar(&p.others, "others", 20*time.Second, "the same for peers, at most")
	flags.IntVar(&p.searches, "searches", 1, "searches for every known capacity")
	flags.DurationVar(&p.probe, "probe", 10*time.Second, "length of one load of a search")
	if err := flags.Parse(arguments); err != nil {
		return "", err
	}
	if flags.NArg() > 0 {
		return "", fmt.Errorf("%q is no flag: bench takes flags only, see bench -help", flags.Arg(0))
	}
	if *quick {
		p.rounds = 1
		p.length = 2 * time.Second
		p.stall = 8 * time.Second
		p.memory = 10 * time.Second
		p.others = 8 * time.Second
		p.probe = 2 * time.Second
	}
	if *only != "" {
		p.only = strings.Split(*only, ",")
	}
	if *among != "" {
		p.among = strings.Split(*among, ",")
	}
	return out, p.check()
}

// check returns an error for an unknown scene or tool, and for a flag that leaves nothing to measure.
func (p *plan) check() error {
	for _, scene := range p.only {
		if !slices.Contains(scenes(), scene) {
			return fmt.Errorf("scene %q is unknown: use some of %s", scene, strings.Join(scenes(), ", "))
		}
	}
	for _, name := range p.among {
		if !slices.Contains(toolNames(), name) {
			return fmt.Errorf("tool %q is unknown: use some of %s", name, strings.Join(toolNames(), ", "))
		}
	}
	if p.rounds < 1 || p.searches < 1 {
		return fmt.Errorf("-rounds is %d and -searches is %d: give 1 or more of each", p.rounds, p.searches)
	}
	for _, load := range []struct {
		flag          string
		length, least time.Duration
	}{
		{"length", p.length, 2 * time.Second}, // the first second does not count for the precision
		{"stall", p.stall, 4 * time.Second},   // the stall ends with the load
		{"memory", p.memory, leastMemory}, {"others", p.others, leastMemory},
		{"probe", p.probe, time.Second},
	} {
		if load.length < load.least {
			return fmt.Errorf("-%s is %v: give %v or more", load.flag, load.length, load.least)
		}
	}
	return nil
}

// bench measures everything and writes the figures.
func bench(arguments []string) (err error) {
	p := plan{progress: os.Stderr}
	out, err := p.read(arguments)
	if err != nil {
		return err
	}
	if p.self, err = os.Executable(); err != nil {
		return err
	}
	if p.scratch, err = os.MkdirTemp("", "cleave-bench-load-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.scratch)) }()
	if p.tools, err = p.gather(); err != nil {
		return err
	}
	defer raisePriority()()
	all, err := p.measure()
	if err != nil {
		return err
	}
	return figures.Publish(os.Stdout, out, all)
}

// wants reports whether a scene is to be measured.
func (p *plan) wants(scene string) bool { return len(p.only) == 0 || slices.Contains(p.only, scene) }

// measure plays all scenes and returns their figures. The short scenes are played in rounds, the tools in
// rotating order.
func (p *plan) measure() ([]figures.Figure, error) {
	s := samples{}
	for round := range p.rounds {
		fmt.Fprintf(p.progress, "round %d of %d\n", round+1, p.rounds)
		for _, scene := range shortScenes() {
			if err := p.playAll(scene, round, s); err != nil {
				return nil, err
			}
		}
	}
	if p.wants(sceneLoops) && p.takes("cleave") {
		if err := p.loops(s); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(p.progress, "memory and capacity")
	if err := p.playAll(sceneMemory, 0, s); err != nil {
		return nil, err
	}
	if p.wants(sceneCapacity) && p.takes("cleave") {
		p.capacity(s)
	}
	return s.figures(p.stall)
}

// playAll plays a scene with every tool, beginning with another tool in every round.
func (p *plan) playAll(scene string, round int, s samples) error {
	if !p.wants(scene) {
		return nil
	}
	for i := range p.tools {
		t := p.tools[(i+round)%len(p.tools)]
		length := p.lengthOf(scene, t)
		command := t.command(scene, length)
		if command == nil {
			continue
		}
		err := p.play(scene, t.name, command, length+slack, s)
		if err != nil && strings.HasPrefix(t.name, "cleave") {
			return fmt.Errorf("%s, %s: %w", scene, t.name, err)
		}
		if err != nil {
			fmt.Fprintf(p.progress, "  %-10s %-16s skipped: %v\n", scene, t.name, err)
		}
	}
	return nil
}

// slack is the time that a tool may take in addition to its load.
const slack = 2 * time.Minute

// lengthOf returns the length of a tool's load in a scene.
func (p *plan) lengthOf(scene string, t tool) time.Duration {
	switch {
	case scene == sceneStall:
		return p.stall
	case scene == sceneMemory && t.name == "cleave":
		return p.memory
	case scene == sceneMemory:
		return min(p.memory, p.others)
	}
	return p.length
}

// play runs one tool against a fresh target and adds the figures to the samples.
func (p *plan) play(scene, name string, command []string, limit time.Duration, s samples) error {
	var options []string
	stamps := filepath.Join(p.scratch, stampsFile)
	switch scene {
	case scenePrecision:
		options = []string{"-stamps", stamps}
	case sceneGRPC:
		options = []string{"-grpc"}
	case sceneStall:
		options = []string{"-stall-at", (p.stall * 3 / 4).String(), "-stall-for", "1s"}
	}
	run, requests, err := p.against(scene, options, command, limit)
	if err != nil {
		return err
	}
	perRequest := run.cpu.Seconds() / float64(requests)
	fmt.Fprintf(p.progress, "  %-10s %-16s %8d requests, %6.2f us each\n", scene, name, requests,
		1e6*perRequest)
	if scene == sceneMemory {
		return s.addMemory(name, run.memory)
	}
	s.add(scene+" cpu", name, 1e6*perRequest)
	switch scene {
	case scenePrecision:
		return s.addPrecision(name, stamps)
	case sceneStall:
		return s.addStall(name, run.report)
	}
	return nil
}

// against runs a command against a fresh target with options, or against nginx if the scene needs it.
func (p *plan) against(
	scene string, options, command []string, limit time.Duration,
) (run generated, requests int64, err error) {
	var t *running
	if _, ok := servedByNginx(scene); ok {
		t, err = startNginx(scene, p.scratch, 1, targetCore)
	} else {
		t, err = start(p.self, options)
	}
	if err != nil {
		return run, 0, err
	}
	run, runErr := generate(generatorCore, command, t.url, p.scratch, limit)
	requests, err = t.stop()
	if err = errors.Join(runErr, err); err == nil && requests == 0 {
		err = errors.New("the target saw no request")
	}
	return run, requests, err
}

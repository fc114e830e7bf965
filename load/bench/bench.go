//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// plan is what is measured and how often.
type plan struct {
	rounds  int
	length  time.Duration // of a load
	stall   time.Duration // length of the load with a stall
	scratch string
	self    string
	tools   []tool
	story   *os.File
}

// bench measures everything and writes the figures.
func bench(arguments []string) (err error) {
	p := plan{story: os.Stderr}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	out := flags.String("out", "results/bench/load.json", "file for the figures")
	flags.IntVar(&p.rounds, "rounds", 5, "how often every tool has its turn")
	flags.DurationVar(&p.length, "length", 4*time.Second, "length of one load")
	flags.DurationVar(&p.stall, "stall", 20*time.Second, "length of the load in which the target stalls for one second at three quarters")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if p.self, err = os.Executable(); err != nil {
		return err
	}
	if p.scratch, err = os.MkdirTemp("", "cleave-bench-load-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.scratch)) }()
	if p.tools, err = gather(p.scratch, p.story); err != nil {
		return err
	}
	figures, err := p.measure()
	if err != nil {
		return err
	}
	show(os.Stdout, figures)
	return write(*out, figures)
}

// measure plays all scenarios in rounds, the tools in rotating order.
func (p *plan) measure() ([]figure, error) {
	s := samples{}
	for round := range p.rounds {
		fmt.Fprintf(p.story, "round %d of %d\n", round+1, p.rounds)
		for _, scene := range scenes() {
			for i := range p.tools {
				t := p.tools[(i+round)%len(p.tools)]
				if command := t.command(scene.name, p.lengthOf(scene)); command != nil {
					if err := p.play(scene, t.name, command, s); err != nil {
						return nil, fmt.Errorf("%s, %s: %w", scene.name, t.name, err)
					}
				}
			}
		}
	}
	return s.figures(p.stall), nil
}

// lengthOf is how long a load of a scene takes.
func (p *plan) lengthOf(s scene) time.Duration {
	if s.stalls {
		return p.stall
	}
	return p.length
}

// play runs one tool against a fresh target and keeps what it showed.
func (p *plan) play(scene scene, name string, command []string, s samples) error {
	var options []string
	stamps := filepath.Join(p.scratch, "stamps")
	if scene.precise {
		options = append(options, "-stamps", stamps)
	}
	if scene.stalls {
		options = append(options, "-stall-at", (p.stall * 3 / 4).String(), "-stall-for", "1s")
	}
	t, err := start(p.self, options)
	if err != nil {
		return err
	}
	run, runErr := generate(command, t.url, p.scratch)
	count, err := t.stop()
	if err := errors.Join(runErr, err); err != nil {
		return err
	}
	if count.Requests == 0 {
		return errors.New("the target saw no request")
	}
	perRequest := run.cpu.Seconds() / float64(count.Requests)
	s.add(scene.name+" cpu", name, 1e6*perRequest)
	fmt.Fprintf(p.story, "  %-10s %-16s %8d requests, %6.2f us each\n", scene.name, name, count.Requests, 1e6*perRequest)
	if scene.precise {
		return s.addPrecision(name, stamps)
	}
	if scene.stalls {
		s.add("stall p99", name, run.p99)
		s.add("stall p99.9", name, run.p999)
	}
	return nil
}

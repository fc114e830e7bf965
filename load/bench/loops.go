//go:build linux

package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
)

// Processors of sceneLoops: its generator has two threads, and its target must not be the limit.
const (
	loopsGeneratorCores = "0,1"
	loopsTargetCores    = "2-5"
	loopsTargetWorkers  = 4
	loopsCores          = 6
)

// loops measures the throughput of one and of two sending threads, in turns, if this host has processors
// for both and for their target.
func (p *plan) loops(s samples) error {
	if have := runtime.NumCPU(); have < loopsCores {
		fmt.Fprintf(p.progress,
			"%s is skipped: two sending threads and %d of the target need %d processors, and this host has %d\n",
			sceneLoops, loopsTargetWorkers, loopsCores, have)
		return nil
	}
	for round := range p.rounds {
		for turn := range 2 {
			if err := p.loop(1+(round+turn)%2, s); err != nil {
				return fmt.Errorf("%s: %w", sceneLoops, err)
			}
		}
	}
	return nil
}

// loop plays one load with a number of threads and adds its throughput.
func (p *plan) loop(threads int, s samples) error {
	t, err := startNginx(sceneLoops, p.scratch, loopsTargetWorkers, loopsTargetCores)
	if err != nil {
		return err
	}
	command := []string{
		p.cleavePath(), "load", urlMark, "-u", strconv.Itoa(connections), "-d",
		p.length.String(), "--loops", strconv.Itoa(threads), "--progress", "none", "--json", reportMark,
	}
	_, runErr := generate(loopsGeneratorCores, command, t.url, p.scratch, p.length+slack)
	requests, err := t.stop()
	if err := errors.Join(runErr, err); err != nil {
		return err
	}
	throughput := float64(requests) / p.length.Seconds()
	s.add("loops throughput", strconv.Itoa(threads), throughput)
	return nil
}

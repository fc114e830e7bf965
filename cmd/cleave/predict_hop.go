package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/store"
)

// parseHop returns the cost of a call between two units, or nil for an empty text. The text is the CPU time
// and the waiting time ("60us,80us"), the result folder of cleave rehearse, or that of cleave explain
// network, which may be followed by a variant ("FOLDER:http-loopback").
func parseHop(text string) (*predict.Hop, error) {
	if text == "" {
		return nil, nil
	}
	if cpu, wait, two := strings.Cut(text, ","); two {
		c, errCPU := time.ParseDuration(cpu)
		w, errWait := time.ParseDuration(wait)
		if errCPU != nil || errWait != nil || c < 0 || w < 0 {
			return nil, fmt.Errorf("--hop %q: want CPU time and waiting time, as in 60us,80us", text)
		}
		return &predict.Hop{CPU: c.Seconds(), Wait: w.Seconds(), Source: "--hop"}, nil
	}
	dir, variant := text, "http-loopback"
	if _, err := os.Stat(dir); err != nil {
		if at := strings.LastIndex(text, ":"); at >= 0 {
			dir, variant = text[:at], text[at+1:]
		}
	}
	hop, err := measuredHop(dir, variant)
	if err != nil {
		return nil, fmt.Errorf("--hop: %w", err)
	}
	return hop, nil
}

// measuredHop returns the cost of a call in a rehearsal, or in a variant of a run of cleave explain network.
func measuredHop(dir, variant string) (*predict.Hop, error) {
	folder, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	plan, err := folder.Plan()
	if err != nil {
		return nil, err
	}
	trials, err := folder.Trials()
	if err != nil {
		return nil, err
	}
	if plan.Study.Name == rehearseName {
		hop, err := predict.RehearsedHop(plan.Study, changedVariant, trials, " in "+dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		return hop, nil
	}
	return networkHop(dir, variant, trials)
}

// networkHop returns the cost of a call in one variant of a run of `cleave explain network`, with one caller:
// the CPU time of all units, and the time until the answer.
func networkHop(dir, variant string, trials []lab.Trial) (*predict.Hop, error) {
	var samples []predict.HopSample
	for _, t := range trials {
		callers, _ := t.Point.Level("callers")
		if t.Valid && t.Variant == variant && callers == 1 && !t.Metered.Total.Lacks("cpu_seconds") {
			n := float64(t.Operations)
			samples = append(samples, predict.HopSample{CPU: t.Metered.Total.CPUSeconds / n,
				Elapsed: t.ElapsedSeconds / n})
		}
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("%s has no valid trial of %s with one caller and the CPU time of all units: is it "+
			"a run of cleave explain network, and did it play that variant?", dir, variant)
	}
	return predict.MeasuredHop(samples, fmt.Sprintf("%s in %s, %d trials, one call after another without a "+
		"pause: units that are idle between calls take more", variant, dir, len(samples))), nil
}

//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// samples are values by figure and tool, in the order of the rounds.
type samples map[string]map[string][]float64

func (s samples) add(figure, tool string, value float64) {
	if s[figure] == nil {
		s[figure] = map[string][]float64{}
	}
	s[figure][tool] = append(s[figure][tool], value)
}

// addPrecision reads receive times and adds how far sends were off schedule: the
// distance of each from the schedule that fits best. The first second is left out.
func (s samples) addPrecision(tool, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var times []float64
	for ; len(data) >= 8; data = data[8:] {
		times = append(times, float64(binary.LittleEndian.Uint64(data)))
	}
	slices.Sort(times)
	const second = 1e9
	const least = 100
	if len(times) < least {
		return fmt.Errorf("%d receive times are too few", len(times))
	}
	begin := times[0] + second
	times = slices.DeleteFunc(times, func(at float64) bool { return at < begin })
	if len(times) < least {
		return fmt.Errorf("%d receive times after the first second are too few", len(times))
	}
	off := distances(times)
	slices.Sort(off)
	s.add("precision p50", tool, off[len(off)/2])
	s.add("precision p99", tool, off[len(off)*99/100])
	return nil
}

// distances are how far ascending times are from the line through them with
// constant spacing, by least squares in slope and median in height, in us.
func distances(times []float64) []float64 {
	middle, mean := float64(len(times)-1)/2, 0.0
	for _, at := range times {
		mean += (at - times[0]) / float64(len(times))
	}
	var xx, xy float64
	for i, at := range times {
		x := float64(i) - middle
		xx += x * x
		xy += x * (at - times[0] - mean)
	}
	off := make([]float64, len(times))
	for i, at := range times {
		off[i] = at - times[0] - float64(i)*xy/xx
	}
	height := stats.Median(off)
	for i := range off {
		off[i] = math.Abs(off[i]-height) / 1e3
	}
	return off
}

// goals by figure and tool.
func goals() map[string]figures.Goal {
	return map[string]figures.Goal{
		"closed cpu, cleave by wrk": {Must: 0.8, Stretch: 0.72}, "open cpu, cleave-grid by wrk2": {Must: 1.2, Stretch: 0.8},
		"precision p50, cleave": {Must: 20, Stretch: 2}, "precision p99, cleave": {Must: 100, Stretch: 70},
		"precision p50, cleave-spin": {Must: 20, Stretch: 0.5}, "precision p99, cleave-spin": {Must: 100, Stretch: 40},
		"stall p99 error, cleave": {Must: 0.01, Stretch: 0.003}, "stall p99.9 error, cleave": {Must: 0.01, Stretch: 0.003},
		"https cpu, cleave by wrk": {Must: 1.3, Stretch: 1}, "grpc cpu, cleave by ghz": {Must: 0.5, Stretch: 0.25},
		"h2c cpu, cleave by h2load": {Must: 1.5, Stretch: 1}, "h2 cpu, cleave by h2load": {Must: 1.5, Stretch: 1},
		"features cpu, cleave by wrk": {Must: 2, Stretch: 1.3},
		"memory peak, cleave":         {Must: 64, Stretch: 16}, "memory growth, cleave": {Must: 1, Stretch: 0.25},
		"capacity error, M/D/1, cleave": {Must: 0.05, Stretch: 0.02}, "capacity error, M/M/1, cleave": {Must: 0.05, Stretch: 0.02},
	}
}

// figures summarizes the samples. All figures are medians with the least and the
// greatest round; so are ratios, which are taken within rounds: one round, as a
// quick look has it, has no interval (figures.Ratio). Of a load of
// some seconds with a stall of one second, 1 % is that share of the stall times
// the length: the shortest wait among the longest 1 % is the rest of the second.
func (s samples) figures(stalled time.Duration) []figures.Figure {
	s.ratio("closed cpu", "cleave", "closed cpu", "wrk")
	s.ratio("https cpu", "cleave", "https cpu", "wrk")
	s.ratio("h2c cpu", "cleave", "h2c cpu", "h2load")
	s.ratio("h2 cpu", "cleave", "h2 cpu", "h2load")
	s.ratio("grpc cpu", "cleave", "grpc cpu", "ghz")
	s.ratio("features cpu", "cleave", "closed cpu", "wrk")
	s.ratio("open cpu", "cleave-grid", "open cpu", "wrk2")
	s.errors("stall p99", 1-0.01*stalled.Seconds())
	s.errors("stall p99.9", 1-0.001*stalled.Seconds())
	var all []figures.Figure
	for _, name := range slices.Sorted(maps.Keys(s)) {
		for _, tool := range slices.Sorted(maps.Keys(s[name])) {
			f := figures.Median(name+", "+tool, unitOf(name, tool), lab.LowerIsBetter, s[name][tool])
			if goal, known := goals()[f.Figure]; known {
				f = f.To(goal)
			}
			all = append(all, f)
		}
	}
	return all
}

// ratio adds one tool by another, round by round.
func (s samples) ratio(name, tool, baseName, base string) {
	for i := range min(len(s[name][tool]), len(s[baseName][base])) {
		s.add(name, tool+" by "+base, s[name][tool][i]/s[baseName][base][i])
	}
}

// addStall adds the percentiles that our own tool reports of the load with a
// stall.
func (s samples) addStall(tool string, r report) error {
	if r.Response.P99 == nil || r.Response.P999 == nil {
		return errors.New("the report has no percentiles")
	}
	s.add("stall p99", tool, *r.Response.P99)
	s.add("stall p99.9", tool, *r.Response.P999)
	return nil
}

// errors adds how far a percentile is from the truth, as a share of it.
func (s samples) errors(name string, truth float64) {
	for _, value := range s[name]["cleave"] {
		s.add(name+" error", "cleave", math.Abs(value/truth-1))
	}
}

// unitOf is the unit of a figure.
func unitOf(name, tool string) string {
	switch {
	case strings.Contains(tool, " by "), strings.Contains(name, "error"):
		return "ratio"
	case strings.HasPrefix(name, "stall p"):
		return "s"
	case strings.HasPrefix(name, "memory"):
		return "MB"
	}
	return "us"
}

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
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/stats"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// samples holds the values of each figure and tool, in the order of the rounds.
type samples map[string]map[string][]float64

// add adds a value of a figure that a tool has reached.
func (s samples) add(figure, tool string, value float64) {
	if s[figure] == nil {
		s[figure] = map[string][]float64{}
	}
	s[figure][tool] = append(s[figure][tool], value)
}

// addPrecision reads the receive times of a target and adds how far sends were off schedule: their
// distances from the evenly spaced schedule that fits them best. It leaves out the first second.
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
	s.add("precision p50", tool, loaded.Percentile(off, 0.5))
	s.add("precision p99", tool, loaded.Percentile(off, 0.99))
	return nil
}

// distances returns the distance of ascending times from a line with constant spacing, in us. The slope
// of the line is fitted by least squares, its height by the median.
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

// goals returns the goals of figures and of quotients of figures, by name.
func goals() map[string]figures.Goal {
	return map[string]figures.Goal{
		"closed cpu, cleave by wrk":     {Must: 0.8, Stretch: 0.72},
		"traced cpu, cleave by cleave":  {Must: 1.03, Stretch: 1.01},
		"open cpu, cleave-grid by wrk2": {Must: 1.2, Stretch: 0.8},
		"precision p50, cleave":         {Must: 20, Stretch: 2}, "precision p99, cleave": {Must: 100, Stretch: 70},
		"precision p50, cleave-spin": {Must: 20, Stretch: 0.5},
		"precision p99, cleave-spin": {Must: 100, Stretch: 40},
		"stall p99 error, cleave":    {Must: 0.01, Stretch: 0.003},
		"stall p99.9 error, cleave":  {Must: 0.01, Stretch: 0.003},
		"https cpu, cleave by wrk":   {Must: 1.3, Stretch: 1},
		"grpc cpu, cleave by ghz":    {Must: 0.5, Stretch: 0.25},
		"h2c cpu, cleave by h2load":  {Must: 1.5, Stretch: 1}, "h2 cpu, cleave by h2load": {Must: 1.5, Stretch: 1},
		"features cpu, cleave by wrk": {Must: 2, Stretch: 1.3},
		"memory peak, cleave":         {Must: 64, Stretch: 16}, "memory growth, cleave": {Must: 1, Stretch: 0.25},
		"loops throughput, 2 by 1":      {Must: 1.8, Stretch: 1.95},
		"capacity error, M/D/1, cleave": {Must: 0.05, Stretch: 0.02},
		"capacity error, M/M/1, cleave": {Must: 0.05, Stretch: 0.02},
	}
}

// comparisons returns the ratios that are figures of their own: a figure and its tool, and then those of the
// divisor.
func comparisons() [][4]string {
	return [][4]string{
		{"closed cpu", "cleave", "closed cpu", "wrk"}, {"closed cpu", "cleave", "closed cpu", "floor"},
		{"closed cpu", "floor", "closed cpu", "wrk"}, {"traced cpu", "cleave", "closed cpu", "cleave"},
		{"https cpu", "cleave", "https cpu", "wrk"},
		{"h2c cpu", "cleave", "h2c cpu", "h2load"}, {"h2 cpu", "cleave", "h2 cpu", "h2load"},
		{"grpc cpu", "cleave", "grpc cpu", "ghz"}, {"features cpu", "cleave", "closed cpu", "wrk"},
		{"open cpu", "cleave-grid", "open cpu", "wrk2"}, {"loops throughput", "2", "loops throughput", "1"},
	}
}

// figures summarizes the samples. Figures are medians with the lowest and the highest round, comparisons
// are ratios with their interval. stalled is the length of a load in which the target stalls for one
// second. An operation waits for the rest of that second, so 1 % of the operations of the load waited
// longer than one second less 1 % of the load.
func (s samples) figures(stalled time.Duration) ([]figures.Figure, error) {
	s.addErrors("stall p99", 1-0.01*stalled.Seconds())
	s.addErrors("stall p99.9", 1-0.001*stalled.Seconds())
	var all []figures.Figure
	for _, name := range slices.Sorted(maps.Keys(s)) {
		for _, tool := range slices.Sorted(maps.Keys(s[name])) {
			median := figures.Median(name+", "+tool, unitOf(name), betterOf(name), s[name][tool])
			all = append(all, median)
		}
	}
	for _, c := range comparisons() {
		own, peer := s[c[0]][c[1]], s[c[2]][c[3]]
		rounds := min(len(own), len(peer))
		if rounds < 2 { // a quick look, which has no interval
			continue
		}
		ratio, err := figures.Ratio(fmt.Sprintf("%s, %s by %s", c[0], c[1], c[3]), betterOf(c[0]), own[:rounds],
			peer[:rounds])
		if err != nil {
			return nil, err
		}
		all = append(all, ratio)
	}
	for i, f := range all {
		if goal, known := goals()[f.Figure]; known {
			all[i] = f.To(goal)
		}
	}
	return all, nil
}

// addStall adds the percentiles that cleave reports for the load with a stall.
func (s samples) addStall(tool string, r record.Summary) error {
	if r.ResponseTime.P99 == nil || r.ResponseTime.P999 == nil {
		return errors.New("the report has no percentiles")
	}
	s.add("stall p99", tool, *r.ResponseTime.P99)
	s.add("stall p99.9", tool, *r.ResponseTime.P999)
	return nil
}

// addErrors adds the relative errors of a percentile that cleave reported.
func (s samples) addErrors(name string, truth float64) {
	for _, value := range s[name]["cleave"] {
		s.add(name+" error", "cleave", math.Abs(value/truth-1))
	}
}

// betterOf returns the direction in which a figure is better, by its name.
func betterOf(name string) lab.Direction {
	if strings.HasSuffix(name, "throughput") {
		return lab.HigherIsBetter
	}
	return lab.LowerIsBetter
}

// unitOf returns the unit of a figure, by its name.
func unitOf(name string) string {
	switch {
	case strings.Contains(name, "error"):
		return "ratio"
	case strings.HasSuffix(name, "throughput"):
		return "/s"
	case strings.HasPrefix(name, "stall p"):
		return "s"
	case strings.HasPrefix(name, "memory"):
		return "MB"
	}
	return "us"
}

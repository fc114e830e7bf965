//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/stats"
)

// watchMemory reads the resident memory of a process ten times a second until the returned function is
// called. That function returns the values in bytes, with the peak as the last one.
func watchMemory(pid int) func() []float64 {
	const every = 100 * time.Millisecond
	stop := make(chan struct{})
	seen := make(chan []float64)
	go func() {
		var values []float64
		var peak float64
		for {
			if resident, most, known := memoryOf(pid); known {
				values = append(values, resident)
				peak = most
			}
			select {
			case <-stop:
				seen <- append(values, peak)
				return
			case <-time.After(every):
			}
		}
	}()
	return func() []float64 {
		close(stop)
		return <-seen
	}
}

// memoryOf returns the resident memory of a process, and its peak since the process has run this program,
// in bytes. known is false for a process that has ended.
func memoryOf(pid int) (resident, peak float64, known bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, false
	}
	for line := range bytes.Lines(status) {
		name, amount, _ := strings.Cut(string(line), ":")
		n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(amount), " kB"), 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmHWM":
			peak = n * 1024
		case "VmRSS":
			resident = n * 1024
		}
	}
	return resident, peak, peak > 0
}

// leastMemory is the shortest load whose memory is read often enough for addMemory.
const leastMemory = 6 * time.Second

// addMemory adds the peak, and the growth from a fifth of the time to the end, in MB (10^6 bytes). Both
// ends of the growth are medians of a tenth of the values.
func (s samples) addMemory(tool string, memory []float64) error {
	const least = 50
	if len(memory) < least {
		return fmt.Errorf("memory was read %d times, which is too few: make the load longer", len(memory))
	}
	last := len(memory) - 1
	n := last / 10
	early, late := memory[2*n:3*n], memory[last-n:last]
	s.add("memory peak", tool, memory[last]/1e6)
	growth := stats.Median(late) - stats.Median(early)
	s.add("memory growth", tool, growth/1e6)
	return nil
}

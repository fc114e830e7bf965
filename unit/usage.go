package unit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// sendUsage sends the kernel's counts of this process's usage since its start.
func (c *Channel) sendUsage() error {
	var used unix.Rusage
	var clock unix.Timespec
	if err := errors.Join(unix.Getrusage(unix.RUSAGE_SELF, &used),
		unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &clock)); err != nil {
		return fmt.Errorf("read what this unit has used: %w", err)
	}
	const kilo = 1024 // the kernel counts memory in KiB
	return c.Tell(lab.EventUsage, lab.UsageAnswer{
		Host:           lab.UnitHost{KernelRun: kernelRun(), Processors: runtime.NumCPU()},
		CPUNanoseconds: clock.Nano(), UserNanoseconds: used.Utime.Nano(), SystemNanoseconds: used.Stime.Nano(),
		Voluntary: used.Nvcsw, Involuntary: used.Nivcsw, LargestBytes: used.Maxrss * kilo,
		Threads:      kernelNumber("/proc/self/status", "Threads:"),
		MemoryBytes:  kilo * kernelNumber("/proc/self/smaps_rollup", "Pss:"),
		ReadBytes:    kernelNumber("/proc/self/io", "rchar:"),
		WrittenBytes: kernelNumber("/proc/self/io", "wchar:"),
	})
}

// kernelNumber returns the number after a name in a file of /proc, or 0 if it is missing.
func kernelNumber(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) > 1 && string(words[0]) == name {
			value, _ := strconv.ParseInt(string(words[1]), 10, 64) // 0 means unknown
			return value
		}
	}
	return 0
}

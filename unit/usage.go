package unit

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// tellUsage says what this process has used since it started, by its kernel.
func (c *Channel) tellUsage() error {
	var used unix.Rusage
	var clock unix.Timespec
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return fmt.Errorf("read what this unit has used: %w", err)
	}
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &clock); err != nil {
		return fmt.Errorf("read what this unit has used: %w", err)
	}
	const kilo = 1024 // the kernel counts memory in KiB
	return c.Tell(lab.EventUsage, lab.UsageAnswer{
		Host:           lab.UnitHost{KernelRun: kernelRun(), Processors: runtime.NumCPU()},
		CPUNanoseconds: clock.Nano(), UserNanoseconds: used.Utime.Nano(), SystemNanoseconds: used.Stime.Nano(),
		Voluntary: used.Nvcsw, Involuntary: used.Nivcsw, LargestBytes: used.Maxrss * kilo,
		Threads:     field("/proc/self/status", "Threads:"),
		MemoryBytes: kilo * field("/proc/self/smaps_rollup", "Pss:"),
		ReadBytes:   field("/proc/self/io", "rchar:"), WrittenBytes: field("/proc/self/io", "wchar:"),
	})
}

// field returns a number in a file of the kernel's; 0: it is not there.
func field(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) > 1 && string(words[0]) == name {
			value, _ := strconv.ParseInt(string(words[1]), 10, 64) // 0 is as good as none
			return value
		}
	}
	return 0
}

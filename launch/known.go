package launch

import (
	"fmt"
	"strconv"

	"github.com/prometheus/procfs"
)

// StartOf is when a process was started, in clock ticks since boot. With its number
// it tells the process from a later one, to which the kernel gives the number again.
func StartOf(pid int) (string, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	stat, err := process.Stat()
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	return strconv.FormatUint(stat.Starttime, 10), nil
}

// Runs reports whether the process of that number is the one that was started then,
// as StartOf writes it.
func Runs(pid int, start string) bool {
	now, err := StartOf(pid)
	return err == nil && now == start
}

package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"syscall"

	"github.com/prometheus/procfs"
)

// ID names a process for good: the kernel gives its number to others later, and other
// kernels and PID namespaces have processes of the same number now.
type ID struct {
	// Place is the run of the kernel and the PID namespace in which the number
	// counts: six hexadecimal digits of a hash of both.
	Place string
	PID   int
	Start string // when it was started, in clock ticks since boot
}

// Fate tells whether a process runs, as far as is known.
type Fate int

// Where nothing is known the process may be alive: nothing of it may be removed.
const (
	Unknown Fate = iota
	Running
	Ended
)

// Own returns the ID of this process.
func Own() (ID, error) {
	place, err := place()
	if err != nil {
		return ID{}, err
	}
	stat, err := statOf(os.Getpid())
	if err != nil {
		return ID{}, fmt.Errorf("read own start time: %w", err)
	}
	return ID{Place: place, PID: os.Getpid(), Start: strconv.FormatUint(stat.Starttime, 10)}, nil
}

// ParseID reads what String writes, and nothing else.
func ParseID(text string) (ID, bool) {
	parts := regexp.MustCompile(`^([0-9a-f]{6})-([1-9][0-9]{0,9})-([0-9]{1,20})$`).FindStringSubmatch(text)
	if parts == nil {
		return ID{}, false
	}
	pid, err := strconv.Atoi(parts[2])
	return ID{Place: parts[1], PID: pid, Start: parts[3]}, err == nil
}

// String returns the ID as one word of lower-case letters, digits and hyphens.
func (id ID) String() string { return fmt.Sprintf("%s-%d-%s", id.Place, id.PID, id.Start) }

// Fate looks whether the process still runs. Only a process of the same PID namespace
// that /proc shows can be judged; one that waits to be reaped has ended.
func (id ID) Fate() Fate {
	here, err := place()
	if err != nil || here != id.Place {
		return Unknown
	}
	stat, err := statOf(id.PID)
	switch {
	case err == nil && (strconv.FormatUint(stat.Starttime, 10) != id.Start || stat.State == "Z" ||
		stat.State == "X"):
		return Ended
	case err == nil:
		return Running
	// A /proc that hides the processes of others (hidepid) says that they are not there.
	case errors.Is(syscall.Kill(id.PID, 0), syscall.ESRCH):
		return Ended
	}
	return Unknown
}

// place names the run of the kernel and the PID namespace of this process. It fails
// where /proc is not that of the namespace: the numbers there are those of others.
func place() (string, error) {
	shown, err := os.Readlink("/proc/self")
	if errors.Is(err, fs.ErrNotExist) || err == nil && shown != strconv.Itoa(os.Getpid()) {
		return "", errors.New("/proc does not show the processes of this PID namespace: mount one there, as " +
			"unshare --mount-proc does")
	}
	if err != nil {
		return "", fmt.Errorf("find this process in /proc: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("tell this run of the kernel from others: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("tell this PID namespace from others: %w", err)
	}
	sum := sha256.Sum256(append(boot, namespace...))
	return hex.EncodeToString(sum[:3]), nil
}

func statOf(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

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
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

// ID identifies a process for ever and on all hosts. Its number alone does not: the kernel
// reuses it later, and other kernels and PID namespaces have processes of the same number.
type ID struct {
	// Scope identifies the boot of the kernel and the PID namespace in which the number
	// is valid: six hexadecimal digits of a hash of both.
	Scope string
	PID   int
	Start string // when it was started, in clock ticks since boot
}

// Fate is the known state of a process.
type Fate int

// The fates. An Unknown process may be alive, so that nothing of it may be removed.
const (
	Unknown Fate = iota
	Running
	Ended
)

// Own returns the ID of this process.
func Own() (ID, error) {
	scope, err := ownScope()
	if err != nil {
		return ID{}, err
	}
	stat, err := statOf(os.Getpid())
	if err != nil {
		return ID{}, fmt.Errorf("read own start time: %w", err)
	}
	return ID{Scope: scope, PID: os.Getpid(), Start: strconv.FormatUint(stat.Starttime, 10)}, nil
}

// idForm is the form of an ID as text.
var idForm = regexp.MustCompile(`^([0-9a-f]{6})-([1-9][0-9]{0,9})-([0-9]{1,20})$`)

// ParseID returns the ID that String has written as text, and whether text is one.
func ParseID(text string) (ID, bool) {
	parts := idForm.FindStringSubmatch(text)
	if parts == nil {
		return ID{}, false
	}
	pid, err := strconv.Atoi(parts[2])
	return ID{Scope: parts[1], PID: pid, Start: parts[3]}, err == nil
}

// String returns the ID as one word of lower-case letters, digits and hyphens.
func (id ID) String() string { return fmt.Sprintf("%s-%d-%s", id.Scope, id.PID, id.Start) }

// Fate returns whether the process still runs. It is Unknown for a process of another PID
// namespace, or one that /proc does not show; a zombie has ended.
func (id ID) Fate() Fate {
	here, err := ownScope()
	if err != nil || here != id.Scope {
		return Unknown
	}
	stat, err := statOf(id.PID)
	if err == nil {
		isAnother := strconv.FormatUint(stat.Starttime, 10) != id.Start
		if isAnother || HasEnded(StateOf(stat)) {
			return Ended
		}
		return Running
	}
	// A /proc that hides the processes of others (hidepid) says that they are not there.
	if errors.Is(syscall.Kill(id.PID, 0), syscall.ESRCH) {
		return Ended
	}
	return Unknown
}

// StateOf returns the state of a process, a letter of proc_pid_stat(5). stat shows only its main thread, as a
// zombie if other threads outlive that; then it is the state of one of those.
func StateOf(stat procfs.ProcStat) string {
	if !HasEnded(stat.State) {
		return stat.State
	}
	threads, _ := procfs.AllThreads(stat.PID) // none if the process was reaped since
	for _, thread := range threads {
		if other, err := thread.Stat(); err == nil && !HasEnded(other.State) {
			return other.State
		}
	}
	return stat.State
}

// HasEnded reports whether a thread in this state has ended: it is a zombie or dead.
func HasEnded(state string) bool { return strings.Contains("ZX", state) }

// ownScope returns the Scope of this process. It fails if /proc belongs to another PID
// namespace, and so shows other numbers.
func ownScope() (string, error) {
	shown, err := os.Readlink("/proc/self")
	isAnother := err == nil && shown != strconv.Itoa(os.Getpid())
	if isAnother || errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("/proc does not show the processes of this PID namespace: mount one there, as " +
			"unshare --mount-proc does")
	}
	if err != nil {
		return "", fmt.Errorf("find this process in /proc: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot ID of the kernel: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("read the PID namespace of this process: %w", err)
	}
	sum := sha256.Sum256(append(boot, namespace...))
	return hex.EncodeToString(sum[:3]), nil
}

// statOf returns what /proc/PID/stat shows of a process.
func statOf(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

package meter

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// hardwareCounters tries to open a counter of processor cycles for this thread.
func hardwareCounters() lab.Fact {
	return perfEvent(unix.PerfEventAttr{
		Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES,
		Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, 0, -1)
}

// clockSampling tries to open the software clock of processor 0. The profiler samples programs from outside
// with such clocks.
func clockSampling() lab.Fact {
	return perfEvent(unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Bits: unix.PerfBitDisabled,
	}, -1, 0)
}

// perfEvent tries to open an event of a process, or of a processor if pid is -1.
func perfEvent(attributes unix.PerfEventAttr, pid, processor int) lab.Fact {
	attributes.Size = unix.PERF_ATTR_SIZE_VER0
	fd, err := unix.PerfEventOpen(&attributes, pid, processor, -1, unix.PERF_FLAG_FD_CLOEXEC)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV):
		return unavailable("perf_event_open: %v: the processor, or the hypervisor above it, shows no performance "+
			"counters", err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return unavailable("perf_event_open: %v: lower kernel.perf_event_paranoid or run with CAP_PERFMON", err)
	case err != nil:
		return unavailable("perf_event_open: %v", err)
	}
	if err := unix.Close(fd); err != nil {
		return unavailable("perf_event_open: close: %v", err)
	}
	return lab.Fact{Value: true}
}

// rapl reports whether the processor's energy counters can be read.
func (h *Host) rapl() lab.Fact {
	zones, err := filepath.Glob(filepath.Join("/", h.root, "/sys/class/powercap/*rapl*/energy_uj"))
	if err != nil || len(zones) == 0 {
		return unavailable("no energy counters below /sys/class/powercap; virtual machines rarely have them")
	}
	if _, err := os.ReadFile(zones[0]); err != nil {
		return unavailable("the energy counter cannot be read (%v); it needs root", errors.Unwrap(err))
	}
	return lab.Fact{Value: true}
}

// pressure reports whether the kernel keeps pressure stall information.
func (h *Host) pressure() lab.Fact {
	if _, err := h.read("/proc/pressure/cpu"); err != nil {
		return unavailable("%v; boot with psi=1", err)
	}
	return lab.Fact{Value: true}
}

// kernelFeature reports whether the running kernel has a feature. It loads no module. It looks at the loaded
// modules, the configuration of the kernel and the modules on disk.
func (h *Host) kernelFeature(option, module string) lab.Fact {
	if h.exists("/sys/module/" + module) {
		return lab.Fact{Value: true}
	}
	release, err := h.read("/proc/sys/kernel/osrelease")
	if err != nil {
		return unavailable("%v", err)
	}
	setting, err := h.kernelOption(option, release)
	if err != nil {
		return unavailable("cannot tell: %v", err)
	}
	switch setting {
	case "y":
		return lab.Fact{Value: true}
	case "m":
		if h.moduleOnDisk(module, release) {
			return lab.Fact{Value: true}
		}
		return unavailable("the module %s of kernel %s is not installed", module, release)
	default:
		return unavailable("kernel %s is built without %s", release, option)
	}
}

// kernelOption returns the value of an option: "y", "m", or "" if it is off. It reads the configuration
// in the running kernel, or else the one in /boot.
func (h *Host) kernelOption(option, release string) (string, error) {
	shown, err := os.Open(filepath.Join("/", h.root, "/proc/config.gz"))
	if err == nil {
		defer func() { _ = shown.Close() }() // nothing was written
		text, err := gzip.NewReader(shown)
		if err != nil {
			return "", fmt.Errorf("unpack /proc/config.gz: %w", err)
		}
		return findOption(text, option)
	}
	text, err := h.read("/boot/config-" + release)
	if err != nil {
		return "", fmt.Errorf("the kernel shows no /proc/config.gz, and %w", err)
	}
	return findOption(strings.NewReader(text), option)
}

// findOption returns the value of "OPTION=value" in a kernel configuration, or "". Options that are off
// are comments or missing.
func findOption(text io.Reader, option string) (string, error) {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if name, value, found := strings.Cut(lines.Text(), "="); found && name == option {
			return value, nil
		}
	}
	return "", lines.Err()
}

// moduleOnDisk reports whether the index of depmod(8) contains a module.
func (h *Host) moduleOnDisk(module, release string) bool {
	text, err := h.read("/lib/modules/" + release + "/modules.dep")
	return err == nil && strings.Contains(text, "/"+module+".ko")
}

// unlimited is the value of a limit that is not set.
const unlimited = "unlimited"

// cgroupCPU returns the lowest limit on processors in the control groups of this process, in cores.
func (h *Host) cgroupCPU() lab.Fact {
	lowest := 0.0
	note := func(quota, period string) {
		q, errQuota := strconv.ParseFloat(quota, 64)
		p, errPeriod := strconv.ParseFloat(period, 64)
		if errors.Join(errQuota, errPeriod) != nil || q <= 0 || p <= 0 { // "max" and -1: there is no limit
			return
		}
		if limit := q / p; lowest == 0 || limit < lowest {
			lowest = limit
		}
	}
	h.eachGroup("cpu", func(dir string) {
		if text, err := h.read(dir + "/cpu.max"); err == nil {
			quota, period, _ := strings.Cut(text, " ")
			note(quota, period)
		}
		quota, errQuota := h.read(dir + "/cpu.cfs_quota_us")
		period, errPeriod := h.read(dir + "/cpu.cfs_period_us")
		if errQuota == nil && errPeriod == nil {
			note(quota, period)
		}
	})
	if lowest > 0 {
		return lab.Fact{Value: lowest, Unit: "cores"}
	}
	return h.noLimit()
}

// noLimit returns the fact of a limit that no control group sets.
func (h *Host) noLimit() lab.Fact {
	if h.exists("/sys/fs/cgroup") {
		return lab.Fact{Value: unlimited}
	}
	return unavailable("no control groups below /sys/fs/cgroup")
}

// cgroupMemory returns the lowest memory limit in the control groups of this process.
func (h *Host) cgroupMemory() lab.Fact {
	// Version 1 writes nearly 1 << 63 if there is no limit.
	const none = int64(1) << 62
	lowest := none
	h.eachGroup("memory", func(dir string) {
		for _, file := range []string{"/memory.max", "/memory.limit_in_bytes"} {
			text, err := h.read(dir + file)
			if err != nil {
				continue
			}
			if limit, err := strconv.ParseInt(text, 10, 64); err == nil {
				lowest = min(lowest, limit)
			}
		}
	})
	if lowest < none {
		return lab.Fact{Value: lowest, Unit: "B"}
	}
	return h.noLimit()
}

// eachGroup calls visit with the folders of this process's control groups for a controller, from its own
// up to the root: version 2 at /sys/fs/cgroup, version 1 at /sys/fs/cgroup/<controller>.
func (h *Host) eachGroup(controller string, visit func(dir string)) {
	text, err := h.read("/proc/self/cgroup")
	if err != nil {
		return
	}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root := "/sys/fs/cgroup"
		switch {
		case parts[1] == "": // version 2
		case strings.Contains(","+parts[1]+",", ","+controller+","):
			root += "/" + controller
		default:
			continue
		}
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			visit(filepath.Join(root, path))
			if path == "/" {
				break
			}
		}
	}
}

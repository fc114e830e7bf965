package meter

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// Environment returns the facts about this host, build and settings. It must not contain personal data:
// no host name, user, address, path or variable leaves the machine.
func (h *Host) Environment() lab.Environment {
	return lab.Environment{
		"cpu_model":             asFact(h.keyed("/proc/cpuinfo", "model name", ":")),
		"cores_online":          h.coresOnline(),
		"cpu_governor":          asFact(h.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
		"smt":                   asFact(h.read("/sys/devices/system/cpu/smt/control")),
		"virtualised":           h.virtualised(),
		"memory_total":          h.memoryTotal(),
		"transparent_hugepages": h.chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
		"aslr":                  h.numberOf("/proc/sys/kernel/randomize_va_space"),
		"clock_source":          asFact(h.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
		"kernel":                asFact(h.read("/proc/sys/kernel/osrelease")),
		"os":                    asFact(h.keyed("/etc/os-release", "PRETTY_NAME", "=")),
		"cgroup_cpu_limit":      h.cgroupCPU(),
		"cgroup_memory_limit":   h.cgroupMemory(),
		"limit_open_files":      resourceLimit(unix.RLIMIT_NOFILE),
		"limit_processes":       resourceLimit(unix.RLIMIT_NPROC),
		"somaxconn":             h.numberOf("/proc/sys/net/core/somaxconn"),
		"local_port_range":      h.portRange(),
		"disk_free":             diskFree(),
		"go_version":            {Value: runtime.Version()},
		"build_version":         h.buildVersion(),
		"build_commit":          buildCommit(),
		"pressure":              h.pressure(),
		"hardware_counters":     hardwareCounters(),
		"clock_sampling":        clockSampling(),
		"rapl":                  h.rapl(),
		"netem":                 h.kernelFeature("CONFIG_NET_SCH_NETEM", "sch_netem"),
		"ipvs":                  h.kernelFeature("CONFIG_IP_VS", "ip_vs"),
	}
}

// coresOnline counts the processors that are online.
func (h *Host) coresOnline() lab.Fact {
	text, err := h.read("/sys/devices/system/cpu/online")
	if err != nil {
		return unavailable("%v", err)
	}
	count := 0
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, errFirst := strconv.Atoi(low)
		last, errLast := strconv.Atoi(high)
		if errFirst != nil || errLast != nil {
			return unavailable("/sys/devices/system/cpu/online holds %q, want ranges of numbers", text)
		}
		count += last - first + 1
	}
	return lab.Fact{Value: count, Unit: "cores"}
}

// virtualised reports whether the processor has the flag of a hypervisor. Only x86
// processors have it.
func (h *Host) virtualised() lab.Fact {
	flags, err := h.keyed("/proc/cpuinfo", "flags", ":")
	if err != nil {
		return unavailable("%v", err)
	}
	return lab.Fact{Value: slices.Contains(strings.Fields(flags), "hypervisor")}
}

// memoryTotal returns the memory that the kernel manages.
func (h *Host) memoryTotal() lab.Fact {
	text, err := h.keyed("/proc/meminfo", "MemTotal", ":")
	if err != nil {
		return unavailable("%v", err)
	}
	kib, err := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	if err != nil {
		return unavailable("/proc/meminfo: MemTotal is %q, want a number of kB", text)
	}
	return lab.Fact{Value: kib << 10, Unit: "B"}
}

// portRange returns the port range of outgoing connections. Its size bounds the number of connections to
// one address.
func (h *Host) portRange() lab.Fact {
	text, err := h.read("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return unavailable("%v", err)
	}
	return lab.Fact{Value: strings.Join(strings.Fields(text), "-")}
}

// resourceLimit returns the soft limit of this process for a resource.
func resourceLimit(resource int) lab.Fact {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil {
		return unavailable("getrlimit: %v", err)
	}
	if limit.Cur == unix.RLIM_INFINITY {
		return lab.Fact{Value: unlimited}
	}
	return lab.Fact{Value: limit.Cur}
}

// diskFree returns the free space for users in the current folder, the default place of results.
func diskFree() lab.Fact {
	var disk unix.Statfs_t
	if err := unix.Statfs(".", &disk); err != nil {
		return unavailable("statfs of the current folder: %v", err)
	}
	return lab.Fact{Value: disk.Bavail * uint64(disk.Bsize), Unit: "B"}
}

// buildVersion returns the version that the linker has set.
func (h *Host) buildVersion() lab.Fact {
	if h.version == "" {
		return unavailable("built without a version; make build sets it")
	}
	return lab.Fact{Value: h.version}
}

// buildCommit returns the revision of the source that the Go tool recorded, with "-modified" if the tree
// had changes.
func buildCommit() lab.Fact {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unavailable("built without module support")
	}
	settings := make(map[string]string)
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return unavailable("built outside a git checkout or with -buildvcs=false")
	}
	if settings["vcs.modified"] == "true" {
		revision += "-modified"
	}
	return lab.Fact{Value: revision}
}

package lab

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Meter measures the resource usage of units. The meter's own cost is part of every reading.
type Meter interface {
	// Watch starts to sample the memory and the CPU time of the units, until Stop or the end of ctx.
	Watch(ctx context.Context, units []Unit) (Metering, error)
}

// Metering is a running measurement of the units of one trial.
type Metering interface {
	// Mark reads the counters of all units now. A trial has two marks: before
	// the start signal and after the last operation.
	Mark() error
	// Suspend reads the named unit for the last time before it is killed on
	// purpose. Its usage until now counts; from now on it uses nothing.
	Suspend(unit string) error
	// Resume continues to meter a suspended unit, which has a new process.
	Resume(unit Unit) error
	// Stop ends sampling and returns the usage between the first and the last mark.
	Stop() (Metered, error)
}

// ShortestIdle is the shortest idle time before the first mark for which the idle usage is recorded. In a
// shorter time the reading of the counters itself would be a large part, and the units have just become
// ready.
const ShortestIdle = 150 * time.Millisecond

// Metered holds the usage of a trial between its marks.
type Metered struct {
	Total Usage            `json:"total"`
	Roles map[string]Usage `json:"roles"` // the usage of the units of each role
	// Units has one row per unit, in the order given to Watch.
	Units []UnitUsage `json:"-"`
	// Processes holds the processes of units with several processes, summed by name.
	Processes []ProcessUsage `json:"processes,omitempty"`
	// Samples has one row per sampling round, oldest first.
	Samples []UsageSample `json:"-"`
	// Course is the system's usage over time, for loads that are recorded over time; nil: it was not metered, or
	// the load was too short.
	Course *UsageCourse `json:"course,omitempty"`
	// OwnCPUSeconds is the CPU time of the meter itself from Watch to Stop. Most of it falls to the marks,
	// outside the measured window.
	OwnCPUSeconds       float64 `json:"own_cpu_seconds"`
	WindowSeconds       float64 `json:"window_seconds"`         // wall time between the marks
	OwnWindowCPUSeconds float64 `json:"own_window_cpu_seconds"` // of the meter itself, between the marks
	OwnShare            float64 `json:"own_share"`              // share of one core that this is
	// IdleSeconds is the time before the first mark in which the units were metered while they were ready and
	// idle (see UnitSpec.Rest); 0: they were not.
	IdleSeconds float64 `json:"idle_seconds,omitempty"`
	// Processors is the number of processors of the host on which all units ran, the load generator among them;
	// 0: there were several hosts, or one is unknown.
	Processors int `json:"processors,omitempty"`
	// Nodes holds the usage of the units on each node, by its name, where the deployment has nodes.
	Nodes map[string]NodeUsage `json:"nodes,omitempty"`
	// Sources describes, by role, the source of the figures and what it does not report.
	Sources map[string]string `json:"sources,omitempty"`
	// Platform holds the figures that the platform itself reports for the units.
	Platform []PlatformUsage `json:"platform,omitempty"`
	// Notes lists what is missing in the figures.
	Notes []string `json:"notes,omitempty"`
}

// SharedProcessors returns the number of processors of the host on which all units ran; 0: there were several
// hosts, or one is unknown.
func (m Metered) SharedProcessors() int {
	if len(m.Units) == 0 {
		return 0
	}
	host := m.Units[0].Host
	isElsewhere := func(u UnitUsage) bool { return u.Host != host }
	if host.KernelRun == "" || slices.ContainsFunc(m.Units, isElsewhere) {
		return 0
	}
	return host.Processors
}

// Used returns the CPU time and memory of all roles, without the generator and the roles in apart. Proxies in
// front of a system and its backing services are included: they are a part of its cost. A figure that some
// role lacks is unavailable.
func (m Metered) Used(apart ...string) Usage {
	sum := Usage{Unavailable: map[string]string{}}
	for role, usage := range m.Roles {
		if role == RoleGenerator || slices.Contains(apart, role) {
			continue
		}
		sum.Units += usage.Units
		sum.CPUSeconds += usage.CPUSeconds
		sum.IdleCores += usage.IdleCores
		sum.PeakMemoryBytes += usage.PeakMemoryBytes
		sum.MeanMemoryBytes += usage.MeanMemoryBytes
		maps.Copy(sum.Unavailable, usage.Unavailable)
	}
	return sum
}

// PlatformUsage compares a platform's figure for the CPU usage of a unit, or of a role, with that of the
// control group in the same windows.
type PlatformUsage struct {
	Unit          string  `json:"unit,omitempty"` // empty: all of the role
	Role          string  `json:"role"`
	Source        string  `json:"source"`         // of the platform's figure
	Samples       int     `json:"samples"`        // number of new figures of the platform
	WindowSeconds float64 `json:"window_seconds"` // mean length of their windows
	// Millicores is the mean of the platform's figures, in thousandths of a processor.
	Millicores      float64 `json:"millicores"`
	MostMillicores  float64 `json:"most_millicores"`  // the largest of them
	GroupMillicores float64 `json:"group_millicores"` // the mean of the control group in the same windows
	// LagSeconds is the mean time from the middle of a window until its figure was reported.
	LagSeconds float64 `json:"lag_seconds"`
}

// Usage holds the usage of a group of units between two marks.
type Usage struct {
	Units         int     `json:"units"` // in the group
	CPUSeconds    float64 `json:"cpu_seconds"`
	UserSeconds   float64 `json:"user_seconds"`   // of CPUSeconds, in programs
	SystemSeconds float64 `json:"system_seconds"` // of CPUSeconds, in the kernel
	// VoluntaryContextSwitches and InvoluntaryContextSwitches are those of the threads that still ran at the
	// second mark.
	VoluntaryContextSwitches   int64 `json:"voluntary_context_switches"`
	InvoluntaryContextSwitches int64 `json:"involuntary_context_switches"`
	Threads                    int   `json:"threads"` // at the second mark
	// IdleCores is the number of processors in use during the IdleSeconds of Metered.
	IdleCores float64 `json:"idle_cores,omitempty"`
	// PeakMemoryBytes and MeanMemoryBytes are the peak and the mean of the samples at both marks and between
	// them. A sample is the proportional set size of the whole group: shared pages count once in total.
	PeakMemoryBytes int64 `json:"peak_memory_bytes"`
	MeanMemoryBytes int64 `json:"mean_memory_bytes"`
	// PeakResidentBytes is the sum of the units' largest resident sets since
	// they started. Unlike the sampled peak it misses no short peak, but it counts
	// shared pages in every unit.
	PeakResidentBytes int64 `json:"peak_resident_bytes"`
	// ReadBytes and WrittenBytes count read and write calls, of files and sockets.
	// Calls such as sendmsg and memory-mapped transfers are not included.
	ReadBytes    int64 `json:"read_bytes"`
	WrittenBytes int64 `json:"written_bytes"`
	// Unavailable has the reasons why figures are missing or lack some units, by their names in JSON.
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

// Lacks reports whether a figure, by its name in JSON, is missing or lacks some units. It is then too small
// to compute with.
func (u Usage) Lacks(figure string) bool {
	_, lacks := u.Unavailable[figure]
	return lacks
}

// NodeUsage holds the usage of the units of a node between two marks, without the generator.
type NodeUsage struct {
	Units           int     `json:"units"`
	CPUSeconds      float64 `json:"cpu_seconds"`
	MeanMemoryBytes int64   `json:"mean_memory_bytes"`
}

// UnitUsage is the usage of one unit.
type UnitUsage struct {
	Unit Unit
	Host UnitHost
	Usage
}

// UnitHost is the host that a unit runs on. Zero: unknown.
type UnitHost struct {
	KernelRun  string `json:"kernel_run"` // the same for units on the same host
	Processors int    `json:"processors"`
}

// ProcessUsage holds the usage of the processes with one name, in a unit that is a command with its child
// processes; or of one container of a compose file.
type ProcessUsage struct {
	Unit string `json:"unit"`
	// Name is the program with the script or file that it was started with, or the service.
	Name            string  `json:"name"`
	Processes       int     `json:"processes"` // of this name, when the load ended
	CPUSeconds      float64 `json:"cpu_seconds"`
	PeakMemoryBytes int64   `json:"peak_memory_bytes"` // the sum of their peaks
	ReadBytes       int64   `json:"read_bytes"`        // as in Usage
	WrittenBytes    int64   `json:"written_bytes"`
	// ReceivedBytes and SentBytes are those of a container's own network; 0: it has none.
	ReceivedBytes int64 `json:"received_bytes,omitempty"`
	SentBytes     int64 `json:"sent_bytes,omitempty"`
}

// UsageCourse holds the usage of a system over time, without the generator, from the first mark on: a point
// per second, or per sample if these are rarer.
type UsageCourse struct {
	End []float64 `json:"end"` // seconds since the mark
	// Cores holds the mean number of processors in use since the point before, Memory the
	// proportional set size in bytes at the point.
	Cores  []float64 `json:"cores,omitempty"`
	Memory []int64   `json:"memory,omitempty"`
	// Unavailable has the reasons why "CPU" or "memory" is missing.
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

// UsageSample is the total of all units at one moment.
type UsageSample struct {
	Seconds     float64 // since Watch
	CPUSeconds  float64 // since Watch
	MemoryBytes int64
}

// Host describes the machine and its condition.
type Host interface {
	// Environment returns the facts about the host. An unavailable fact has the reason.
	Environment() Environment
	// Observe calibrates the host before a trial, while no unit of the trial is running.
	Observe() (Observation, error)
}

// Observation watches the host during one trial. The window between Open and
// Close is that of the job: starting and ending units is outside.
type Observation interface {
	Open()
	Close()
	// End calibrates the host again, after the trial, and returns the
	// conditions. unitCPUSeconds is the CPU time of the trial's own units in the
	// window, to separate it from that of other processes. Without a window the
	// conditions in it are unavailable.
	End(unitCPUSeconds float64) Conditions
}

// Environment is a set of named facts about host, build and settings.
type Environment map[string]Fact

// Fact is a value, or the reason why there is none.
type Fact struct {
	Value       any    `json:"value,omitempty"`
	Unit        string `json:"unit,omitempty"`
	Unavailable string `json:"unavailable,omitempty"`
}

// Conditions describes the state of the host around and during a trial.
type Conditions struct {
	// CalibrationBefore and CalibrationAfter are the wall times of a fixed amount of computation, in seconds.
	CalibrationBefore float64 `json:"calibration_before_seconds"`
	CalibrationAfter  float64 `json:"calibration_after_seconds"`
	// StealShare is the share of all processors that the hypervisor withheld.
	StealShare float64 `json:"steal_share"`
	// OthersShare is the share of all processors used by other processes.
	OthersShare float64 `json:"others_share"`
	// PressureShares holds the share of the job's time in which some task waited for a resource: "cpu",
	// "memory" or "io".
	PressureShares map[string]float64 `json:"pressure_shares,omitempty"`
	// LoadBefore is the mean number of runnable tasks over the minute before the trial (/proc/loadavg).
	LoadBefore float64 `json:"load_before"`
	// Unavailable has the reasons why conditions are missing, by their names in JSON, such as "steal_share" or
	// "pressure_shares.io".
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

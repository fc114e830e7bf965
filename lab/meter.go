package lab

import (
	"context"
	"slices"
	"time"
)

// Meter reads what units use. Its own cost is part of every reading.
type Meter interface {
	// Watch begins to sample the units' memory until Stop.
	Watch(ctx context.Context, units []Unit) (Metering, error)
}

// Metering is one meter at work on the units of one trial.
type Metering interface {
	// Mark notes the counters of all units now. A trial has two marks: before
	// the start signal and after the last operation.
	Mark() error
	// Suspend reads the named unit for the last time before it is killed on
	// purpose. What it has used until now counts; from now on it uses nothing.
	Suspend(unit string) error
	// Resume goes on with a suspended unit, which has a process of its own again.
	Resume(unit Unit) error
	// Stop ends sampling and returns the use between the first and last mark.
	Stop() (Metered, error)
}

// ShortestIdle is the shortest time before the first mark of which the idle usage is recorded. In a shorter
// one, reading the counters of all units may take as long, and the units have just become ready.
const ShortestIdle = 150 * time.Millisecond

// Metered holds the usage of a trial between its marks.
type Metered struct {
	Total Usage            `json:"total"`
	Roles map[string]Usage `json:"roles"`
	// Units has one row per unit, in the order given to Watch.
	Units []UnitUsage `json:"-"`
	// Processes are those of units of several processes, added up by name.
	Processes []ProcessUsage `json:"processes,omitempty"`
	// Samples has one row per sampling round, oldest first.
	Samples []UsageSample `json:"-"`
	// Course holds the course of the system's usage, for a load that has a course itself; nil: it was not
	// metered, or the load was over at once.
	Course *UsageCourse `json:"course,omitempty"`
	// OwnCPUSeconds is the CPU time of the meter itself from Watch to Stop. Most of it falls to the marks,
	// outside the measured window.
	OwnCPUSeconds float64 `json:"own_cpu_seconds"`
	// WindowSeconds is the wall time between the marks, OwnWindowCPUSeconds what
	// the meter burned in it, and OwnShare the latter over the former: the share
	// of one core that the meter took from the trial.
	WindowSeconds       float64 `json:"window_seconds"`
	OwnWindowCPUSeconds float64 `json:"own_window_cpu_seconds"`
	OwnShare            float64 `json:"own_share"`
	// IdleSeconds is the time before the first mark in which the units were metered while they were ready and
	// idle (see UnitSpec.Rest); 0: they were not.
	IdleSeconds float64 `json:"idle_seconds,omitempty"`
	// Nodes holds the usage of the units on each node, by its name, where the deployment has nodes.
	Nodes map[string]NodeUsage `json:"nodes,omitempty"`
	// Sources names, by role, where the figures come from and what is unknown there.
	Sources map[string]string `json:"sources,omitempty"`
	// Platform holds the figures of the deployment's platform itself for its units meanwhile.
	Platform []PlatformUsage `json:"platform,omitempty"`
	// Notes say what the figures do not hold.
	Notes []string `json:"notes,omitempty"`
}

// Used returns the sum of all roles but the generator and those apart: proxies in front of a system and its
// backing services are a part of its cost.
func (m Metered) Used(apart ...string) Usage {
	var sum Usage
	for role, usage := range m.Roles {
		if role == RoleGenerator || slices.Contains(apart, role) {
			continue
		}
		sum.Units += usage.Units
		sum.CPUSeconds += usage.CPUSeconds
		sum.PeakMemoryBytes += usage.PeakMemoryBytes
		sum.MeanMemoryBytes += usage.MeanMemoryBytes
	}
	return sum
}

// PlatformUsage compares a platform's figure of the processors that a unit used, or all of a role, with the
// count of its control group in the same windows.
type PlatformUsage struct {
	Unit   string `json:"unit,omitempty"` // empty: all of the role
	Role   string `json:"role"`
	Source string `json:"source"` // who said it
	// Samples counts the new figures, and WindowSeconds is the mean time over which these were averages.
	Samples       int     `json:"samples"`
	WindowSeconds float64 `json:"window_seconds"`
	// Millicores is the mean of what it said, MostMillicores the largest, and
	// GroupMillicores the mean of what the control group counted in these windows.
	Millicores      float64 `json:"millicores"`
	MostMillicores  float64 `json:"most_millicores"`
	GroupMillicores float64 `json:"group_millicores"`
	// LagSeconds is the mean time from the middle of a window until it was said.
	LagSeconds float64 `json:"lag_seconds"`
}

// Usage holds the usage of a group of units between two marks.
type Usage struct {
	Units                      int     `json:"units"`
	CPUSeconds                 float64 `json:"cpu_seconds"`
	UserSeconds                float64 `json:"user_seconds"`
	SystemSeconds              float64 `json:"system_seconds"`
	VoluntaryContextSwitches   int64   `json:"voluntary_context_switches"`
	InvoluntaryContextSwitches int64   `json:"involuntary_context_switches"`
	Threads                    int     `json:"threads"`
	// IdleCores is the number of processors in use during the IdleSeconds of Metered.
	IdleCores float64 `json:"idle_cores,omitempty"`
	// Memory is the proportional set size: shared pages count once in total. It
	// is sampled at both marks and between them: the peak is that of the sum over
	// the group, the mean is over the samples.
	PeakMemoryBytes int64 `json:"peak_memory_bytes"`
	MeanMemoryBytes int64 `json:"mean_memory_bytes"`
	// PeakResidentBytes is the sum of the units' largest resident sets since
	// they started. It misses no peak, but counts shared pages in every unit.
	PeakResidentBytes int64 `json:"peak_resident_bytes"`
	// Bytes through read and write calls, files and sockets alike. Calls such
	// as sendmsg and memory-mapped transfers are not in it.
	ReadBytes    int64             `json:"read_bytes"`
	WrittenBytes int64             `json:"written_bytes"`
	Unavailable  map[string]string `json:"unavailable,omitempty"`
}

// NodeUsage holds the usage of the units of a node between two marks, without the generator.
type NodeUsage struct {
	Units           int     `json:"units"`
	CPUSeconds      float64 `json:"cpu_seconds"`
	MeanMemoryBytes int64   `json:"mean_memory_bytes"`
}

// UnitUsage is the use of one unit.
type UnitUsage struct {
	Unit Unit
	Host UnitHost
	Usage
}

// UnitHost is the host that a unit runs on. Zero: nobody there can tell.
type UnitHost struct {
	KernelRun  string `json:"kernel_run"` // units with the same one share a host
	Processors int    `json:"processors"`
}

// ProcessUsage holds the usage of the processes of one name in a unit that is a command with all that it
// starts, or of one container of a compose file.
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

// UsageCourse holds the usage of all units of a system but the generator, from the first mark on: a point
// each second, or as often as they were sampled.
type UsageCourse struct {
	End []float64 `json:"end"` // seconds since the mark
	// Cores are the processors that were used on average since the point before, Memory is
	// the proportional set size in bytes at the point.
	Cores  []float64 `json:"cores,omitempty"`
	Memory []int64   `json:"memory,omitempty"`
	// Unavailable says why it has no "CPU" or no "memory".
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
	// Environment captures what the host is. Facts that cannot be had carry the reason.
	Environment() Environment
	// Observe calibrates the host before a trial: nothing of the trial runs yet.
	Observe() (Observation, error)
}

// Observation watches the host during one trial. The window between Open and
// Close is that of the job: starting and ending units is outside.
type Observation interface {
	Open()
	Close()
	// End calibrates the host again, after the trial, and returns the
	// conditions. unitCPUSeconds is what the trial's own units used in the
	// window, to tell it from what others used. Without a window the
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
	// Calibration is the wall time in seconds of a fixed amount of computation.
	CalibrationBefore float64 `json:"calibration_before_seconds"`
	CalibrationAfter  float64 `json:"calibration_after_seconds"`
	// StealShare is the share of all processors that the hypervisor withheld.
	StealShare float64 `json:"steal_share"`
	// OthersShare is the share of all processors used by other processes.
	OthersShare float64 `json:"others_share"`
	// PressureShares: share of the trial in which some task waited, by resource.
	PressureShares map[string]float64 `json:"pressure_shares,omitempty"`
	LoadBefore     float64            `json:"load_before"`
	Unavailable    map[string]string  `json:"unavailable,omitempty"`
}

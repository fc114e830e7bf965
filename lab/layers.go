package lab

import "time"

// Layer is a part of a program, or of the platform below it, to which CPU time is attributed.
type Layer string

// The layers, from the application down to the kernel.
const (
	LayerApplication Layer = "application"
	LayerServer      Layer = "server"    // web server and framework
	LayerHTTP        Layer = "http"      // the protocol: parser, client
	LayerJSON        Layer = "json"      // and other encodings
	LayerStore       Layer = "store"     // database driver, or an embedded store
	LayerLibraries   Layer = "libraries" // others that come with the application
	LayerRuntime     Layer = "runtime"   // the runtime's own library: sockets, text, collections, scheduling
	LayerCollector   Layer = "collector" // garbage collection
	LayerCompiler    Layer = "compiler"  // compilation while the program runs
	LayerKernel      Layer = "kernel"    // system calls, page faults
	LayerUnseen      Layer = "unseen"    // threads and programs without samples
)

// Layers lists the layers in this order.
func Layers() []Layer {
	return []Layer{LayerApplication, LayerServer, LayerHTTP, LayerJSON, LayerStore, LayerLibraries, LayerRuntime,
		LayerCollector, LayerCompiler, LayerKernel, LayerUnseen}
}

// IsLibrary reports whether the layer is code of others that the application calls.
func (l Layer) IsLibrary() bool {
	switch l {
	case LayerServer, LayerHTTP, LayerJSON, LayerStore, LayerLibraries, LayerRuntime:
		return true
	}
	return false
}

// RoleLayers divides the CPU time of the units of a role in a profiled trial among layers.
type RoleLayers struct {
	Role string `json:"role"`
	// Runtime is "java", "node" or "go"; empty: the runtime cannot be profiled.
	Runtime string `json:"runtime,omitempty"`
	// Unsampled says why there are no samples.
	Unsampled string `json:"unsampled,omitempty"`
	Samples   int    `json:"samples"`
	// Instructions and Cycles are counts of the processor, with those of the profiler itself.
	Instructions float64 `json:"instructions,omitempty"`
	Cycles       float64 `json:"cycles,omitempty"`    // as Instructions
	Uncounted    string  `json:"uncounted,omitempty"` // why neither was counted
	// Seconds is the CPU time by layer. The sum is the metered CPU time without the threads of
	// the profiler itself.
	Seconds map[Layer]float64 `json:"seconds"`
}

// Profiled is a System whose CPU time a profiler can divide among layers.
type Profiled interface {
	Profiling(v Variant) Profiling
}

// Profiling tells a profiler which code of a variant is its own, and which roles are no part of its cost.
type Profiling struct {
	// Own lists the packages of the application's own code, which include all packages below
	// them: names of Java ("cleave.airline") and import paths of Go. In Node.js the own code is
	// all that is not in node_modules. Empty: all that is in no known library.
	Own []string
	// Apart lists roles that, like the generator, are no part of the system's cost.
	Apart []string
}

// Profiler turns on the profilers of runtimes, and reads their results.
type Profiler interface {
	// Instrument returns the layout with the profilers turned on. It does not change units of other runtimes.
	Instrument(layout Layout) Layout
	// Layers reads the files that the units of an instrumented layout have handed over,
	// and divides the metered CPU time.
	Layers(layout Layout, about Profiling, seen ProfiledWindow) ([]RoleLayers, error)
}

// ProfiledWindow is the measured part of a profiled trial.
type ProfiledWindow struct {
	Began, Ended time.Time // wall clock
	Metered      Metered
	// Threads holds the usage of the threads of all units between Began and Ended.
	Threads []ThreadUse
	// Dir is the folder with the files that the units handed over.
	Dir string
	// Programs holds the samples that a Sampler took of processes; Unsampled says why there was none.
	Programs  []ProgramSamples
	Unsampled string
	// Counted holds counts of the processor, by role; Uncounted says why there are none.
	Counted   map[string]Counted
	Uncounted string
}

// Sampler is a Profiler that can also sample the stacks of programs from outside, for programs without a
// profiler.
type Sampler interface {
	// Sample begins to sample the programs of a layout. It returns nil if there is nothing to sample.
	Sample(layout Layout) (Sampling, error)
	// Count begins to count the instructions of threads and of those that they start.
	Count(threads []ThreadUse) (Counting, error)
}

// Counting counts the instructions of the threads of one trial.
type Counting interface {
	// End ends the counting and returns the counts by role.
	End() (map[string]Counted, error)
}

// Counted holds counts of the processor.
type Counted struct{ Instructions, Cycles float64 }

// Sampling is the sampling of the programs of one trial.
type Sampling interface {
	// End ends the sampling and returns the samples of the processes that these threads belong to.
	End(threads []ThreadUse) []ProgramSamples
}

// ProgramSamples holds the sampled stacks of a process.
type ProgramSamples struct {
	Unit, Role string
	Threads    []string // the IDs of its threads, as in ThreadUse
	Own        string   // the path of the module of its own code
	Stacks     []SampledStack
}

// SampledStack lists the functions of a sample, the running one first.
type SampledStack struct {
	Kernel    bool // the kernel ran, called by the first function
	Functions []string
	Count     int
}

// ThreadUse holds the usage of one thread of a unit.
type ThreadUse struct {
	Unit, Role string
	// ID is different for all threads of the trial. PID is the process ID on this host.
	ID   string
	PID  int
	Name string
	// First is set for the first thread of a process.
	First                      bool
	UserSeconds, SystemSeconds float64
}

// ThreadMeter is a Meter that can meter single threads.
type ThreadMeter interface {
	// Threads returns the running threads, with the usage of each since its start.
	Threads(units []Unit) ([]ThreadUse, error)
}

// LayerShare divides the CPU time of an operation in a variant at a point among layers. The shares are means
// over profiled trials. The seconds are these shares of the CPU time in the trials without a profiler.
type LayerShare struct {
	Variant  string   `json:"variant"`
	Point    Point    `json:"point"`
	Runtimes []string `json:"runtimes"`
	Trials   int      `json:"trials"` // profiled, with CPU time
	Samples  int      `json:"samples"`
	// CPUPerOperation is that of the trials without a profiler, ProfiledCPUPerOperation that of
	// the profiled ones. The difference is the cost of profiling.
	CPUPerOperation         float64         `json:"cpu_per_operation"`
	ProfiledCPUPerOperation float64         `json:"profiled_cpu_per_operation"`
	Layers                  []LayerTime     `json:"layers"` // in the order of Layers
	Roles                   []RoleLayerTime `json:"roles"`
	// Libraries is the time in layers that are libraries, in seconds.
	Libraries float64 `json:"libraries_per_operation"`
	// Instructions and Cycles are means over the profiled trials in which the processor counted them, with
	// those of the profiler itself; 0: there are no such trials.
	Instructions float64 `json:"instructions_per_operation,omitempty"`
	Cycles       float64 `json:"cycles_per_operation,omitempty"`
}

// LayerTime is the time of an operation in a layer.
type LayerTime struct {
	Layer        Layer   `json:"layer"`
	Share        float64 `json:"share"`
	PerOperation float64 `json:"per_operation"` // seconds
}

// RoleLayerTime is a layer in the units of one role.
type RoleLayerTime struct {
	Role         string  `json:"role"`
	Runtime      string  `json:"runtime,omitempty"`
	Layer        Layer   `json:"layer"`
	PerOperation float64 `json:"per_operation"` // seconds
}

// LibraryCPU is the quantity of ProfiledMetric.
const LibraryCPU = "library_cpu"

// ProfiledMetric returns the metric that compares profiled trials.
func ProfiledMetric() Metric {
	return Metric{Name: "library_cpu_per_operation", Title: "CPU time in libraries per operation, by profile",
		Unit: "s", Better: LowerIsBetter,
		Kind: KindCost, Quantity: LibraryCPU, Per: PerOperation, Source: FromProfiler}
}

// ProfileVariable is the environment variable with the file to which a unit of ours writes its CPU profile.
// The unit hands the file over at its end. Without the variable it is not profiled.
const ProfileVariable = "CLEAVE_PROFILE"

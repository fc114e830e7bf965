package lab

import "time"

// Layer is a part of a program, or of what it runs on, that CPU time is charged to.
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
	LayerUnseen      Layer = "unseen"    // threads and programs of which there are no samples
)

// Layers lists the layers in this order.
func Layers() []Layer {
	return []Layer{LayerApplication, LayerServer, LayerHTTP, LayerJSON, LayerStore, LayerLibraries, LayerRuntime,
		LayerCollector, LayerCompiler, LayerKernel, LayerUnseen}
}

// IsLibrary reports whether the layer is code that others wrote for programs to call.
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
	// Runtime is "java", "node" or "go"; empty: nothing that can be profiled.
	Runtime string `json:"runtime,omitempty"`
	// Unsampled says why there are no samples.
	Unsampled string `json:"unsampled,omitempty"`
	Samples   int    `json:"samples"`
	// Instructions and Cycles are those that the processor counted, the profiler's own among them. Uncounted
	// says why there are none.
	Instructions float64 `json:"instructions,omitempty"`
	Cycles       float64 `json:"cycles,omitempty"`
	Uncounted    string  `json:"uncounted,omitempty"`
	// Seconds of CPU time by layer. They add up to what the meter saw, less the threads of
	// the profiler itself.
	Seconds map[Layer]float64 `json:"seconds"`
}

// Profiled is a System of which a profiler can tell where CPU time goes.
type Profiled interface {
	Profiling(v Variant) Profiling
}

// Profiling tells a profiler what it must know of a variant.
type Profiling struct {
	// Own are packages of the application's own code, with all below them: of Java
	// ("cleave.airline") and of Go (import paths). Of Node.js it is what lies outside
	// node_modules. Empty: what no known library has.
	Own []string
	// Apart are roles that are no part of the system's cost, beside the generator.
	Apart []string
}

// Profiler turns on the profilers that runtimes bring, and reads what they have seen.
type Profiler interface {
	// Instrument returns the layout with the profilers turned on. It does not change units of other runtimes.
	Instrument(layout Layout) Layout
	// Layers reads the files that the units of an instrumented layout have handed over,
	// and divides what the meter saw.
	Layers(layout Layout, about Profiling, seen ProfiledWindow) ([]RoleLayers, error)
}

// ProfiledWindow is the measured part of a profiled trial.
type ProfiledWindow struct {
	Began, Ended time.Time // wall clock
	Metered      Metered
	// Threads holds the usage of the threads of all units between the two.
	Threads []ThreadUse
	// Dir is the folder with what the units handed over.
	Dir string
	// Programs holds the samples that a Sampler took of processes; Unsampled says why there was none.
	Programs  []ProgramSamples
	Unsampled string
	// Counted holds what the processor counted, by role; Uncounted says why it did not.
	Counted   map[string]Counted
	Uncounted string
}

// Sampler is a Profiler that can also sample the stacks of programs from outside, for those without a
// profiler of their own.
type Sampler interface {
	// Sample begins to sample the programs of a layout; nil: there are none to sample.
	Sample(layout Layout) (Sampling, error)
	// Count begins to count the instructions of threads and of those that they start.
	Count(threads []ThreadUse) (Counting, error)
}

// Counting counts the instructions of the threads of one trial.
type Counting interface {
	// End ends the counting and returns what was counted, by role.
	End() (map[string]Counted, error)
}

// Counted holds what the counters of the processor saw.
type Counted struct{ Instructions, Cycles float64 }

// Sampling is the sampling of the programs of one trial.
type Sampling interface {
	// End ends the sampling and returns the samples of the processes that these threads belong to.
	End(threads []ThreadUse) []ProgramSamples
}

// ProgramSamples holds the sampled stacks of a process.
type ProgramSamples struct {
	Unit, Role string
	Own        string // where the program's own code begins: the path of its module
	Stacks     []SampledStack
}

// SampledStack lists the functions of a sample, the running one first.
type SampledStack struct {
	Kernel    bool // on behalf of the first function
	Functions []string
	Count     int
}

// ThreadUse holds the usage of one thread of a unit.
type ThreadUse struct {
	Unit, Role string
	// ID tells the thread from all others of the trial; PID is its process, as this host
	// numbers it.
	ID   string
	PID  int
	Name string
	// First threads are those with which a process began.
	First                      bool
	UserSeconds, SystemSeconds float64
}

// ThreadMeter is a Meter that can tell threads apart.
type ThreadMeter interface {
	// Threads are those that live now, with what each used since it began.
	Threads(units []Unit) ([]ThreadUse, error)
}

// LayerShare divides the CPU time of an operation in a variant at a point among layers: means over profiled
// trials, in seconds of the trials that were timed without a profiler.
type LayerShare struct {
	Variant  string   `json:"variant"`
	Point    Point    `json:"point"`
	Runtimes []string `json:"runtimes"`
	Trials   int      `json:"trials"` // profiled
	Samples  int      `json:"samples"`
	// CPUPerOperation is that of the timed trials, ProfiledCPUPerOperation with the
	// profiler running: the difference is what profiling costs.
	CPUPerOperation         float64         `json:"cpu_per_operation"`
	ProfiledCPUPerOperation float64         `json:"profiled_cpu_per_operation"`
	Layers                  []LayerTime     `json:"layers"` // in the order of Layers
	Roles                   []RoleLayerTime `json:"roles"`
	// seconds in layers that are libraries
	Libraries float64 `json:"libraries_per_operation"`
	// Instructions and Cycles are the means of the profiled trials in which the processor counted them, with
	// the profiler's own; 0: it did in none.
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

// ProfileVariable is the environment variable with the file to which a unit of ours writes its CPU profile,
// which it hands over at its end. Without it the unit is not profiled.
const ProfileVariable = "CLEAVE_PROFILE"

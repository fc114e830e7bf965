package profiler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/profiler/jfr"
)

// samples holds the samples of a profiler by layer. The weight of a sample is its time if the profiler
// records it, otherwise 1.
type samples struct {
	runtime string
	count   int
	all     map[lab.Layer]float64 // weights
	native  map[lab.Layer]float64 // weights of samples in native code, which alone makes system calls
	// unusable says why the samples do not divide the CPU time of their role; empty: they do.
	unusable string
}

func newSamples(runtime string) samples {
	return samples{runtime: runtime, all: map[lab.Layer]float64{}, native: map[lab.Layer]float64{}}
}

// add adds a sample with its weight. native says that it was in native code.
func (s *samples) add(layer lab.Layer, weight float64, native bool) {
	s.count++
	s.all[layer] += weight
	if native {
		s.native[layer] += weight
	}
}

// join adds the samples of another process. Weights of different runtimes cannot be added.
func (s *samples) join(other samples) {
	if s.runtime != other.runtime {
		s.unusable = fmt.Sprintf("its programs run in two runtimes, %s and %s, whose samples cannot be added",
			s.runtime, other.runtime)
	}
	s.count += other.count
	for layer, weight := range other.all {
		s.all[layer] += weight
		s.native[layer] += other.native[layer]
	}
}

// read returns the samples of a profile between began and ended. The extension of file tells the runtime. own
// lists the packages of the application (lab.Profiling.Own). A profile of Go has no times: it begins and ends
// with the load.
func read(file string, data []byte, own []string, began, ended time.Time) (samples, error) {
	switch {
	case strings.HasSuffix(file, endJava):
		return readJava(data, own, began, ended)
	case strings.HasSuffix(file, endNode):
		return readNode(data, own, began, ended)
	}
	return readGo(data, own)
}

// readJava reads the samples by CPU time if there are any, because they include native code. Otherwise it
// reads the samples of threads that run Java code.
func readJava(data []byte, own []string, began, ended time.Time) (samples, error) {
	taken, err := jfr.Read(data)
	if err != nil {
		return samples{}, err
	}
	event := jfr.Execution
	rules := javaRules()
	if slices.ContainsFunc(taken, func(s jfr.Sample) bool { return s.Event == jfr.CPUTime }) {
		event = jfr.CPUTime
	}
	s := newSamples(runtimeJava)
	for _, sample := range taken {
		if sample.Event != event || sample.Class == "" || !isWithin(sample.Time, began, ended) {
			continue
		}
		layer, known := layerOf(sample.Class, own, rules)
		if !known {
			layer = unruledLayer(own)
		}
		s.add(layer, 1, sample.Native)
	}
	return s, nil
}

// isWithin reports whether a time lies between two others, or is one of them.
func isWithin(t, began, ended time.Time) bool { return !t.Before(began) && !t.After(ended) }

// v8Profile is a profile of V8's sampler. node.cjs adds Began, the wall clock at its start in
// milliseconds.
type v8Profile struct {
	Nodes []struct {
		ID        int     `json:"id"`
		Children  []int   `json:"children"`
		CallFrame v8Frame `json:"callFrame"`
	} `json:"nodes"`
	Samples    []int     `json:"samples"`
	TimeDeltas []float64 `json:"timeDeltas"` // microseconds
	Began      float64   `json:"began"`
}

// v8Frame is a function. URL is empty for code without a file.
type v8Frame struct {
	Function string `json:"functionName"`
	URL      string `json:"url"`
}

// readNode assigns the time before each sample to the function that was sampled.
func readNode(data []byte, own []string, began, ended time.Time) (samples, error) {
	var p v8Profile
	if err := json.Unmarshal(data, &p); err != nil {
		return samples{}, fmt.Errorf("this is no profile of V8: %w", err)
	}
	if len(p.Samples) != len(p.TimeDeltas) {
		return samples{}, fmt.Errorf("the profile has %d samples and %d times", len(p.Samples), len(p.TimeDeltas))
	}
	parents := map[int]int{}
	frames := map[int]v8Frame{}
	for _, n := range p.Nodes {
		frames[n.ID] = n.CallFrame
		for _, child := range n.Children {
			if child == n.ID || parents[child] != 0 {
				return samples{}, fmt.Errorf("node %d of the profile has two parents", child)
			}
			parents[child] = n.ID
		}
	}
	s := newSamples(runtimeNode)
	rules := nodeRules()
	at := p.Began * 1000 // microseconds
	for i, id := range p.Samples {
		at += p.TimeDeltas[i]
		if frames[id].Function == "(idle)" || p.TimeDeltas[i] <= 0 {
			continue
		}
		if p.Began > 0 && !isWithin(time.UnixMicro(int64(at)), began, ended) {
			continue
		}
		layer, native := layerOfNode(id, frames, parents, own, rules)
		s.add(layer, p.TimeDeltas[i], native)
	}
	return s, nil
}

// layerOfNode returns the layer of a node of the profile. Code without a file (V8's built-in functions,
// native and generated code) gets the layer of its nearest caller that has a file, except the garbage
// collector, V8 itself and JSON. native reports whether the code may have made system calls.
func layerOfNode(
	id int, frames map[int]v8Frame, parents map[int]int, own []string, rules []rule,
) (layer lab.Layer, native bool) {
	leaf := frames[id]
	native = leaf.URL == ""
	switch {
	case leaf.Function == "(garbage collector)":
		return lab.LayerCollector, false
	case leaf.Function == "(program)" || leaf.Function == "(root)":
		return lab.LayerRuntime, true
	case native && (leaf.Function == "parse" || leaf.Function == "stringify"):
		return lab.LayerJSON, false
	}
	for steps := 0; id != 0 && steps <= len(frames); steps++ { // bounded, since the tree is no deeper
		f := frames[id]
		if strings.HasPrefix(f.URL, "node:") || strings.HasPrefix(f.URL, "file:") || strings.HasPrefix(f.URL, "/") {
			return layerOfModule(f.URL, own, rules), native
		}
		id = parents[id]
	}
	return lab.LayerRuntime, native
}

// layerOfModule returns the layer of a file: of its innermost package in node_modules, of a module of
// Node.js, or of the application.
func layerOfModule(url string, own []string, rules []rule) lab.Layer {
	const modules = "/node_modules/"
	name := url
	if i := strings.LastIndex(url, modules); i >= 0 {
		name = url[i+len(modules):]
	} else if !strings.HasPrefix(url, "node:") {
		return lab.LayerApplication
	}
	if layer, known := layerOf(name, own, rules); known {
		return layer
	}
	return lab.LayerLibraries
}

// readGo assigns the CPU time of every sample to the function that ran. For a thread in a system call
// that is the function that made it.
func readGo(data []byte, own []string) (samples, error) {
	p, err := profile.Parse(bytes.NewReader(data))
	if err != nil {
		return samples{}, fmt.Errorf("this is no profile of pprof: %w", err)
	}
	value := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" })
	if value < 0 {
		return samples{}, errors.New("the profile has no samples of CPU time")
	}
	s := newSamples(runtimeGo)
	rules := goRules()
	for _, sample := range p.Sample {
		names := functions(sample)
		if len(names) == 0 || sample.Value[value] < 0 {
			continue
		}
		layer, native := layerOfGo(names, own, rules)
		s.add(layer, float64(sample.Value[value]), native)
		s.count += int(max(0, sample.Value[0]-1)) // the profile merges equal samples and counts them
	}
	return s, nil
}

// sampled returns the samples that were taken from outside of the programs of a role (package sampler).
func sampled(role string, programs []lab.ProgramSamples, own []string) samples {
	s := newSamples(runtimeGo)
	rules := goRules()
	for _, program := range programs {
		if program.Role != role {
			continue
		}
		own := own
		if program.Own != "" { // programs that were built from single files have no module
			own = append([]string{program.Own}, own...)
		}
		for _, stack := range program.Stacks {
			layer, native := lab.LayerLibraries, stack.Kernel // code without a name is in a C library
			if len(stack.Functions) > 0 {
				layer, _ = layerOfGo(stack.Functions, own, rules)
			}
			s.add(layer, float64(stack.Count), native)
			s.count += stack.Count - 1
		}
	}
	return s
}

// functions returns the names of the functions on a stack, the running one first.
func functions(sample *profile.Sample) []string {
	var names []string
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

// layerOfGo returns the layer of a stack of functions, the running one first. If the running function makes
// system calls, native is true, and the layer is the runtime. Otherwise it is the garbage collector if one of
// its functions is on the stack, and else the layer of the running function.
func layerOfGo(names, own []string, rules []rule) (layer lab.Layer, native bool) {
	switch leaf := names[0]; leaf {
	case "internal/runtime/syscall.Syscall6", "internal/runtime/syscall/linux.Syscall6",
		"syscall.rawVforkSyscall", "runtime.futex", "runtime.usleep", "runtime.madvise", "runtime.write1",
		"runtime.read", "runtime.tgkill", "runtime.sysMmap", "runtime.sysMunmap", "runtime.nanosleep",
		"runtime.osyield":
		return lab.LayerRuntime, true
	}
	for _, name := range names {
		switch name {
		case "runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge",
			"runtime.gcStart", "runtime.deductSweepCredit":
			return lab.LayerCollector, false
		}
	}
	if layer, known := layerOf(names[0], own, rules); known {
		return layer, false
	}
	first, _, _ := strings.Cut(names[0], "/")
	if strings.Contains(names[0], "/") && strings.Contains(first, ".") {
		return lab.LayerLibraries, false
	}
	return lab.LayerRuntime, false // it is in the standard library
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// layerTitles holds the names of layers for readers. The others are named as they are.
var layerTitles = map[lab.Layer]string{
	lab.LayerServer: "web server, framework", lab.LayerHTTP: "HTTP", lab.LayerJSON: "JSON, encodings",
	lab.LayerStore: "driver, embedded store", lab.LayerLibraries: "other libraries",
	lab.LayerRuntime: "runtime's own library", lab.LayerCollector: "garbage collector",
	lab.LayerCompiler: "JIT compiler", lab.LayerUnseen: "not profiled",
}

// layersAt returns the profiled variants at a point.
func (v view) layersAt(point string) []lab.LayerShare {
	return filter(v.Layers, func(l lab.LayerShare) bool { return l.Point.Name == point })
}

// profiledPoint returns the point whose layers are shown first.
func (v view) profiledPoint() (string, bool) {
	return shownWhere(v, v.Layers, func(l lab.LayerShare) string { return l.Point.Name })
}

// layersTable shows the CPU time of an operation by layer, with a column for each variant.
func (v view) layersTable(at string) table {
	shown := v.layersAt(at)
	t := table{ID: "layers-" + at, Title: fmt.Sprintf("CPU time of one %s by layer at %s", v.Operation,
		v.at(at)), Keys: 1, Columns: columns{}.text("layer"),
		Note: "shares of profiled trials times the CPU time of timed ones; the kernel's part as the kernel " +
			"counts it; docs/profiling.md; " + v.pathLength()}
	for _, l := range shown {
		t.Columns = t.Columns.number(l.Variant)
	}
	row := func(title string, of func(lab.LayerShare) string) {
		parts := cells(shown, func(l lab.LayerShare) cell { return text(of(l)) })
		t.addMeasured(title, parts)
	}
	for _, layer := range lab.Layers() {
		title := cmp.Or(layerTitles[layer], string(layer))
		row(title, func(l lab.LayerShare) string {
			own, has := find(l.Layers, func(t lab.LayerTime) bool { return t.Layer == layer })
			if !has {
				return ""
			}
			return secondsOf(own.PerOperation, own.Share)
		})
	}
	row("all of it", func(l lab.LayerShare) string { return seconds(l.CPUPerOperation) })
	row("in libraries", libraryText)
	base, _ := find(shown, func(l lab.LayerShare) bool { return l.Variant == v.Baseline && l.Samples > 0 })
	row("in libraries, to "+v.Baseline, func(l lab.LayerShare) string {
		if l.Samples == 0 || base.Libraries <= 0 {
			return ""
		}
		return figure.Multiple(l.Libraries / base.Libraries)
	})
	if v.countsInstructions() {
		row("million instructions", func(l lab.LayerShare) string { return ofCounted(l, l.Instructions/1e6) })
		row("cycles per instruction", func(l lab.LayerShare) string {
			return ofCounted(l, l.Cycles/l.Instructions)
		})
	}
	row("what profiling cost", func(l lab.LayerShare) string {
		if l.Samples == 0 || min(l.CPUPerOperation, l.ProfiledCPUPerOperation) <= 0 {
			return ""
		}
		return fmt.Sprintf("%+.0f %%", 100*(l.ProfiledCPUPerOperation/l.CPUPerOperation-1))
	})
	row("profiler", func(l lab.LayerShare) string {
		if l.Samples == 0 {
			return ""
		}
		return fmt.Sprintf("%s, %d samples", strings.Join(l.Runtimes, ", "), l.Samples)
	})
	return t
}

// countsInstructions reports whether the processor counted the instructions of an operation.
func (v view) countsInstructions() bool {
	return slices.ContainsFunc(v.Layers, func(l lab.LayerShare) bool { return l.Instructions > 0 })
}

// ofCounted formats a value computed from counted instructions, "" if none were counted.
func ofCounted(l lab.LayerShare, value float64) string {
	if l.Instructions == 0 {
		return ""
	}
	return figure.Rounded(value)
}

// pathLength explains how instructions are counted, or why they are not.
func (v view) pathLength() string {
	if v.countsInstructions() {
		return "instructions and cycles of all units, in the kernel too, are those that the processor counted " +
			"in the profiled trials, the profiler's own among them"
	}
	why := "is not measured: CPU time stands in its place"
	if reason := v.Environment["hardware_counters"].Unavailable; reason != "" {
		why = "is not available here, CPU time stands in its place: " + reason
	}
	return "path length (instructions per " + v.Operation + ") " + why
}

// libraryText formats the time in libraries with its share, "" without a profile.
func libraryText(l lab.LayerShare) string {
	if l.Samples == 0 || l.CPUPerOperation <= 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s)", seconds(l.Libraries),
		figure.Percent(l.Libraries/l.CPUPerOperation))
}

// layersSection shows one stacked bar per variant.
func (v view) layersSection() section {
	at, ok := v.profiledPoint()
	if !ok {
		return section{}
	}
	var parts []string
	trials := 0
	for _, l := range v.layersAt(at) {
		trials = max(trials, l.Trials)
		if share := libraryText(l); share != "" {
			parts = append(parts, fmt.Sprintf("%s with %s", share, l.Variant))
		}
	}
	libraries := ""
	if len(parts) > 0 {
		libraries = fmt.Sprintf(" Libraries and runtime take %s.", strings.Join(parts, ", "))
	}
	return section{ID: "layers", Title: "Time by layer",
		Plots: []plot{{ID: "plot-layers", Kind: "layers", Point: at, Label: "Time by layer", Whole: true}},
		Shown: []table{v.layersTable(at)}, Folded: v.otherPoints(at, v.layersTable),
		Caption: fmt.Sprintf("CPU time per %s at %s. Shares come from %d profiled trials, which are compared "+
			"with nothing else; the length of a bar from the trials that were timed without a profiler.%s",
			v.Operation, v.at(at), trials, libraries),
		HowTo: "A sample counts for the code that ran, not for who called it: what JSON costs is in its bar, not " +
			"in the application's. Kernel time is what system calls and page faults took, as the kernel counts it. " +
			"Not profiled are threads and programs that no profiler looks at. " + sentenceCase(v.pathLength()) + "."}
}

// Package profiler tells where the CPU time of a program goes, by layer: the application,
// its libraries, the runtime, garbage collection, the kernel. It turns on the profilers
// that runtimes bring: the Flight Recorder of Java, V8's sampler in Node.js, pprof in units
// of ours in Go.
//
// Samples say how the time of sampled threads is divided; how much time there was, and how
// much of it in the kernel and in threads that nobody samples (compilers, garbage
// collectors), the meter says. A sample counts for the function that ran, not for its
// callers; native code without a name of its own counts for whoever called it.
//
// Entry point: Profiler. The rules are in rules.go, the arithmetic is in divide.go.
package profiler

import (
	_ "embed" // for what is loaded into programs
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/profiler/sampler"
)

//go:embed node.cjs
var nodeScript []byte

//go:embed java.jfc
var javaSettings []byte

// Names of files and folders in the volume of a unit.
const (
	folder     = "profile"
	nodeFile   = "profiler.cjs"
	javaFile   = "profiler.jfc"
	endJava    = ".jfr"
	endNode    = ".cpuprofile"
	endGo      = ".pprof"
	ownProfile = ".profile" + endGo
	// inContainer is the folder of the files in containers, and left the one for the profiles that they leave.
	inContainer = "/cleave-profiler"
	left        = "/cleave-profiles"
	// leftVariable tells a program in Node.js where it leaves its profile.
	leftVariable = "CLEAVE_PROFILES"
)

// Profiler implements lab.Profiler.
type Profiler struct{}

var (
	_ lab.Profiler = Profiler{}
	_ lab.Sampler  = Profiler{}
)

// Sample implements lab.Sampler: programs of others may be in Go.
func (Profiler) Sample(layout lab.Layout) (lab.Sampling, error) {
	if !slices.ContainsFunc(layout.Units, func(u lab.UnitSpec) bool {
		return u.Foreign && u.Server == nil && u.Compose == nil
	}) {
		return nil, nil
	}
	sampling, err := sampler.Start()
	if err != nil {
		return nil, err // and not a sampling that is nil
	}
	return sampling, nil
}

// Instrument implements lab.Profiler. Programs of other runtimes do not read the variables.
func (Profiler) Instrument(layout lab.Layout) lab.Layout {
	layout.Units = slices.Clone(layout.Units)
	for i := range layout.Units {
		unit := &layout.Units[i]
		switch {
		case unit.Own != "" && !unit.Foreign:
			unit.Env = append(slices.Clone(unit.Env), lab.ProfileVariable+"={dir}/"+unit.Name+ownProfile)
		case !unit.Foreign || unit.Server != nil || unit.Compose != nil || unit.Finishes:
		case unit.Container != nil:
			unit.Leaves = folder
			container := *unit.Container
			container.Env = instrumented(container.Env, inContainer, left)
			container.Mounts = append(slices.Clone(container.Mounts),
				lab.ContainerMount{Kind: lab.MountFiles, Target: inContainer, ReadOnly: true,
					Files: map[string]string{nodeFile: string(nodeScript), javaFile: string(javaSettings)}},
				lab.ContainerMount{Kind: lab.MountLeaves, Target: left})
			unit.Container = &container
		default:
			unit.Leaves = folder
			files := map[string][]byte{nodeFile: nodeScript, javaFile: javaSettings, folder + "/": nil}
			maps.Copy(files, unit.Files)
			unit.Files, unit.Env = files, instrumented(unit.Env, "{dir}", "{dir}/"+folder)
		}
	}
	return layout
}

// instrumented returns an environment that turns on the profilers. Their files are in one folder, and they
// leave profiles in another.
func instrumented(env []string, files, profiles string) []string {
	env = withOption(env, "NODE_OPTIONS", "--require="+files+"/"+nodeFile)
	env = withOption(env, "JAVA_TOOL_OPTIONS", "-Xlog:jfr+startup=error -XX:StartFlightRecording=settings="+
		files+"/"+javaFile+",filename="+profiles+",dumponexit=true")
	return append(env, leftVariable+"="+profiles)
}

// withOption adds to a variable of options, which may be set already.
func withOption(env []string, name, option string) []string {
	env = slices.Clone(env)
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	if i < 0 {
		return append(env, name+"="+option)
	}
	env[i] += " " + option
	return env
}

// Package profiler divides the CPU time of a program by layer: the application, its libraries, the
// runtime, garbage collection, the kernel. It turns on the built-in profilers of runtimes: the Flight
// Recorder of Java, V8's sampler in Node.js, and pprof in our own units in Go. Other Go programs are sampled
// from outside (package sampler).
//
// Samples divide the time of the sampled threads. The meter measures that time, and the time that was
// spent in the kernel and in threads that are not sampled (compilers, garbage collectors). A sample
// counts for the function that ran, not for its callers; native code without a name of its own counts for
// its caller.
//
// Entry point: Profiler. The rules are in rules.go, the arithmetic is in divide.go.
package profiler

import (
	_ "embed" // for files that are loaded into programs
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/profiler/counters"
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
	ownProfile = ".profile" + endGo // follows the name of one of our units
	// containerFiles is the folder of these files in a container, containerProfiles the folder of its
	// profiles.
	containerFiles    = "/cleave-profiler"
	containerProfiles = "/cleave-profiles"
	// profilesVariable is the variable with the folder for profiles of Node.js.
	profilesVariable = "CLEAVE_PROFILES"
)

// Profiler implements lab.Profiler.
type Profiler struct{}

var (
	_ lab.Profiler = Profiler{}
	_ lab.Sampler  = Profiler{}
)

// Sample implements lab.Sampler. It samples if there are foreign programs, because they may be written in
// Go.
func (Profiler) Sample(layout lab.Layout) (lab.Sampling, error) {
	if !slices.ContainsFunc(layout.Units, isForeignProgram) {
		return nil, nil
	}
	sampling, err := sampler.Start()
	if err != nil {
		return nil, err // sampling would be an interface that holds a nil pointer
	}
	return sampling, nil
}

// isForeignProgram reports whether a unit is a program of the user's that Cleave itself starts.
func isForeignProgram(u lab.UnitSpec) bool { return u.IsUsersProgram() && u.Compose == nil }

// Count implements lab.Sampler.
func (Profiler) Count(threads []lab.ThreadUse) (lab.Counting, error) {
	counting, err := counters.Start(threads)
	if err != nil {
		return nil, err // counting would be an interface that holds a nil pointer
	}
	return counting, nil
}

// Instrument implements lab.Profiler. A unit of ours in Go gets the variable with the file for its profile.
// Foreign units get the variables of all runtimes, of which each reads its own. Servers, services with
// Compose and jobs that finish before the load are not profiled.
func (Profiler) Instrument(layout lab.Layout) lab.Layout {
	layout.Units = slices.Clone(layout.Units)
	for i := range layout.Units {
		unit := &layout.Units[i]
		switch {
		case unit.Own != "" && !unit.Foreign:
			unit.Env = append(slices.Clone(unit.Env), lab.ProfileVariable+"={dir}/"+unit.Name+ownProfile)
		case !isForeignProgram(*unit) || unit.Finishes: // not profiled
		case unit.Container != nil:
			unit.Leaves = folder
			container := *unit.Container
			container.Env = instrumented(container.Env, containerFiles, containerProfiles)
			container.Mounts = append(slices.Clone(container.Mounts),
				lab.ContainerMount{Kind: lab.MountFiles, Target: containerFiles, ReadOnly: true,
					Files: map[string]string{nodeFile: string(nodeScript), javaFile: string(javaSettings)}},
				lab.ContainerMount{Kind: lab.MountLeaves, Target: containerProfiles})
			unit.Container = &container
		default:
			unit.Leaves = folder
			// The slash makes the last one an empty folder.
			files := map[string][]byte{nodeFile: nodeScript, javaFile: javaSettings, folder + "/": nil}
			maps.Copy(files, unit.Files)
			unit.Files = files
			unit.Env = instrumented(unit.Env, "{dir}", "{dir}/"+folder)
		}
	}
	return layout
}

// instrumented returns an environment that turns on the profilers. files is the folder with their files,
// profiles the folder for their profiles.
func instrumented(env []string, files, profiles string) []string {
	env = withOption(env, "NODE_OPTIONS", "--require="+files+"/"+nodeFile)
	env = withOption(env, "JAVA_TOOL_OPTIONS", "-Xlog:jfr+startup=error -XX:StartFlightRecording=settings="+
		files+"/"+javaFile+",filename="+profiles+",dumponexit=true")
	return append(env, profilesVariable+"="+profiles)
}

// withOption appends an option to a variable of the environment, which may already have others.
func withOption(env []string, name, option string) []string {
	env = slices.Clone(env)
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	if i < 0 {
		return append(env, name+"="+option)
	}
	env[i] += " " + option
	return env
}

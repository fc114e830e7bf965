package profiler

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
)

// Layers implements lab.Profiler.
func (Profiler) Layers(
	layout lab.Layout, about lab.Profiling, seen lab.ProfiledWindow,
) ([]lab.RoleLayers, error) {
	found, err := collect(layout, about, seen)
	if err != nil {
		return nil, err
	}
	var all []lab.RoleLayers
	for _, role := range slices.Sorted(maps.Keys(seen.Metered.Roles)) {
		if role == lab.RoleGenerator || slices.Contains(about.Apart, role) {
			continue
		}
		used := seen.Metered.Roles[role]
		if reason, missing := used.Unavailable["cpu_seconds"]; missing {
			return nil, fmt.Errorf("the CPU time of %s is not known: %s", role, reason)
		}
		s := found[role]
		unsampled := cmp.Or(s.unusable, seen.Unsampled, noSamples)
		// A profile without samples in the window says nothing about the runtime.
		if s.count == 0 || s.unusable != "" {
			s = samples{}
		}
		one := lab.RoleLayers{Role: role, Runtime: s.runtime, Samples: s.count, Uncounted: seen.Uncounted,
			Instructions: seen.Counted[role].Instructions, Cycles: seen.Counted[role].Cycles}
		if s.count == 0 {
			one.Unsampled = unsampled
		}
		one.Seconds = layersOf(s, role, about, seen, used.CPUSeconds)
		all = append(all, one)
	}
	return all, nil
}

// layersOf divides the CPU time of a role by layers. The profile of a program in Java or Node.js does not
// cover programs in Go beside it: these are divided by their own samples.
func layersOf(
	s samples, role string, about lab.Profiling, seen lab.ProfiledWindow, metered float64,
) map[lab.Layer]float64 {
	isBeside := func(t lab.ThreadUse) bool {
		return slices.ContainsFunc(seen.Programs, func(p lab.ProgramSamples) bool {
			return p.Role == role && slices.Contains(p.Threads, t.ID)
		})
	}
	leavesOutGo := s.runtime == runtimeJava || s.runtime == runtimeNode
	var own, beside []lab.ThreadUse
	for _, t := range seen.Threads {
		if leavesOutGo && isBeside(t) {
			beside = append(beside, t)
		} else {
			own = append(own, t)
		}
	}
	ours := threadsOf(s.runtime, role, own)
	theirs := threadsOf(runtimeGo, role, beside)
	if theirs.all() == 0 {
		return divide(s, ours, metered)
	}
	share := theirs.all() / (ours.all() + theirs.all())
	seconds := divide(s, ours, metered*(1-share))
	for layer, more := range divide(sampled(role, seen.Programs, about.Own), theirs, metered*share) {
		seconds[layer] += more
	}
	return seconds
}

// noSamples lists the reasons why a role has no samples, unless the sampler itself could not run.
const noSamples = "its programs are in another language than Java, Node.js or Go, did not end on SIGTERM, " +
	"or used hardly any CPU time during the load (see docs/profiling.md)"

// collect reads the profiles of all units, by role. It leaves out profiles without samples in the window,
// such as those of programs that ended before the load.
func collect(layout lab.Layout, about lab.Profiling, seen lab.ProfiledWindow) (map[string]samples, error) {
	found := map[string]samples{}
	files, err := os.ReadDir(seen.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // there is no folder if no unit left a file
		return nil, fmt.Errorf("find the profiles of the units: %w", err)
	}
	for _, file := range files {
		unit := ownerOf(file.Name(), layout.Units)
		if unit == nil {
			continue
		}
		var data []byte
		err := errors.New("it is no regular file") // a link may lead out of the folder
		if file.Type().IsRegular() {
			data, err = inputfile.Read(filepath.Join(seen.Dir, file.Name()), maxProfile)
		}
		var one samples
		if err == nil {
			one, err = read(file.Name(), data, about.Own, seen.Began, seen.Ended)
		}
		if err != nil {
			return nil, fmt.Errorf("the profile %s of unit %s: %w", file.Name(), unit.Name, err)
		}
		if one.count == 0 {
			continue
		}
		all, begun := found[unit.Role]
		if !begun {
			all = newSamples(one.runtime)
		}
		all.join(one)
		found[unit.Role] = all
	}
	for _, program := range seen.Programs {
		if _, has := found[program.Role]; has {
			continue // it has the profile of its runtime, which is more detailed, or was added for another program
		}
		found[program.Role] = sampled(program.Role, seen.Programs, about.Own)
	}
	return found, nil
}

// ownerOf returns the unit that left a profile, or nil if the file is no profile. The file's name begins
// with the name of its unit and a dot. Names of units may contain dots, too, so the longest name that
// fits counts.
func ownerOf(file string, units []lab.UnitSpec) *lab.UnitSpec {
	if !slices.Contains([]string{endJava, endNode, endGo}, filepath.Ext(file)) {
		return nil
	}
	var owner *lab.UnitSpec
	for i := range units {
		unit := &units[i]
		isForeign := unit.Foreign && strings.HasPrefix(file, unit.Name+".")
		if !isForeign && file != unit.Name+ownProfile {
			continue
		}
		if owner == nil || len(unit.Name) > len(owner.Name) {
			owner = unit
		}
	}
	return owner
}

// maxProfile is the largest profile that is read, in bytes.
const maxProfile = 256 << 20

// threads holds the CPU time of the threads of a role, in seconds.
type threads struct {
	user, system float64               // of the threads that the profiler samples
	others       map[lab.Layer]float64 // of those that it does not sample, by layer
	profiler     float64               // of the profiler's own threads
}

// all returns the CPU time of all threads, in seconds.
func (t threads) all() float64 {
	sum := t.user + t.system + t.profiler
	for _, seconds := range t.others {
		sum += seconds
	}
	return sum
}

// threadsOf adds up the CPU time of the threads of a role. It recognizes the JVM's own threads by their
// names. The sampler of Node.js samples the first thread of a process only; Go samples all threads.
func threadsOf(runtime, role string, all []lab.ThreadUse) threads {
	t := threads{others: map[lab.Layer]float64{}}
	for _, thread := range all {
		if thread.Role != role {
			continue
		}
		profiles := false
		layer := lab.Layer("")
		switch runtime {
		case runtimeJava:
			profiles = strings.HasPrefix(thread.Name, "JFR ")
			layer = layerOfThread(thread.Name)
		case runtimeNode:
			profiles = strings.HasPrefix(thread.Name, "v8:Prof")
			if !thread.First {
				layer = lab.LayerUnseen
			}
		}
		switch whole := thread.UserSeconds + thread.SystemSeconds; {
		case profiles:
			t.profiler += whole
		case layer != "":
			t.others[layer] += whole
		default:
			t.user += thread.UserSeconds
			t.system += thread.SystemSeconds
		}
	}
	return t
}

// layerOfThread returns the layer of one of the JVM's own threads, or "" for a thread that runs Java. The
// kernel keeps the first 15 characters of a name. Unlike in layerOf, any character may follow a prefix.
func layerOfThread(name string) lab.Layer {
	for _, r := range []rule{
		{lab.LayerCompiler, []string{"C1 ", "C2 ", "JVMCI"}},
		{lab.LayerCollector, []string{"GC ", "G1 ", "VM Thread", "ParGC ", "Shenandoah ", "ZWorker", "ZDriver",
			"ZDirector", "ZStat", "ZUncommitter", "ZUnmapper"}},
		{lab.LayerUnseen, []string{"VM Periodic", "Signal Dispatch", "Service Thread", "Monitor Deflat",
			"Sweeper thread"}},
	} {
		if slices.ContainsFunc(r.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return r.layer
		}
	}
	return ""
}

// divide divides the CPU time of a role, as the meter saw it, by layers. The time in the kernel is the one
// that the kernel counted. It is taken off the samples in native code, the only ones that can have been in
// the kernel. The samples that remain divide the user time of the sampled threads. The time of the profiler's
// own threads is left out, so the sum of the layers may be less than the metered time.
func divide(s samples, t threads, metered float64) map[lab.Layer]float64 {
	seconds := map[lab.Layer]float64{}
	maps.Copy(seconds, t.others)
	if t.system > 0 {
		seconds[lab.LayerKernel] = t.system
	}
	var weights, native float64
	for layer, weight := range s.all {
		weights += weight
		native += s.native[layer]
	}
	inKernel := 0.0 // share of the samples in native code that were in the kernel
	if native > 0 && t.user+t.system > 0 {
		inKernel = min(1, t.system/(t.user+t.system)*weights/native)
	}
	rest := weights - inKernel*native
	for layer, weight := range s.all {
		if rest > 0 {
			seconds[layer] += t.user * (weight - inKernel*s.native[layer]) / rest
		}
	}
	if rest <= 0 { // nothing was sampled, or all of it was in the kernel
		seconds[lab.LayerUnseen] += t.user
	}
	var known float64
	for _, value := range seconds {
		known += value
	}
	if known <= 0 {
		return map[lab.Layer]float64{lab.LayerUnseen: metered}
	}
	// Nothing is known about threads that have ended: their time is divided like that of the others.
	for layer := range seconds {
		seconds[layer] *= metered / (known + t.profiler)
	}
	return seconds
}

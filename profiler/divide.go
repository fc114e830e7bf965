package profiler

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
		one := lab.RoleLayers{Role: role}
		if s := found[role]; s.count > 0 {
			one.Runtime, one.Samples = s.runtime, s.count
		} else {
			found[role], one.Unsampled = samples{}, cmp.Or(seen.Unsampled, unknown)
		}
		one.Seconds = divide(found[role], threadsOf(one.Runtime, role, seen.Threads), used.CPUSeconds)
		all = append(all, one)
	}
	return all, nil
}

// unknown is the reason for a role without samples if all running programs were looked at.
const unknown = "its programs are not of Java, Node.js or Go, or ended before they left a profile"

// collect reads the profiles of all units, by role.
func collect(layout lab.Layout, about lab.Profiling, seen lab.ProfiledWindow) (map[string]samples, error) {
	found := map[string]samples{}
	for _, unit := range layout.Units {
		pattern := unit.Name + ".*"
		if !unit.Foreign {
			pattern = unit.Name + ownProfile
		}
		paths, err := filepath.Glob(filepath.Join(seen.Dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("find the profiles of unit %s: %w", unit.Name, err)
		}
		for _, path := range paths {
			if !slices.Contains([]string{endJava, endNode, endGo}, filepath.Ext(path)) {
				continue
			}
			data, err := readFile(path)
			if err != nil {
				return nil, fmt.Errorf("the profile of unit %s: %w", unit.Name, err)
			}
			one, err := read(path, data, about.Own, seen.Began, seen.Ended)
			if err != nil {
				return nil, fmt.Errorf("the profile %s of unit %s: %w", filepath.Base(path), unit.Name, err)
			}
			all, begun := found[unit.Role]
			if !begun {
				all = newSamples(one.runtime)
			}
			all.join(one)
			found[unit.Role] = all
		}
	}
	for _, program := range seen.Programs {
		if _, has := found[program.Role]; has {
			continue // a runtime knows better
		}
		found[program.Role] = sampled(program.Role, seen.Programs, about.Own)
	}
	return found, nil
}

// maxProfile is the largest profile that is read, in bytes.
const maxProfile = 256 << 20

// readFile reads a file that a unit has left, which may be anything.
func readFile(path string) (data []byte, err error) {
	about, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !about.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case about.Size() > maxProfile:
		return nil, fmt.Errorf("it has %d bytes, at most %d are read: shorten the load", about.Size(), maxProfile)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return io.ReadAll(io.LimitReader(file, maxProfile))
}

// threads hold the use of the threads of a role, in seconds: those that are sampled, and the
// others by their layer. The profiler's own are in neither.
type threads struct {
	user, system float64
	others       map[lab.Layer]float64
	profiler     float64
}

// threadsOf tells the threads of a role apart. Those of a JVM have names; of Node.js the
// first thread of a process is sampled; Go samples all.
func threadsOf(runtime, role string, all []lab.ThreadUse) threads {
	t := threads{others: map[lab.Layer]float64{}}
	for _, thread := range all {
		if thread.Role != role {
			continue
		}
		whole := thread.UserSeconds + thread.SystemSeconds
		layer := lab.Layer("")
		switch runtime {
		case runtimeJava:
			if strings.HasPrefix(thread.Name, "JFR ") {
				t.profiler += whole
				continue
			}
			layer = layerOfThread(thread.Name)
		case runtimeNode:
			if strings.HasPrefix(thread.Name, "v8:Prof") {
				t.profiler += whole
				continue
			}
			if !thread.First {
				layer = lab.LayerUnseen
			}
		}
		if layer != "" {
			t.others[layer] += whole
			continue
		}
		t.user, t.system = t.user+thread.UserSeconds, t.system+thread.SystemSeconds
	}
	return t
}

// layerOfThread knows the JVM's own threads by their names, which the kernel cuts off
// after 15 characters; "" for threads that run Java.
func layerOfThread(name string) lab.Layer {
	layer, _ := layerOf(name, nil, []rule{
		{lab.LayerCompiler, []string{"C1 ", "C2 ", "JVMCI"}},
		{lab.LayerCollector, []string{"GC ", "G1 ", "VM Thread", "ParGC ", "Shenandoah ", "Z"}},
		{lab.LayerUnseen, []string{"VM Periodic", "Signal Dispatch", "Service Thread", "Monitor Deflat",
			"Sweeper thread"}},
	})
	return layer
}

// divide divides the CPU time of a role, which the meter saw, by layers. The kernel's part
// is as the kernel counts it, and is taken from what samples saw of native code; the rest
// of the sampled threads' time goes as the samples do.
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
	inKernel := 0.0 // the share of native code's samples
	if native > 0 && t.user+t.system > 0 {
		inKernel = min(1, t.system/(t.user+t.system)*weights/native)
	}
	rest := weights - inKernel*native
	for layer, weight := range s.all {
		if rest > 0 {
			seconds[layer] += t.user * (weight - inKernel*s.native[layer]) / rest
		}
	}
	if rest <= 0 { // all that was sampled was in the kernel
		seconds[lab.LayerUnseen] += t.user
	}
	var known float64
	for _, value := range seconds {
		known += value
	}
	if known <= 0 {
		return map[lab.Layer]float64{lab.LayerUnseen: metered}
	}
	// Threads that have ended are not told apart: they are taken to have been as the others.
	for layer := range seconds {
		seconds[layer] *= metered / (known + t.profiler)
	}
	return seconds
}

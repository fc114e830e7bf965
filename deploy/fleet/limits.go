package fleet

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// The lowest limits of a unit: below them the kernel or Docker refuses, or no program starts.
const (
	leastCPU    = 0.01    // processors
	leastMemory = 6 << 20 // bytes
)

// CheckLimits returns an error for limits that this host cannot enforce.
func CheckLimits(units []lab.UnitSpec) error {
	var host unix.Sysinfo_t
	if err := unix.Sysinfo(&host); err != nil {
		return fmt.Errorf("read this host's memory: %w", err)
	}
	memory := int64(host.Totalram) * int64(host.Unit)
	var problems []error
	for _, unit := range units {
		cpu := unit.Limits.CPU
		isAllowed := cpu >= leastCPU && cpu <= float64(runtime.NumCPU()) // false for NaN
		if cpu != 0 && !isAllowed {
			problems = append(problems,
				fmt.Errorf("unit %s cannot be limited to %g processors: this host can do %g to %d",
					unit.Name, cpu, leastCPU, runtime.NumCPU()))
		}
		bytes := unit.Limits.Memory
		isAllowed = bytes >= leastMemory && bytes <= memory
		if bytes != 0 && !isAllowed {
			problems = append(problems,
				fmt.Errorf("unit %s cannot be limited to %d bytes of memory: this host can do %d MiB to %d MiB",
					unit.Name, bytes, leastMemory>>20, memory>>20))
		}
	}
	return errors.Join(problems...)
}

// OutOfMemory returns the message for a unit that the kernel killed because memory ran out.
func OutOfMemory(spec lab.UnitSpec) string {
	if spec.Limits.Memory == 0 {
		return "its host ran out of memory, and the kernel killed it: give it a larger host, or less load"
	}
	return fmt.Sprintf("it needed more memory than its limit of %d MiB: raise the limit, or give it less load",
		spec.Limits.Memory>>20)
}

// HowEnded returns the error with which a container ended, by its exit status; nil for status 0. If the
// status is unknown, err says why, and HowEnded returns it.
func HowEnded(spec lab.UnitSpec, code int, outOfMemory bool, err error) error {
	switch {
	case err != nil || code == 0:
		return err
	case outOfMemory:
		return errors.New(OutOfMemory(spec))
	}
	return fmt.Errorf("exit status %d", code)
}

// CheckUnpublished refuses units that peers call at ports that nodes publish (lab.ReachPublished). It is for
// platforms that publish no ports.
func CheckUnpublished(units []lab.UnitSpec) error {
	var problems []error
	for _, spec := range units {
		if spec.Reached == lab.ReachPublished {
			problems = append(problems,
				&lab.Incapable{Why: fmt.Sprintf("unit %s shall be called at a port that its node publishes, "+
					"and nodes publish no ports here: deploy it with docker-bridge or a private swarm", spec.Name)})
		}
	}
	return errors.Join(problems...)
}

// ImageRefused returns the error for a unit that is a container of an image of this host's Docker. It is for
// platforms that cannot run such a container.
func ImageRefused(spec lab.UnitSpec) error {
	return &lab.Incapable{Why: fmt.Sprintf("unit %s is a container of the image %s, of this host's Docker: "+
		"deploy it with docker-bridge, docker-host, or on the private swarm or Kubernetes", spec.Name, spec.Image)}
}

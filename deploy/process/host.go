package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// threadsPerUnit is roughly the number of threads that the Go runtime starts in a unit.
	threadsPerUnit = 8
	// memoryPerUnit is roughly the memory of a unit, in bytes.
	memoryPerUnit = 8 << 20
	// The conductor has an end of three pipes and a pidfd open for every unit, and some other files.
	descriptorsPerUnit, conductorDescriptors = 4, 64
)

// Preflight implements lab.Deployer: it compares what the layout needs with the
// limits of this host.
func (d *Deployer) Preflight(_ context.Context, layout lab.Layout) error {
	units := len(layout.Units)
	problems := []error{
		CheckDescriptors(max(layout.Descriptors, conductorDescriptors+units*descriptorsPerUnit)),
		checkProcesses(units), CheckMemory(units, memoryPerUnit, layout.SharedMemory),
		fleet.CheckLimits(layout.Units), fleet.CheckUnpublished(layout.Units), volume.CheckFaults(layout.Units),
		checkNodes(layout), links.Check(layout.Links, layout.Units),
	}
	if layout.OnReplicatedDisk() {
		problems = append(problems, gluster.Missing())
	}
	for _, spec := range slices.Concat(layout.Prepare, layout.Units) {
		problems = append(problems, cgroup.Missing(cgroup.Root, spec.Limits))
		if spec.Image != "" {
			problems = append(problems, fleet.ImageRefused(spec))
		}
		if !spec.Foreign || spec.Compose != nil || spec.Program == "" {
			continue
		}
		_, err := findProgram(spec.Program, spec.Dir)
		if err != nil && spec.Install != "" {
			err = spec.ProgramMissing()
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// CheckDescriptors refuses more open files than a process may have here.
func CheckDescriptors(needed int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Max < uint64(needed) {
		return fmt.Errorf("a process may open %d files here, %d are needed: raise it with: ulimit -Hn %d",
			limit.Max, needed, needed)
	}
	return nil
}

// checkProcesses refuses more units than the user, or this host, can have threads for.
func checkProcesses(units int) error {
	needed := uint64(units * threadsPerUnit)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return fmt.Errorf("read the limit of processes: %w", err)
	}
	if os.Geteuid() != 0 && limit.Cur < needed {
		return fmt.Errorf("a user may run %d threads here, about %d are needed: raise it with: ulimit -u %d",
			limit.Cur, needed, needed)
	}
	return CheckNumbers(needed)
}

// CheckNumbers refuses more threads than this host has process numbers for.
func CheckNumbers(threads uint64) error {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil // the limit is unknown
	}
	pids, err := proc.SysctlInts("kernel.pid_max")
	if err == nil && uint64(pids[0]) < threads {
		return fmt.Errorf("this host has %d process numbers, about %d are needed: raise it with: sysctl "+
			"kernel.pid_max=%d", pids[0], threads, 4*threads)
	}
	return nil
}

// CheckMemory refuses units if the memory of each and the memory that they share add up to more bytes than
// are free.
func CheckMemory(units int, each, shared int64) error {
	needed := int64(units)*each + shared
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil // the free memory is unknown
	}
	memory, err := proc.Meminfo()
	free := memory.MemAvailableBytes
	if err != nil || free == nil {
		return nil
	}
	if *free < uint64(needed) {
		return fmt.Errorf("%d units need about %d MiB of memory, %d MiB are free: end other programs or choose "+
			"fewer workers", units, needed>>20, *free>>20)
	}
	return nil
}

// assignEndpoints returns the endpoints of every unit that listens, one for each of its
// ports, and the reservation of these ports, which the caller closes. The ports are free
// ports of loopback, also for units on nodes, which have other addresses. They rise in the
// order of the layout, from a random start. All units that share a floating address listen
// at the port of the first of them, which is also the port of that address.
func assignEndpoints(layout lab.Layout, network *hosts.Set) (map[string]lab.Endpoint, *launch.Ports, error) {
	var names []string
	var listeners []lab.UnitSpec // in the order of names
	for _, spec := range layout.Units {
		for _, name := range spec.Endpoints() {
			names = append(names, name)
			listeners = append(listeners, spec)
		}
	}
	ports, err := launch.ReservePorts(len(names))
	if err != nil {
		return nil, nil, err
	}
	endpoints := map[string]lab.Endpoint{}
	floating := 0
	for n, name := range names {
		spec := listeners[n]
		port := strconv.Itoa(ports.Numbers[n])
		if spec.Floats != "" && name == spec.Name { // the unit's further ports are not shared
			if shared, exists := endpoints[spec.Floats]; exists {
				_, port, _ = net.SplitHostPort(shared.Dial) // made below, so it is valid
			} else {
				address := net.JoinHostPort(network.Floating(floating), port)
				floating++
				endpoints[spec.Floats] = lab.Endpoint{Bind: address, Dial: address}
			}
		}
		address := net.JoinHostPort(addressOf(network, spec.Node), port)
		endpoints[name] = lab.Endpoint{Bind: address, Dial: address}
		if spec.IsUsersProgram() {
			ports.Release(n) // the program may use the port over UDP, too
		}
	}
	return endpoints, ports, nil
}

// sharedMemory returns an anonymous file of the given size that units inherit;
// nil for size 0. It has no name, so that it cannot be left behind.
func sharedMemory(size int64) (*os.File, error) {
	if size == 0 {
		return nil, nil
	}
	descriptor, err := unix.MemfdCreate("cleave", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create shared memory: %w", err)
	}
	file := os.NewFile(uintptr(descriptor), "cleave shared memory")
	if err := syscall.Ftruncate(descriptor, size); err != nil {
		return nil, errors.Join(fmt.Errorf("create %d bytes of shared memory: %w", size, err), file.Close())
	}
	return file, nil
}

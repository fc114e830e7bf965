// Package cgroup limits the resources of processes of this host by control groups, of version 1
// or 2, whichever this host has. Their names contain the conductor's label, so that the groups of
// a killed conductor are found.
//
// Source: Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of the Linux kernel.
//
// Entry points: Make, Group.Add, Group.Remove; MakeHost; Missing; RemoveTrial, RemoveConductor and All for
// leftovers.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Root is the folder in which the kernel shows control groups.
const Root = "/sys/fs/cgroup"

// prefix begins the name of every group that is ours.
const prefix = "cleave-"

// period is the time over which the kernel enforces a quota of processor time.
const period = 100 * time.Millisecond

// Group is a control group; in version 1 a folder per limited resource.
type Group struct {
	cpu, memory string // folders; the same in version 2, "" where not limited
	unified     bool
}

// unified reports whether root has version 2 with at least one controller. On a host with both versions the
// controllers are those of version 1.
func unified(root string) bool {
	text, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	return err == nil && len(strings.Fields(string(text))) > 0
}

// Missing returns why limits cannot be set here; nil if they can. It tries to make a group.
func Missing(root string, limits lab.Limits) error {
	var problems []error
	try := func(wanted bool, what, folder string) {
		if !wanted {
			return
		}
		if err := os.Mkdir(filepath.Join(root, folder, prefix+"probe"), 0o755); err != nil &&
			!errors.Is(err, fs.ErrExist) {
			problems = append(problems, fmt.Errorf("processes cannot be limited in %s here: %w: run as root on a "+
				"host with control groups, or deploy with Docker", what, err))
			return
		}
		_ = os.Remove(filepath.Join(root, folder, prefix+"probe")) // another conductor may have removed it
	}
	if unified(root) {
		try(limits != (lab.Limits{}), "processors and memory", "")
	} else {
		try(limits.CPU > 0, "processors", "cpu")
		try(limits.Memory > 0, "memory", "memory")
	}
	return errors.Join(problems...)
}

// Make makes a group with limits for a unit of a trial. label is that of the conductor.
func Make(root, label, trial, unit string, limits lab.Limits) (_ *Group, err error) {
	folder := nameOf(label, trial, unit)
	g := &Group{unified: unified(root)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("limit unit %s to %s: %w", unit, limits, err), g.Remove())
		}
	}()
	micros := period.Microseconds()
	quota := strconv.FormatInt(int64(limits.CPU*float64(micros)), 10)
	per := strconv.FormatInt(micros, 10)
	bytes := strconv.FormatInt(limits.Memory, 10)
	if g.unified {
		g.cpu = filepath.Join(root, folder)
		g.memory = g.cpu
		err = write(root, "cgroup.subtree_control", "+cpu +memory")
	} else {
		if limits.CPU > 0 {
			g.cpu = filepath.Join(root, "cpu", folder)
		}
		if limits.Memory > 0 {
			g.memory = filepath.Join(root, "memory", folder)
		}
	}
	for _, made := range g.Folders() {
		if err == nil {
			err = os.Mkdir(made, 0o755)
		}
	}
	switch {
	case err != nil || limits.CPU == 0:
	case g.unified:
		err = write(g.cpu, "cpu.max", quota+" "+per)
	default:
		err = errors.Join(write(g.cpu, "cpu.cfs_period_us", per), write(g.cpu, "cpu.cfs_quota_us", quota))
	}
	switch {
	case err != nil || limits.Memory == 0:
	case g.unified:
		err = errors.Join(write(g.memory, "memory.max", bytes), writeOptional(g.memory, "memory.swap.max", "0"))
	default: // in this order: the limit of memory and swap must not be below that of memory
		err = errors.Join(write(g.memory, "memory.limit_in_bytes", bytes),
			writeOptional(g.memory, "memory.memsw.limit_in_bytes", bytes))
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// MakeHost makes a group that limits nothing, in all controllers of this host, for a container engine that
// makes the groups of its containers in it. It returns its path below every controller.
func MakeHost(root, label, host string) (path string, err error) {
	name := nameOf(label, "host", host)
	if unified(root) {
		return "/" + name, os.Mkdir(filepath.Join(root, name), 0o755)
	}
	controllers, err := filepath.Glob(filepath.Join(root, "*/cgroup.procs"))
	for _, controller := range controllers {
		folder := filepath.Join(filepath.Dir(controller), name)
		// A controller may be a link to another one's folder, in which the group was made already.
		if made := os.Mkdir(folder, 0o755); made != nil && !errors.Is(made, fs.ErrExist) {
			err = errors.Join(err, made)
		}
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} { // a new group has no processors
		text, read := os.ReadFile(filepath.Join(root, "cpuset", file))
		if read == nil {
			read = write(filepath.Join(root, "cpuset", name), file, string(text))
		}
		err = errors.Join(err, read)
	}
	return "/" + name, err
}

// nameOf returns the name of a group's folder.
func nameOf(label, trial, unit string) string { return prefix + label + "-" + trial + "-" + unit }

// write writes a text to a file of a group.
func write(folder, file, text string) error {
	return os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644)
}

// writeOptional writes to a file that a kernel without accounting of swap lacks, and returns nil on such a
// kernel. It looks for the file, since the error of the write, which cannot make the file, differs by kernel.
func writeOptional(folder, file, text string) error {
	err := write(folder, file, text)
	if _, missing := os.Stat(filepath.Join(folder, file)); errors.Is(missing, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Folders returns the folders of the group: one in version 2, one for each limited resource in version 1.
func (g *Group) Folders() []string {
	return slices.DeleteFunc(slices.Compact([]string{g.cpu, g.memory}), func(f string) bool { return f == "" })
}

// Add puts a process into the group. Processes that it starts later are in the group, too.
func (g *Group) Add(pid int) error {
	var problems []error
	for _, folder := range g.Folders() {
		problems = append(problems, write(folder, "cgroup.procs", strconv.Itoa(pid)))
	}
	return errors.Join(problems...)
}

// OutOfMemory reports whether the kernel has killed a process of the group at its limit of
// memory. It reports false once the group is removed.
func (g *Group) OutOfMemory() bool {
	if g.memory == "" {
		return false
	}
	file := "memory.oom_control"
	if g.unified {
		file = "memory.events"
	}
	text, _ := os.ReadFile(filepath.Join(g.memory, file)) // the group may be removed
	killed := valueOf(text, "oom_kill")
	return killed != "" && killed != "0"
}

// valueOf returns the last word of the line that begins with a key; "" if there is no such line.
func valueOf(text []byte, key string) string {
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == key {
			return words[len(words)-1]
		}
	}
	return ""
}

// Remove removes the group, whose processes have ended.
func (g *Group) Remove() error {
	var problems []error
	for _, folder := range g.Folders() {
		problems = append(problems, Remove(folder))
	}
	return errors.Join(problems...)
}

// emptyPatience bounds how long the kernel may take to remove an ended process from its group.
const emptyPatience = 2 * time.Second

// Remove removes a folder of a group with the groups in it, which container engines make. It returns nil if
// the folder is already gone.
func Remove(folder string) error {
	for deadline := time.Now().Add(emptyPatience); ; time.Sleep(2 * time.Millisecond) {
		below, _ := filepath.Glob(filepath.Join(folder, "*/cgroup.procs")) // the pattern is well formed
		var err error
		for _, procs := range below {
			err = errors.Join(err, Remove(filepath.Dir(procs)))
		}
		if err == nil {
			err = os.Remove(folder)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove the control group %s: %w", folder, err)
		}
	}
}

// Folder is a folder of one of our groups. Label is that of its conductor.
type Folder struct{ Path, Label string }

// All returns the folders of all groups that conductors have made.
func All(root string) []Folder {
	var all []Folder
	// version 2 has them in the root, version 1 in a folder for every controller
	for _, pattern := range []string{prefix + "*", "*/" + prefix + "*"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern)) // the patterns are well formed
		for _, path := range found {
			words := strings.SplitN(strings.TrimPrefix(filepath.Base(path), prefix), "-", labelWords+1)
			if len(words) == labelWords+1 {
				all = append(all, Folder{path, strings.Join(words[:labelWords], "-")})
			}
		}
	}
	return all
}

// labelWords is the number of words, separated by hyphens, of a label, which is a launch.ID.
const labelWords = 3

// RemoveTrial removes the groups of a trial, whose units have ended. With the trial "host-PREFIX" it removes
// the groups that MakeHost has made for hosts named PREFIX-....
func RemoveTrial(root, label, trial string) error {
	begin := nameOf(label, trial, "")
	return removeNamed(root, func(group string) bool { return strings.HasPrefix(group, begin) })
}

// RemoveConductor removes all groups of a conductor, whose processes have ended.
func RemoveConductor(root, label string) error {
	return removeNamed(root, func(group string) bool { return strings.HasPrefix(group, prefix+label+"-") })
}

// RemoveHost removes the group that MakeHost has made for a host.
func RemoveHost(root, label, host string) error {
	name := nameOf(label, "host", host)
	return removeNamed(root, func(group string) bool { return group == name })
}

// removeNamed removes the groups for whose name the function returns true.
func removeNamed(root string, isWanted func(name string) bool) error {
	var problems []error
	for _, folder := range All(root) {
		if isWanted(filepath.Base(folder.Path)) {
			problems = append(problems, Remove(folder.Path))
		}
	}
	return errors.Join(problems...)
}

// First returns the number, on this host, of the process in a group that is the first of its PID namespace,
// as the first process of a container is; 0 if there is none. path is the path of the group below every
// controller.
func First(root, path string) int {
	files, _ := filepath.Glob(filepath.Join(root, "*", path, "cgroup.procs")) // its pattern is well formed
	if unified(root) {
		files = []string{filepath.Join(root, path, "cgroup.procs")}
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // the group may be removed
		for _, number := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(number)
			status, _ := os.ReadFile(filepath.Join("/proc", number, "status")) // the process may have ended
			// NSpid lists its numbers in all PID namespaces, the innermost last
			if err == nil && valueOf(status, "NSpid:") == "1" {
				return pid
			}
		}
	}
	return 0
}

// CPU returns the processor time of all processes of a group, also of those that have ended. path is the
// path of the group below every controller.
func CPU(root, path string) (time.Duration, error) {
	isUnified := unified(root)
	file := filepath.Join(root, "cpuacct", path, "cpuacct.usage")
	unit := time.Nanosecond
	if isUnified {
		file = filepath.Join(root, path, "cpu.stat")
		unit = time.Microsecond
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	used := strings.TrimSpace(string(text))
	if isUnified {
		used = valueOf(text, "usage_usec")
	}
	n, err := strconv.ParseInt(used, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the control group %s does not tell its processor time: %w", path, err)
	}
	return time.Duration(n) * unit, nil
}

// Bind binds all processes of a group to processors, such as "0,2-3". path is the path of the group below
// every controller.
func Bind(root, path, processors string) error {
	if !unified(root) {
		root = filepath.Join(root, "cpuset")
	}
	return write(filepath.Join(root, path), "cpuset.cpus", processors)
}

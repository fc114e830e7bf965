// Package cgroup limits what processes of this host use, by control groups of version 1
// or 2, as this host has them. Their names have the conductor's label, so that what a
// killed one leaves is found.
//
// Source: Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of the Linux kernel.
//
// Entry points: Make, Group.Add, Group.Remove; MakeHost; Missing; RemoveTrial, RemoveConductor, All for what
// was left.
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

// period is the time over which the kernel shares out processors.
const period = 100 * time.Millisecond

// Group is a control group; in version 1 a folder per limited resource.
type Group struct {
	cpu, memory string // folders; the same in version 2, "" where not limited
	unified     bool
}

// unified reports whether the host has version 2 with its controllers.
func unified(root string) bool {
	text, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	return err == nil && len(strings.Fields(string(text))) > 0
}

// Missing returns why limits cannot be set here, or nil.
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
		_ = os.Remove(filepath.Join(root, folder, prefix+"probe")) // the next one removes it, too
	}
	if unified(root) {
		try(limits != (lab.Limits{}), "processors and memory", "")
	} else {
		try(limits.CPU > 0, "processors", "cpu")
		try(limits.Memory > 0, "memory", "memory")
	}
	return errors.Join(problems...)
}

// Make makes a group for a unit of a trial. label is that of the conductor.
func Make(root, label, trial, unit string, limits lab.Limits) (_ *Group, err error) {
	folder := nameOf(label, trial, unit)
	g := &Group{unified: unified(root)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("limit unit %s to %s: %w", unit, limits, err), g.Remove())
		}
	}()
	quota := strconv.FormatInt(int64(limits.CPU*float64(period.Microseconds())), 10)
	per := strconv.FormatInt(period.Microseconds(), 10)
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
	default: // in this order: the second is not below the first
		err = errors.Join(write(g.memory, "memory.limit_in_bytes", bytes),
			writeOptional(g.memory, "memory.memsw.limit_in_bytes", bytes))
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

func write(folder, file, text string) error {
	return os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644)
}

// writeOptional writes to a file that a kernel which does not count what is swapped out lacks. Such a kernel
// says that the file may not be made.
func writeOptional(folder, file, text string) error {
	err := write(folder, file, text)
	if _, missing := os.Stat(filepath.Join(folder, file)); errors.Is(missing, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Folders returns the folders of the group.
func (g *Group) Folders() []string {
	return slices.DeleteFunc(slices.Compact([]string{g.cpu, g.memory}), func(f string) bool { return f == "" })
}

// Add puts a process into the group. What it starts from now on is in the group, too.
func (g *Group) Add(pid int) error {
	var problems []error
	for _, folder := range g.Folders() {
		problems = append(problems, write(folder, "cgroup.procs", strconv.Itoa(pid)))
	}
	return errors.Join(problems...)
}

// OutOfMemory reports whether the kernel has killed a process of the group because the
// memory was not enough.
func (g *Group) OutOfMemory() bool {
	file := "memory.oom_control"
	if g.unified {
		file = "memory.events"
	}
	killed := lastWord(filepath.Join(g.memory, file), "oom_kill")
	return g.memory != "" && killed != "" && killed != "0"
}

// lastWord returns the last word of the line of a file that begins with another one; "": there is none.
func lastWord(path, first string) string {
	text, _ := os.ReadFile(path) // it may be gone
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == first {
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

// emptyPatience is how long the kernel may take to remove an ended process from its group.
const emptyPatience = 2 * time.Second

// Remove removes a folder of a group, with the groups that others have made in it. It returns nil if the
// folder is gone.
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

// Folder is a folder of one of our groups.
type Folder struct{ Path, Label string }

// All lists the folders of groups that conductors of ours have made.
func All(root string) []Folder {
	var all []Folder
	// version 1 has a folder for every controller
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

// labelWords is the number of words that a label has: those of a launch.ID.
const labelWords = 3

// RemoveTrial removes the groups of a trial, whose units have ended.
func RemoveTrial(root, label, trial string) error {
	begin := nameOf(label, trial, "")
	return removeNamed(root, func(group string) bool { return strings.HasPrefix(group, begin) })
}

// RemoveConductor removes all groups of a conductor, whose processes have ended.
func RemoveConductor(root, label string) error {
	return removeNamed(root, func(group string) bool { return strings.HasPrefix(group, prefix+label+"-") })
}

// RemoveHost removes what MakeHost has made.
func RemoveHost(root, label, host string) error {
	name := nameOf(label, "host", host)
	return removeNamed(root, func(group string) bool { return group == name })
}

// First returns the number, on this host, of the process in a group that is the first of its PID namespace; 0
// if there is none. path is the path of the group below every controller.
func First(root, path string) int {
	files, _ := filepath.Glob(filepath.Join(root, "*", path, "cgroup.procs")) // its pattern is well formed
	if unified(root) {
		files = []string{filepath.Join(root, path, "cgroup.procs")}
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // none, when it is gone
		for _, number := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(number)
			if err == nil && lastWord(filepath.Join("/proc", number, "status"), "NSpid:") == "1" {
				return pid
			}
		}
	}
	return 0
}

// CPU returns the processor time of all processes of a group, of ended ones, too. path is the path of the
// group below every controller.
func CPU(root, path string) (time.Duration, error) {
	used, unit := lastWord(filepath.Join(root, path, "cpu.stat"), "usage_usec"), time.Microsecond
	if !unified(root) {
		text, err := os.ReadFile(filepath.Join(root, "cpuacct", path, "cpuacct.usage"))
		if err != nil {
			return 0, err
		}
		used, unit = strings.TrimSpace(string(text)), time.Nanosecond
	}
	n, err := strconv.ParseInt(used, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the control group %s does not tell its processor time: %w", path, err)
	}
	return time.Duration(n) * unit, nil
}

// Bind keeps all processes of a group on processors, such as "0,2-3". path is the path of the group below
// every controller.
func Bind(root, path, processors string) error {
	if !unified(root) {
		root = filepath.Join(root, "cpuset")
	}
	return write(filepath.Join(root, path), "cpuset.cpus", processors)
}

// removeNamed removes the groups with the names that are meant.
func removeNamed(root string, isMeant func(name string) bool) error {
	var problems []error
	for _, folder := range All(root) {
		if isMeant(filepath.Base(folder.Path)) {
			problems = append(problems, Remove(folder.Path))
		}
	}
	return errors.Join(problems...)
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
		// a link to another one's folder
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

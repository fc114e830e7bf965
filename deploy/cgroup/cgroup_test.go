package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestTheFilesOfVersion2 checks the files that are written on a folder in the place of the kernel's, since
// hosts of this project have version 1, whose limits deploytest checks.
func TestTheFilesOfVersion2(t *testing.T) {
	root := t.TempDir()
	testset.Must(t, os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte("cpu memory\n"), 0o600))
	limits := lab.Limits{CPU: 0.5, Memory: 64 << 20}
	testset.Must(t, Missing(root, limits))
	g, err := Make(root, "0a1b2c-12-345", "trial", "front-1", limits)
	testset.Must(t, err)
	testset.Must(t, g.Add(42))
	folder := filepath.Join(root, "cleave-0a1b2c-12-345-trial-front-1")
	for file, want := range map[string]string{
		"cpu.max": "50000 100000", "memory.max": "67108864", "memory.swap.max": "0", "cgroup.procs": "42",
		"../cgroup.subtree_control": "+cpu +memory",
	} {
		if text, err := os.ReadFile(filepath.Join(folder, file)); err != nil || string(text) != want {
			t.Errorf("%s has %q (%v), want %q", file, text, err, want)
		}
	}
	for text, want := range map[string]bool{"oom 3\noom_kill 0\n": false, "oom 3\noom_kill 1\n": true} {
		testset.Must(t, os.WriteFile(filepath.Join(folder, "memory.events"), []byte(text), 0o600))
		if g.OutOfMemory() != want {
			t.Errorf("OutOfMemory is %t after %q", !want, text)
		}
	}
	if all := All(root); len(all) != 1 || all[0] != (Folder{folder, "0a1b2c-12-345"}) {
		t.Errorf("All: %v", all)
	}
	testset.Must(t, Bind(root, filepath.Base(folder), "0,2"))
	if text, err := os.ReadFile(filepath.Join(folder, "cpuset.cpus")); err != nil || string(text) != "0,2" {
		t.Errorf("cpuset.cpus has %q (%v)", text, err)
	}
	if err := RemoveTrial(root, "0a1b2c-12-345", "tri"); err != nil {
		t.Errorf("another trial's group: %v", err)
	}
	// The kernel removes the files of a group with its folder; here they keep the folder, which the error names.
	deploytest.Says(t, RemoveTrial(root, "0a1b2c-12-345", "trial"), folder)
	testset.Must(t, os.RemoveAll(folder))
	testset.Must(t, Remove(folder))
}

// TestProcessorTime checks that the time of a group is read on hosts of both versions, and that the error
// names the file if it is missing.
func TestProcessorTime(t *testing.T) {
	for name, c := range map[string]struct{ controllers, file, text string }{
		"version 1": {"", "cpuacct/group/cpuacct.usage", "1500000000\n"},
		"version 2": {"cpu memory\n", "group/cpu.stat", "usage_usec 1500000\nuser_usec 1000000\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			testset.Must(t, os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte(c.controllers), 0o600))
			path := filepath.Join(root, c.file)
			_, err := CPU(root, "group")
			if deploytest.Says(t, err, path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v, want that the file is missing", err)
			}
			testset.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			testset.Must(t, os.WriteFile(path, []byte(c.text), 0o600))
			if used, err := CPU(root, "group"); err != nil || used != 1500*time.Millisecond {
				t.Errorf("the group has used %v (%v), want 1.5 s", used, err)
			}
			testset.Must(t, os.WriteFile(path, []byte("?\n"), 0o600))
			_, err = CPU(root, "group")
			deploytest.Says(t, err, "group does not tell its processor time")
		})
	}
}

// TestFilesThatAKernelLacks checks that writeOptional passes over a missing file, and returns other errors.
func TestFilesThatAKernelLacks(t *testing.T) {
	folder := filepath.Join(Root, "memory")
	if unified(Root) {
		folder = Root
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skip(err)
	}
	deploytest.NoError(t, writeOptional(folder, "memory.nothing", "0"))
	if err := writeOptional(folder, "cgroup.procs", "no number"); err == nil {
		t.Error("a process without a number is in the group")
	}
}

// TestTheGroupOfAHostIsRemoved checks that RemoveHost spares the group of a host whose name has the same
// prefix.
func TestTheGroupOfAHostIsRemoved(t *testing.T) {
	root := t.TempDir()
	left := []string{}
	for _, host := range []string{"node-1", "node-10"} {
		testset.Must(t, os.Mkdir(filepath.Join(root, nameOf("0a1b2c-12-345", "host", host)), 0o700))
	}
	deploytest.NoError(t, RemoveHost(root, "0a1b2c-12-345", "node-1"))
	for _, folder := range All(root) {
		left = append(left, filepath.Base(folder.Path))
	}
	if len(left) != 1 || !strings.HasSuffix(left[0], "-host-node-10") {
		t.Errorf("left are %q, want the group of node-10", left)
	}
}

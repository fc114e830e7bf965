package containers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestProgramsKeepTheirNames checks that programOf resolves links among the folders of a program, and keeps
// the program's own name if that is a link, unless the container lacks that name.
func TestProgramsKeepTheirNames(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	testset.Must(t, err)
	in := func(path string) string { return filepath.Join(top, path) }
	for _, err := range []error{
		os.MkdirAll(in("real/bin"), 0o755), os.MkdirAll(in("other"), 0o755),
		os.WriteFile(in("real/bin/check"), nil, 0o755), os.WriteFile(in("other/alone"), nil, 0o755),
		os.Symlink("check", in("real/bin/serve")), os.Symlink(in("real/bin"), in("bin")),
		os.Symlink(in("real/bin/check"), in("other/away")),
		os.Symlink(in("other/alone"), in("real/bin/out")),
	} {
		testset.Must(t, err)
	}
	for program, want := range map[string]string{
		"real/bin/check": "real/bin/check", "real/bin/serve": "real/bin/serve", "bin/serve": "real/bin/serve",
		"other/away": "real/bin/check", "real/bin/out": "", "other/alone": "", "none": "",
	} {
		got, err := programOf(lab.UnitSpec{
			Runnable: lab.Runnable{Program: in(program)},
			Storage:  lab.Storage{Reads: []string{in("real")}},
		})
		if want == "" {
			if err == nil {
				t.Errorf("%s is found as %s", program, got)
			}
		} else if err != nil || got != in(want) {
			t.Errorf("%s is %s, %v; want %s", program, strings.TrimPrefix(got, top), err, want)
		}
	}
}

// TestUnitsThatNoContainerRuns checks that CheckPrograms refuses a unit with a shared address, which only
// processes can move, and a unit of an image, which only this host's Docker has.
func TestUnitsThatNoContainerRuns(t *testing.T) {
	shares := lab.UnitSpec{Name: "one", Runnable: lab.Runnable{Foreign: true, Program: "sh"},
		Networking: lab.Networking{Floats: "both"}}
	image := lab.UnitSpec{Name: "one", Runnable: lab.Runnable{Foreign: true, Image: "nginx:1.27"}}
	err := CheckPrograms(t.TempDir(), []lab.UnitSpec{shares, image})
	deploytest.Says(t, err,
		"unit one shares the address both with another, which no container does here: deploy with process",
		"of the image nginx:1.27, of this host's Docker: deploy it with docker-bridge, docker-host, or on the "+
			"private swarm")
	var incapable *lab.Incapable
	if !errors.As(err, &incapable) {
		t.Errorf("%v, want that nothing here can do it", err)
	}
}

// TestUnitProgramsAreStatic checks that CheckPrograms refuses a unit program that needs
// libraries, as the shell of this host does: the image has none.
func TestUnitProgramsAreStatic(t *testing.T) {
	folder := t.TempDir()
	for _, err := range []error{
		os.Symlink(deploytest.Program(t), filepath.Join(folder, "static")),
		os.Symlink("/bin/sh", filepath.Join(folder, "dynamic")),
		os.WriteFile(filepath.Join(folder, "text"), []byte("#!/bin/sh\n"), 0o600),
	} {
		testset.Must(t, err)
	}
	for own, says := range map[string]string{
		"static":  "",
		"dynamic": "dynamic is linked dynamically, and its image has no libraries: build it with CGO_ENABLED=0",
		"text":    "text cannot run in a container", "none": "none cannot run in a container",
	} {
		err := CheckPrograms(folder, []lab.UnitSpec{{Name: "a", Runnable: lab.Runnable{Own: own}},
			{Name: "b", Runnable: lab.Runnable{Own: own}}})
		if says == "" && err != nil || says != "" && (err == nil || strings.Count(err.Error(), says) != 1) {
			t.Errorf("%s: %v; want %q, once", own, err, says)
		}
	}
}

// TestPortsOfTheUsersNodesAreNotTaken checks that a user's cluster refuses a unit that is reached at a port
// of its node: other programs may listen there.
func TestPortsOfTheUsersNodesAreNotTaken(t *testing.T) {
	published := lab.UnitSpec{Name: "one", Networking: lab.Networking{Reached: lab.ReachPublished}}
	err := UserCluster{Name: "here", Ours: "swarm"}.check(published, nil)
	var incapable *lab.Incapable
	if !errors.As(err, &incapable) || !strings.Contains(err.Error(),
		"one shall be called at a port of its node") {
		t.Error(err)
	}
}

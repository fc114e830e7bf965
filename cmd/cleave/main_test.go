package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/internal/gobuild"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// binaries is the folder with cleave, the unit programs and the server of testdata/server. TestMain builds
// them.
var binaries string

func TestMain(m *testing.M) {
	asTracedServer(os.Args) // tests start this binary again as a server; that call does not return then
	// Most trials only wait, so one more than the processors run in parallel; -parallel overrides this.
	_ = flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+1))
	servers.Main(func() int { return withBinaries(func() int { return dockertest.Main(m.Run) }) }, nil)
}

// withBinaries builds the programs for the tests, removes leftovers of earlier runs from this host, and calls
// run. It returns the exit code.
func withBinaries(run func() int) int {
	dir, err := os.MkdirTemp("", "cleave-test-")
	if err == nil {
		// Some tests run the programs as another user. The user's own settings must not change.
		err = errors.Join(os.Chmod(dir, 0o755), build(dir),
			os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "settings")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binaries = dir
	// Remove leftovers of killed runs. If that fails, tests that look for their own leftovers fail, and this
	// says why.
	if text, err := exec.Command(filepath.Join(dir, "cleave"), "clean").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "clean this host before the tests: %v: %s\n", err, text)
	}
	code := run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// build builds the programs of make build and the test server into a folder, with the flags of make dist. It
// calls the toolchain once, so that shared packages are loaded once.
func build(dir string) error {
	units := filepath.Join(dir, "unit")
	// Keeps the programs small (TestUnitProgramsAreSmall), also when go test lacks the GOFLAGS of the Makefile.
	small := []string{"-tags=grpcnotrace", "-ldflags=-s -w"}
	err := gobuild.Build(units+"/", small, ".", "../host-agent", "./testdata/server", "../unit/...")
	if err != nil {
		return err
	}
	for _, name := range []string{"cleave", "host-agent", "server"} {
		if err := os.Rename(filepath.Join(units, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// TestResultsFollowTheSources makes the cached test results of this package invalid when a program changes.
func TestResultsFollowTheSources(t *testing.T) {
	if err := gobuild.Follow(".", "../host-agent", "../unit/...", "./testdata/server"); err != nil {
		t.Fatal(err)
	}
}

// largestUnit is the size limit of unit programs, in bytes. They are copied into images, to hosts and
// to nodes, and should have only what their system needs.
const largestUnit = 26_500_000

// largerUnits returns the size limits of unit programs that cannot be so small.
func largerUnits() map[string]int64 {
	return map[string]int64{"shop-orm": 33_000_000} // gorm finds methods by name: the linker keeps all
}

func TestUnitProgramsAreSmall(t *testing.T) {
	programs, err := filepath.Glob(filepath.Join(binaries, "unit", "*"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("there are no unit programs (%v)", err)
	}
	for _, program := range programs {
		seen, err := os.Stat(program)
		if err != nil {
			t.Fatal(err)
		}
		if most := cmp.Or(largerUnits()[seen.Name()], largestUnit); seen.Size() > most {
			t.Errorf("%s has %d bytes, at most %d may be: go list -deps ./cmd/unit/%s tells what is in it",
				seen.Name(), seen.Size(), most, seen.Name())
		}
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", binaries+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("BINARIES", binaries)
			traces, err := filepath.Abs("testdata/traces")
			if err != nil {
				return err
			}
			env.Setenv("TRACES", traces)
			models, err := filepath.Abs("../../predict/testdata")
			if err != nil {
				return err
			}
			env.Setenv("MODELS", models)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".settings"))
			scratch, err := os.MkdirTemp("", "") // a short path: Unix sockets are below it
			env.Setenv("TMPDIR", scratch)
			env.Defer(func() { _ = os.RemoveAll(scratch) }) // scripts check for leftovers themselves
			return err
		},
		Condition: condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":       exits,
			"valid":       valid,
			"sametrials":  sameTrials,
			"nothingleft": nothingLeft,
		},
	})
}

// condition evaluates a condition of a script: "all" holds in `make test-all`, and "hosts" if this host can
// run further hosts.
func condition(name string) (bool, error) {
	switch name {
	case "all":
		return testset.All(), nil
	case "hosts":
		return hosts.Missing() == nil, nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// onUserCluster returns a cleave command whose variables name a cluster of the user. changed replaces some of
// them.
func onUserCluster(t *testing.T, variables, changed map[string]string, args string) *exec.Cmd {
	t.Helper()
	command := with(program(t.TempDir(), strings.Fields(args)...))
	for name, value := range variables {
		if other, is := changed[name]; is {
			value = other
		}
		command.Env = append(command.Env, name+"="+value)
	}
	return command
}

// exits CODE PROGRAM ARGS... runs a program and checks its exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// valid SCHEMA FILE checks a document against its schema.
func valid(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(schema.Validate(args[0], []byte(ts.ReadFile(args[1]))))
}

// nothingLeft checks that the runs of this script have left neither a directory
// nor a process. It ignores all others on this host.
func nothingLeft(ts *testscript.TestScript, _ bool, _ []string) {
	scratch := ts.Getenv("TMPDIR")
	found, err := leftovers.Find(filepath.Join(scratch, filepath.Base(leftovers.Root())))
	ts.Check(err)
	for _, leftover := range found.Left {
		environment, _ := os.ReadFile("/proc/" + leftover.ID + "/environ") // a process may have ended by now
		if leftover.Kind == "directory" || strings.Contains(string(environment), scratch) {
			ts.Fatalf("%s is left", leftover)
		}
	}
}

// sameTrials PLAN PLAN checks that two plans have the same trials.
func sameTrials(ts *testscript.TestScript, neg bool, args []string) {
	var plans [2]lab.Plan
	for i, path := range args {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(path)), &plans[i]))
	}
	if same := slices.Equal(plans[0].Trials, plans[1].Trials); same == neg {
		ts.Fatalf("the plans have the same trials: %t", same)
	}
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// serverFolder returns a folder with two test servers: server (testdata/server), and tracedName, a link to
// this program, which serves and records spans under that name.
func serverFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Link(filepath.Join(binaries, "server"), filepath.Join(dir, "server")); err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err == nil {
		err = os.Symlink(own, filepath.Join(dir, tracedName))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCompareScripts runs `cleave compare` on servers that behave and misbehave.
// $HTTP is a running server; taken.yaml and taken2.yaml define systems that need its port.
func TestCompareScripts(t *testing.T) {
	servers := serverFolder(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/compare",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", strings.Join([]string{binaries, servers, env.Getenv("PATH")},
				string(os.PathListSeparator)))
			env.Setenv("BINARIES", binaries)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".settings"))
			running := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, "hello")
			}))
			env.Defer(running.Close)
			env.Setenv("HTTP", running.URL)
			return errors.Join(writeTaken(env, "taken.yaml", "a", running),
				writeTaken(env, "taken2.yaml", "b", running))
		},
		Condition: condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "valid": valid,
			"compares": func(ts *testscript.TestScript, _ bool, args []string) {
				runTolerant(ts, append([]string{"compare"}, args...))
			},
			"resumes": func(ts *testscript.TestScript, _ bool, args []string) {
				runTolerant(ts, append([]string{"compare", "--resume"}, args...))
			},
			"plays": func(ts *testscript.TestScript, _ bool, args []string) {
				runTolerant(ts, append([]string{"run"}, args...))
			},
		},
	})
}

// writeTaken writes the file of a system that needs the port of a server.
func writeTaken(env *testscript.Env, file, name string, server *httptest.Server) error {
	text := fmt.Sprintf("schema: cleave-system/1\nname: %s\nurl: %s\ncommand: [server, -sleep]\n", name,
		server.URL)
	return os.WriteFile(filepath.Join(env.WorkDir, file), []byte(text), 0o644)
}

// runTolerant runs cleave and expects success, or trials that were limited by the generator:
// on a busy host that happens and does not affect what is tested.
func runTolerant(ts *testscript.TestScript, args []string) {
	err := ts.Exec("cleave", args...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitLoadNotReached {
		return
	}
	ts.Check(err)
}

func TestNothingOfAComparedSystemSurvivesKill9(t *testing.T) {
	t.Parallel() // it takes long, because a server ignores SIGTERM
	servers := serverFolder(t)
	scratch := t.TempDir()
	pidFile := filepath.Join(t.TempDir(), "pid")
	server := filepath.Join(servers, "server") + " -port {port} -stubborn -daemon " + pidFile
	command := with(program("", "compare", "a="+server, "b="+server, "--rate", "20", "-d", "60s", "--blocks",
		"1", "--cores", "none", "--results", t.TempDir()), "TMPDIR="+scratch)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	daemon := awaitNumber(t, pidFile)
	tree := descendants(t, command.Process.Pid)
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // fails, because it was killed
	alive := func() []int {
		return slices.DeleteFunc(append(slices.Clone(tree), daemon),
			func(pid int) bool { return syscall.Kill(pid, 0) != nil })
	}
	await(t, "all processes have ended", func() bool { return len(alive()) == 0 })
	if len(tree) < 3 {
		t.Errorf("it had the processes %v, want more", tree)
	}
	// Processes that were started after descendants was called end a moment later.
	await(t, "nothing is left", func() bool {
		found, err := leftovers.Find(rootIn(scratch))
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Left) == 0
	})
}

// awaitNumber waits until a file exists and returns the number in it.
func awaitNumber(t *testing.T, path string) int {
	t.Helper()
	text := until(t, path+" is there", func() (string, bool) {
		text, err := os.ReadFile(path)
		return string(text), err == nil
	})
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// descendants returns the PIDs of all descendants of a process.
func descendants(t *testing.T, root int) []int {
	t.Helper()
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", queue[0]))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			text, _ := os.ReadFile(task) // the thread may have ended
			for word := range strings.FieldsSeq(string(text)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, pid)
				queue = append(queue, pid)
			}
		}
	}
	return found
}

func TestStarterFilesAreValid(t *testing.T) {
	read := func(kind string) []byte {
		text, err := starters.ReadFile("starters/" + kind + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if d, err := external.Parse("system.yaml", read("system")); err != nil || len(d.Command) == 0 {
		t.Errorf("system: %+v, %v", d, err)
	}
	var document any
	err := yaml.Unmarshal(read("system"), &document)
	text, encoding := json.Marshal(document)
	if err := errors.Join(err, encoding, schema.Validate("system", text)); err != nil {
		t.Errorf("system: %v", err)
	}
	if _, err = study.Parse("study.yaml", read("study"), systemInfos("")); err != nil {
		t.Errorf("study: %v", err)
	}
	file, err := scenario.Parse("scenario.yaml", read("scenario"))
	if err == nil {
		_, err = file.Compile(t.TempDir())
	}
	if err != nil {
		t.Errorf("scenario: %v", err)
	}
}

func TestPinning(t *testing.T) {
	for text, want := range map[string][2][]int{
		"none": {}, "0,1/2": {{0, 1}, {2}}, "0/0": {{0}, {0}},
	} {
		f := foreignFlags{cores: text}
		system, generator, err := f.pin()
		if err != nil || !slices.Equal(system, want[0]) || !slices.Equal(generator, want[1]) {
			t.Errorf("--cores %s: %v, %v, %v; want %v", text, system, generator, err, want)
		}
	}
	for _, text := range []string{"", "0", "a/1", "0/-1", "0/"} {
		f := foreignFlags{cores: text}
		if _, _, err := f.pin(); err == nil {
			t.Errorf("--cores %q passes", text)
		}
	}
}

// TestATrialMayLastAsLongAsItsSystemsStart: the time limit of a trial covers the slowest system, with all its
// waits, and the slowest audit.
func TestATrialMayLastAsLongAsItsSystemsStart(t *testing.T) {
	quick := external.Definition{Name: "quick"}
	slow := external.Definition{Name: "slow"}
	quick.Ready.Timeout = 30
	slow.Ready.Timeout = 600
	slow.Ready.Log = "listening"
	slow.Ready.Command = []string{"curl"}
	quick.Audit = &lab.SystemAudit{Queries: []lab.AuditQuery{{Within: 500}, {Within: 400}}}
	load := lab.Load{Duration: 10, WarmUp: 2}
	for _, all := range [][]external.Definition{{quick, slow}, {slow, quick}} {
		if limit := trialTimeout(load, all); limit < 10+2+3*600+900 {
			t.Errorf("%s first: %g s", all[0].Name, limit)
		}
	}
	composed := external.Definition{Name: "composed"}
	composed.Services = []lab.SystemService{{Name: "web"}}
	one := []external.Definition{composed}
	two := []external.Definition{composed, composed}
	if alone, both := longestStart(one), longestStart(two); alone != both {
		t.Errorf("one system may start for %g s, and the slowest of two such for %g s", alone, both)
	}
}

// TestFilesOfAScenarioArePacked: the plan of several systems at several points has the files that the
// scenario names, the file of arrivals only if it is played.
func TestFilesOfAScenarioArePacked(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"customers.csv": "name\nada\n", "times.txt": "0\n0.5\n",
		"scenario.yaml": `
schema: cleave-scenario/1
name: packed
load: {replay: times.txt}
data: {people: {csv: customers.csv}}
flows: [{name: greet, steps: [{request: "GET /${people.name}"}]}]
`})
	for flags, want := range map[string][]string{
		"--capacity":     {"arrivals", "people.csv"}, // after the load of the scenario itself
		"--rate 500,900": {"people.csv"},
	} {
		args := append([]string{"compare", "a=http://127.0.0.1:1", "b=http://127.0.0.1:2", "--scenario",
			filepath.Join(dir, "scenario.yaml")}, strings.Fields(flags)...)
		load := makePlan(t, args...).Study.Load
		if got := slices.Sorted(maps.Keys(load.Files)); !slices.Equal(got, want) ||
			strings.Contains(string(load.Scenario), "customers.csv") {
			t.Errorf("%s: the files %q are packed, want %q; the scenario is %s", flags, got, want, load.Scenario)
		}
	}
}

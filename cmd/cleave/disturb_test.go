package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// longStudy takes more than a second per trial, so that tests can disturb it.
const longStudy = `
schema: cleave-study/1
name: long
title: A study that takes its time
system: big
baseline: uds
variants:
  uds: {architecture: uds}
points:
  p: {neighbourhoods: 2, workers: 5, pings: %d}
design: {blocks: 3, gates: {steal: 99%%, calibration: 99%%}}
`

// experiment is a running cleave, in most tests with longStudy.
type experiment struct {
	*exec.Cmd
	t       *testing.T
	dir     string
	errOut  bytes.Buffer
	results string
}

// begin starts cleave with longStudy and extra arguments.
func begin(t *testing.T, pings int, extra ...string) *experiment {
	t.Helper()
	e := &experiment{t: t, dir: t.TempDir()}
	e.start(append(e.writeLongStudy(pings), extra...)...)
	return e
}

// writeLongStudy writes longStudy, and returns the arguments that play it.
func (e *experiment) writeLongStudy(pings int) []string {
	e.t.Helper()
	e.results = filepath.Join(e.dir, "results")
	writeFiles(e.t, e.dir, map[string]string{"long.yaml": fmt.Sprintf(longStudy, pings)})
	return []string{"run", filepath.Join(e.dir, "long.yaml"), "--results", e.results}
}

// start starts cleave with arguments.
func (e *experiment) start(arguments ...string) {
	e.t.Helper()
	e.startCommand(program("", arguments...))
}

// startCommand starts a command that runs cleave. It is killed at the end of the test.
func (e *experiment) startCommand(command *exec.Cmd) {
	e.t.Helper()
	if e.Cmd = command; command.Stderr == nil {
		command.Stderr = &e.errOut
	}
	if err := command.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = command.Process.Kill() })
}

// code waits for the end and returns the exit code.
func (e *experiment) code() int {
	e.t.Helper()
	err := e.Cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		e.t.Fatal(err)
	}
	return e.Cmd.ProcessState.ExitCode()
}

// label returns the label of all processes and resources of this cleave.
func (e *experiment) label() string {
	e.t.Helper()
	id, exists := processID(e.t, e.Process.Pid)
	if !exists {
		e.t.Fatal("cleave has ended")
	}
	return id.String()
}

// processID returns the ID of a process, and false if there is none with this PID.
func processID(t *testing.T, pid int) (launch.ID, bool) {
	t.Helper()
	own, err := launch.Own()
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return launch.ID{}, false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	const start = 22 - 3 // proc(5): the start time is field 22, and rest begins with field 3
	return launch.ID{Scope: own.Scope, PID: pid, Start: strings.Fields(rest)[start]}, true
}

// awaitWorkers waits until all workers run, and returns their process IDs.
func (e *experiment) awaitWorkers(label string) []int {
	e.t.Helper()
	return until(e.t, "workers run", func() ([]int, bool) {
		found := slices.Collect(maps.Keys(labelled(label, `"role":"worker"`)))
		return found, len(found) == 10 // 5 in each of 2 neighbourhoods
	})
}

// trials reads the records of the trials so far.
func (e *experiment) trials() []lab.Trial {
	e.t.Helper()
	return savedTrials(e.t, e.results)
}

// awaitNothingLeft waits until there are no processes and no directory with the label.
func (e *experiment) awaitNothingLeft(label string) {
	e.t.Helper()
	await(e.t, "nothing of "+label+" is left", func() bool {
		_, err := os.Stat(filepath.Join(leftovers.Root(), label))
		return len(labelled(label, "")) == 0 && errors.Is(err, os.ErrNotExist)
	})
}

// resume continues the experiment and expects success.
func (e *experiment) resume() {
	e.t.Helper()
	e.errOut.Reset()
	e.start("run", filepath.Join(e.dir, "long.yaml"), "--resume", filepath.Join(e.results, "long", "latest"))
	if code := e.code(); code != 0 {
		e.t.Fatalf("resume ended with %d:\n%s", code, e.errOut.String())
	}
	valid := map[int]bool{}
	for _, trial := range e.trials() {
		if trial.Valid {
			valid[trial.Number] = true
		}
	}
	if len(valid) != 3 {
		e.t.Errorf("%d trials count after resume, want 3", len(valid))
	}
}

func TestInterruptKeepsTrialsLeavesNothingAndCanResume(t *testing.T) {
	t.Parallel()
	e := begin(t, 2000)
	label := e.label()
	await(t, "a trial is done", func() bool { return len(e.trials()) > 0 })
	e.awaitWorkers(label)
	if err := e.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := e.code(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d\n%s", code, exitInterrupted, e.errOut.String())
	}
	expectTexts(t, "standard error", e.errOut.String(), " kept in ", "--resume")
	e.awaitNothingLeft(label)
	e.resume()
}

func TestKillOfTheConductorLeavesNothingAndCanResume(t *testing.T) {
	t.Parallel()
	e := begin(t, 2000)
	label := e.label()
	await(t, "a trial is done", func() bool { return len(e.trials()) > 0 })
	e.awaitWorkers(label)
	if err := e.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	e.code()
	e.awaitNothingLeft(label)
	e.resume()
}

func TestAKilledWorkerSpoilsItsTrialWhichIsRepeated(t *testing.T) {
	testset.Need(t, "it plays a whole study")
	t.Parallel()
	e := begin(t, 2000)
	pids := e.awaitWorkers(e.label())
	if err := syscall.Kill(pids[3], syscall.SIGKILL); err != nil { // any of them
		t.Fatal(err)
	}
	if code := e.code(); code != exitFine {
		t.Fatalf("exit code %d, want 0\n%s", code, e.errOut.String())
	}
	trials := e.trials()
	if len(trials) != 4 {
		t.Fatalf("%d records, want 3 valid ones and the spoilt one", len(trials))
	}
	spoilt := 0
	for _, trial := range trials {
		if !trial.Valid {
			spoilt++
			if !strings.Contains(trial.Reason, "worker-0000") {
				t.Errorf("reason is %q, want a worker named", trial.Reason)
			}
		}
	}
	if spoilt != 1 {
		t.Errorf("%d spoilt records, want 1", spoilt)
	}
}

func TestATerminalThatGoesAwayIsAnInterruption(t *testing.T) {
	testset.Need(t, "it plays a whole study")
	t.Parallel()
	e := &experiment{t: t, dir: t.TempDir()}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := program("", e.writeLongStudy(4000)...)
	command.Stdout = writer
	command.Stderr = writer
	e.startCommand(command)
	label := e.label()
	e.awaitWorkers(label)
	if err := errors.Join(writer.Close(), reader.Close(), e.Process.Signal(syscall.SIGHUP)); err != nil {
		t.Fatal(err)
	}
	if code := e.code(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	e.awaitNothingLeft(label)
}

func TestAFullDiskEndsTheExperimentAndKeepsWhatIsDone(t *testing.T) {
	testset.Need(t, "it plays a whole study")
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=128k"); err != nil {
		if errors.Is(err, syscall.EPERM) {
			t.Skip("mounting a small disk needs root: run the tests as root")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	writeFiles(t, disk, map[string]string{"ballast": strings.Repeat("x", 60<<10)})
	e := begin(t, 50, "--results", disk, "--blocks", "30")
	label := e.label()
	if code := e.code(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	expectTexts(t, "standard error", e.errOut.String(), "is full: make room", " kept in ")
	e.results = disk
	if len(e.trials()) == 0 {
		t.Error("no finished trial was kept")
	}
	e.awaitNothingLeft(label)
}

func TestMissingPermissionIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("changing to another user needs root: run the tests as root")
	}
	const nobody = 65534
	forbidden := t.TempDir() // belongs to root
	command := program("", "reproduce", "rego2021", "--quick", "--results", forbidden)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	expectRun(t, command, exitFailed,
		[]string{"cannot write results to " + forbidden, "permission denied", "--results"})
}

// takePort listens on some loopback port below the ephemeral range.
func takePort(t *testing.T) net.Listener {
	t.Helper()
	for range 100 {
		port := 21000 + rand.IntN(1000) // random, because tests run in parallel
		if listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			t.Cleanup(func() { _ = listener.Close() })
			return listener
		}
	}
	t.Fatal("of 100 ports from 21000 to 21999 none is free")
	return nil
}

func TestATakenPortIsNamed(t *testing.T) {
	listener := takePort(t)
	for architecture, name := range map[string]string{"http": "big", "http-lean": "big", "grpc": "big-grpc"} {
		const job = `{"neighbourhoods":1,"workers":2,"pings":3,"architecture":"%s","knobs":{"keepalive":"on"},"role":"core"}`
		unit := exec.Command(filepath.Join(binaries, "unit", name), fmt.Sprintf(job, architecture))
		unit.Env = []string{"CLEAVE_ADDRESS=" + listener.Addr().String()}
		expectRun(t, unit, 1, []string{`"event":"failed"`, listener.Addr().String(), "address already in use",
			"end the program that holds it"})
	}
}

func TestAHostThatIsTooSmallIsRefusedBeforeTheStart(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results")
	const limited = `ulimit -n 256; exec "$0" reproduce rego2021 --quick --strict --results "$1"`
	code, printed := finish(t, exec.Command("sh", "-c", limited, filepath.Join(binaries, "cleave"), results))
	if code != exitMissingPart {
		t.Errorf("exit code %d, want %d", code, exitMissingPart)
	}
	first, _, _ := strings.Cut(printed, "\n")
	expectTexts(t, "the first line", first, "at s5", "may open 256 files here", "ulimit -Hn")
	if _, err := os.Stat(results); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a result folder was made: %v", err)
	}
}

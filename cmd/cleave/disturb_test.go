package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// patience is how long a test waits for what must happen.
const patience = 4 * time.Minute

// longStudy takes more than a second per trial, so that it can be disturbed.
const longStudy = `
schema: cleave-study/1
name: long
title: A study that takes its time
system: big
baseline: uds
variants:
  uds: {architecture: uds}
points:
  p: {neighbourhoods: 2, workers: 5, pings: %PINGS%}
design: {blocks: 3, gates: {steal: 99%, calibration: 99%}}
`

// experiment is a cleave at work on longStudy.
type experiment struct {
	*exec.Cmd
	t       *testing.T
	dir     string
	errOut  bytes.Buffer
	results string
}

// begin starts cleave on the study; extra arguments follow.
func begin(t *testing.T, pings int, extra ...string) *experiment {
	t.Helper()
	e := &experiment{t: t, dir: t.TempDir()}
	e.results = filepath.Join(e.dir, "results")
	file := filepath.Join(e.dir, "long.yaml")
	text := strings.ReplaceAll(longStudy, "%PINGS%", strconv.Itoa(pings))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	e.start(append([]string{"run", file, "--results", e.results}, extra...)...)
	return e
}

func (e *experiment) start(arguments ...string) {
	e.t.Helper()
	e.Cmd = exec.Command(filepath.Join(binaries, "cleave"), arguments...)
	e.Cmd.Stderr = &e.errOut
	if err := e.Cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = e.Cmd.Process.Kill() })
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

// label returns what everything that this cleave starts carries.
func (e *experiment) label() string {
	e.t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(e.Process.Pid) + "/stat")
	if err != nil {
		e.t.Fatal(err)
	}
	own, err := launch.Own()
	if err != nil {
		e.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return launch.ID{Place: own.Place, PID: e.Process.Pid, Start: strings.Fields(rest)[22-3]}.String()
}

// workers lists the living processes that carry the label and play a worker.
func workers(label string) []int {
	var found []int
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		environment, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(environment, []byte("CLEAVE_RUN="+label+"\x00")) {
			continue
		}
		arguments, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && bytes.Contains(arguments, []byte(`"role":"worker"`)) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			found = append(found, pid)
		}
	}
	return found
}

// awaitWorkers waits until workers run and returns them.
func (e *experiment) awaitWorkers(label string) []int {
	e.t.Helper()
	return until(e.t, "workers run", func() ([]int, bool) {
		found := workers(label)
		return found, len(found) == 10
	})
}

// until polls for a state of the world.
func until[T any](t *testing.T, what string, look func() (T, bool)) T {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(25 * time.Millisecond) {
		if state, ok := look(); ok {
			return state
		}
	}
	t.Fatalf("waited %v until %s", patience, what)
	panic("unreachable")
}

// trials reads the records that were kept.
func (e *experiment) trials() []lab.Trial {
	e.t.Helper()
	paths, err := filepath.Glob(filepath.Join(e.results, "long", "latest", "trials", "*", "trial.json"))
	if err != nil {
		e.t.Fatal(err)
	}
	var trials []lab.Trial
	for _, path := range paths {
		if strings.Contains(path, ".part/") {
			continue // being written
		}
		data, err := os.ReadFile(path)
		if err != nil {
			e.t.Fatal(err)
		}
		var trial lab.Trial
		if err := json.Unmarshal(data, &trial); err != nil {
			e.t.Fatal(err)
		}
		trials = append(trials, trial)
	}
	return trials
}

// assertNothingLeft looks for processes and directories of the label.
func (e *experiment) assertNothingLeft(label string) {
	e.t.Helper()
	until(e.t, "nothing of "+label+" is left", func() (struct{}, bool) {
		_, err := os.Stat(filepath.Join(leftovers.Root(), label))
		return struct{}{}, len(labelled(label, "")) == 0 && errors.Is(err, os.ErrNotExist)
	})
}

// resume goes on with the experiment and expects it to end well.
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
	until(t, "a trial is done", func() (struct{}, bool) { return struct{}{}, len(e.trials()) > 0 })
	e.awaitWorkers(label)
	if err := e.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := e.code(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d\n%s", code, exitInterrupted, e.errOut.String())
	}
	for _, want := range []string{" kept in ", "--resume"} {
		if !strings.Contains(e.errOut.String(), want) {
			t.Errorf("standard error does not say %q:\n%s", want, e.errOut.String())
		}
	}
	e.assertNothingLeft(label)
	e.resume()
}

func TestKillOfTheConductorLeavesNothingAndCanResume(t *testing.T) {
	t.Parallel()
	e := begin(t, 2000)
	label := e.label()
	until(t, "a trial is done", func() (struct{}, bool) { return struct{}{}, len(e.trials()) > 0 })
	e.awaitWorkers(label)
	if err := e.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	e.code()
	e.assertNothingLeft(label)
	e.resume()
}

func TestAKilledWorkerSpoilsItsTrialWhichIsRepeated(t *testing.T) {
	testset.Need(t, "it plays a whole study")
	t.Parallel()
	e := begin(t, 2000)
	pids := e.awaitWorkers(e.label())
	if err := syscall.Kill(pids[3], syscall.SIGKILL); err != nil {
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
	file := filepath.Join(e.dir, "long.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(longStudy, "%PINGS%", "4000")), 0o644); err != nil {
		t.Fatal(err)
	}
	e.Cmd = exec.Command(filepath.Join(binaries, "cleave"), "run", file, "--results",
		filepath.Join(e.dir, "results"))
	e.Cmd.Stdout, e.Cmd.Stderr = writer, writer
	if err := e.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Cmd.Process.Kill() })
	label := e.label()
	e.awaitWorkers(label)
	if err := errors.Join(writer.Close(), reader.Close(), e.Process.Signal(syscall.SIGHUP)); err != nil {
		t.Fatal(err)
	}
	if code := e.code(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	e.assertNothingLeft(label)
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
	fill(t, filepath.Join(disk, "ballast"), 60<<10)
	e := begin(t, 50, "--results", disk, "--blocks", "30")
	label := e.label()
	if code := e.code(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	for _, want := range []string{"is full: make room", " kept in "} {
		if !strings.Contains(e.errOut.String(), want) {
			t.Errorf("standard error does not say %q:\n%s", want, e.errOut.String())
		}
	}
	e.results = disk
	if len(e.trials()) == 0 {
		t.Error("no finished trial was kept")
	}
	e.assertNothingLeft(label)
}

func TestAUserWithoutPermissionIsToldWhatToDo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("changing to another user needs root: run the tests as root")
	}
	const nobody = 65534
	forbidden := t.TempDir() // belongs to root, like the path to it
	e := &experiment{t: t, dir: t.TempDir()}
	e.Cmd = exec.Command(filepath.Join(binaries, "cleave"), "reproduce", "rego2021", "--quick", "--results",
		forbidden)
	e.Cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	e.Cmd.Stderr = &e.errOut
	if err := e.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if code := e.code(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	for _, want := range []string{"cannot write results to " + forbidden, "permission denied", "--results"} {
		if !strings.Contains(e.errOut.String(), want) {
			t.Errorf("standard error does not say %q:\n%s", want, e.errOut.String())
		}
	}
}

// takePort listens on some loopback port below the ephemeral range.
func takePort(t *testing.T) net.Listener {
	t.Helper()
	for range 100 {
		port := 21000 + rand.IntN(1000) // one of many: tests run side by side
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
	for architecture, program := range map[string]string{"http": "big", "http-lean": "big", "grpc": "big-grpc"} {
		const job = `{"neighbourhoods":1,"workers":2,"pings":3,"architecture":"%s","knobs":{"keepalive":"on"},"role":"core"}`
		unit := exec.Command(filepath.Join(binaries, "unit", program), fmt.Sprintf(job, architecture))
		unit.Env = []string{"CLEAVE_ADDRESS=" + listener.Addr().String()}
		said, err := unit.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: a unit on a taken port ended with %v, want code 1", architecture, err)
		}
		for _, want := range []string{`"event":"failed"`, listener.Addr().String(), "address already in use",
			"end the program that holds it"} {
			if !strings.Contains(string(said), want) {
				t.Errorf("%s: the unit says %s, want %q in it", architecture, said, want)
			}
		}
	}
}

func TestAHostThatIsTooSmallIsRefusedBeforeTheStart(t *testing.T) {
	e := &experiment{t: t, dir: t.TempDir()}
	results := filepath.Join(e.dir, "results")
	const limited = `ulimit -n 256; exec "$0" reproduce rego2021 --quick --strict --results "$1"`
	e.Cmd = exec.Command("sh", "-c", limited, filepath.Join(binaries, "cleave"), results)
	e.Cmd.Stderr = &e.errOut
	if err := e.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if code := e.code(); code != exitMissingPart {
		t.Errorf("exit code %d, want %d", code, exitMissingPart)
	}
	first, _, _ := strings.Cut(e.errOut.String(), "\n")
	for _, want := range []string{"at s5", "may open 256 files here", "ulimit -Hn"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first line does not say %q:\n%s", want, e.errOut.String())
		}
	}
	if _, err := os.Stat(results); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a result folder was made: %v", err)
	}
}

// fill writes a file of the given size.
func fill(t *testing.T, path string, size int64) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.CopyN(file, strings.NewReader(strings.Repeat("x", int(size))), size)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

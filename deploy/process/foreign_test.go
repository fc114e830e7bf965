package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// playKeeper is the main function of a keeper's process.
func playKeeper(args []string) {
	if err := Keep(os.Stdin, os.Stdout, args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// playForeign plays a part of a foreign program.
func playForeign(part string, args []string) {
	switch part {
	case "sleep":
		time.Sleep(time.Hour)
	case "daemons": // args: the file for the ids of the children
		playDaemons(args[0])
	case "daemonise": // what a daemon does: a new session, and the parent ends
		startSelf(true, "sleep")
	case "memory": // args: the address to listen on, files of shared memory to keep open and to map
		playMemory(args[0], args[1], args[2])
	case "untidy": // args: a file that it makes once it handles SIGTERM, one that it makes at its end
		playUntidy(args[0], args[1])
	case "stubborn": // args: a file that it makes once it ignores SIGTERM
		signal.Ignore(syscall.SIGTERM)
		touch(args[0])
		time.Sleep(time.Hour)
	case "die":
		fmt.Println("to standard output")
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "describe": // args: the file for the description, then arguments that the description repeats
		text, err := json.Marshal(description{args[1:], os.Environ(), workDir()})
		must(errors.Join(err, os.WriteFile(args[0]+".part", text, 0o600), os.Rename(args[0]+".part", args[0])))
		time.Sleep(time.Hour)
	}
}

// description lists what a foreign program sees.
type description struct {
	Args []string
	Env  []string
	Dir  string
}

func workDir() string {
	dir, err := os.Getwd()
	must(err)
	return dir
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func touch(path string) { must(os.WriteFile(path, nil, 0o600)) }

// startSelf starts this program as another part of a foreign one, in a session of its own if session is
// true. It gets no variables of this one; EndsAtOnce saves the race detector's second of sleep at its end.
func startSelf(session bool, args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], append([]string{"foreign"}, args...)...)
	command.Env = []string{deploytest.EndsAtOnce}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	must(command.Start())
	return command
}

// playDaemons starts a child and a daemon, writes their ids and waits.
func playDaemons(path string) {
	child := startSelf(false, "sleep")
	must(startSelf(false, "daemonise").Wait())
	var pids []string
	for len(pids) < 2 { // the child, and the daemon, which the keeper adopts
		all, err := processes()
		must(err)
		pids = []string{strconv.Itoa(child.Process.Pid)}
		for _, p := range all {
			if p.parent == os.Getppid() && p.pid != os.Getpid() {
				pids = append(pids, strconv.Itoa(p.pid))
			}
		}
	}
	must(os.WriteFile(path+".part", []byte(strings.Join(pids, " ")), 0o600))
	must(os.Rename(path+".part", path))
	time.Sleep(time.Hour)
}

// withForeign returns a layout of a waiting lead and a foreign unit.
func withForeign(t *testing.T, part string, args ...string) lab.Layout {
	t.Helper()
	l := layout("wait", "wait")
	l.Units = append(l.Units[:1:1], foreign(t, "server", part, args...))
	return l
}

// foreign returns a foreign unit that plays a part.
func foreign(t *testing.T, name, part string, args ...string) lab.UnitSpec {
	t.Helper()
	own, err := os.Executable()
	testset.Must(t, err)
	return lab.UnitSpec{
		Name: name, Role: "system",
		Runnable: lab.Runnable{
			Program: own, Args: append([]string{"foreign", part}, args...), Foreign: true,
		},
		Networking: lab.Networking{Listens: true},
	}
}

// awaitFile waits for a file and returns its content.
func awaitFile(t *testing.T, path string) []byte {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil {
			return data
		}
	}
	t.Fatalf("%s was not written", path)
	return nil
}

// daemonIDs waits for the process IDs that playDaemons writes, and returns them as units.
func daemonIDs(t *testing.T, path string) []lab.Unit {
	t.Helper()
	var units []lab.Unit
	for _, word := range strings.Fields(string(awaitFile(t, path))) {
		pid, err := strconv.Atoi(word)
		testset.Must(t, err)
		units = append(units, lab.Unit{Name: "daemon " + word, PID: pid})
	}
	if len(units) != 2 || !anyAlive(units) {
		t.Fatalf("daemons %v, want two living ones", units)
	}
	return units
}

func TestStopEndsAForeignUnitThatIgnoresSIGTERM(t *testing.T) {
	dir := deploytest.Folder(t)
	begun := filepath.Join(t.TempDir(), "begun")
	deployer := deployer(t)
	deployer.grace = 20 * time.Millisecond
	d, err := deployer.Deploy(t.Context(), withForeign(t, "stubborn", begun), dir)
	testset.Must(t, err)
	awaitFile(t, begun)
	deploytest.NoError(t, d.Stop())
	assertGone(t, d.Units(), dir)
}

func TestAForeignUnitThatEndsEarlyFailsTheTrial(t *testing.T) {
	for part, wants := range map[string][]string{
		"die":       {"unit server", "exit status 3", "to standard output", "out of luck"},
		"crash":     {"unit server", "signal: killed", "wrote nothing"},
		"daemonise": {"unit server", "exit status 0", "foreground"},
	} {
		t.Run(part, func(t *testing.T) {
			d, _ := deploy(t, withForeign(t, part))
			_, err := d.Await(deploytest.Within(t), lab.EventReady)
			deploytest.Says(t, err, wants...)
		})
	}
}

// TestAForeignUnitThatCannotBeLimitedEnds checks that the keeper ends if its limits cannot be set. The unit
// is not in the deployment yet, and the janitor would wait for its keeper for ever. The control group is made
// below a folder that stands for the kernel's, and is then removed.
func TestAForeignUnitThatCannotBeLimitedEnds(t *testing.T) {
	l := layout("wait", "wait")
	l.Units = l.Units[:1]
	d, dir := deploy(t, l)
	root := t.TempDir()
	testset.Must(t, os.Mkdir(filepath.Join(root, "cpu"), 0o755))
	spec := foreign(t, "server", "daemons", filepath.Join(t.TempDir(), "pids"))
	spec.Listens = false
	spec.Limits = lab.Limits{CPU: 0.5}
	group, err := cgroup.Make(root, "label", "trial", spec.Name, spec.Limits)
	if err == nil {
		err = os.RemoveAll(group.Folders()[0])
	}
	testset.Must(t, err)
	running := d.(*deployment)
	running.limits[spec.Name] = group
	if err := running.newUnit(spec).Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start: %v, want that the control group is gone", err)
	}
	units := d.Units()
	deploytest.NoError(t, d.Stop())
	assertGone(t, units, dir)
}

func TestNothingOfAForeignUnitSurvivesAConductorKilledWithSignal9(t *testing.T) {
	dir := deploytest.Folder(t)
	pids := filepath.Join(t.TempDir(), "pids")
	conductor, units := startConductor(t, dir, withForeign(t, "daemons", pids))
	units = append(units, daemonIDs(t, pids)...)
	killConductor(t, conductor, units, dir)
}

func TestWhatAForeignUnitSees(t *testing.T) {
	t.Setenv("CLEAVE_TEST_SECRET", "hidden")
	path := filepath.Join(t.TempDir(), "description")
	own := t.TempDir()
	l := withForeign(t, "describe", path, "--port={port}", "{dir}")
	l.Units[1].Env = []string{"LISTEN=127.0.0.1:{port}"}
	l.Units[1].Dir = own
	d, dir := deploy(t, l)
	data := awaitFile(t, path)
	deploytest.NoError(t, d.Stop())
	var saw description
	testset.Must(t, json.Unmarshal(data, &saw))
	port, found := strings.CutPrefix(saw.Args[0], "--port=")
	if _, err := strconv.Atoi(port); !found || err != nil || saw.Args[1] != filepath.Join(dir, "server") {
		t.Errorf("arguments %q, want a port and the unit's folder in %s", saw.Args, dir)
	}
	for _, want := range []string{"LISTEN=127.0.0.1:" + port, "CLEAVE_ADDRESS=127.0.0.1:" + port,
		"CLEAVE_RUN=" + deploytest.Label(t), "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(saw.Env, want) {
			t.Errorf("environment %q has no %s", saw.Env, want)
		}
	}
	if strings.Contains(string(data), "hidden") || saw.Dir != own {
		t.Errorf("sees %+v, want no secret and the folder %s", saw, own)
	}
}

func TestProgramsThatCannotBeRunAreNamed(t *testing.T) {
	folder := t.TempDir()
	testset.Must(t, os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o644))
	for name, test := range map[string]struct{ program, says string }{
		"not installed":  {"cleave-no-such-program", `no program "cleave-no-such-program" in PATH`},
		"not there":      {"./server", filepath.Join(folder, "server") + ": no such file"},
		"no program":     {"./notes.txt", "chmod +x " + filepath.Join(folder, "notes.txt")},
		"folder":         {folder, folder + " is a folder"},
		"not executable": {filepath.Join(folder, "notes.txt"), "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			l := withForeign(t, "sleep")
			l.Units[1].Program = test.program
			l.Units[1].Dir = folder
			if err := deployer(t).Preflight(t.Context(), l); err == nil ||
				!strings.Contains(strings.ReplaceAll(err.Error(), "/./", "/"), test.says) {
				t.Errorf("Preflight: %v, want it to say %q", err, test.says)
			}
			dir := deploytest.Folder(t)
			if _, err := deployer(t).Deploy(t.Context(), l, dir); err == nil ||
				!strings.Contains(err.Error(), "unit server") {
				t.Errorf("Deploy: %v, want the unit named", err)
			}
			assertGone(t, nil, dir)
		})
	}
}

func TestATakenAddressFailsTheDeployment(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	testset.Must(t, err)
	defer listener.Close()
	l := withForeign(t, "sleep")
	l.Units[1].Binds = []string{listener.Addr().String()}
	dir := deploytest.Folder(t)
	_, err = deployer(t).Deploy(t.Context(), l, dir)
	deploytest.Says(t, err, listener.Addr().String()+", which another program has")
	assertGone(t, nil, dir)
}

func TestAPreparationThatIsNotThereIsNamed(t *testing.T) {
	l := withForeign(t, "sleep")
	l.Prepare = []lab.UnitSpec{{Name: "reset",
		Runnable: lab.Runnable{Program: "./no-such-reset", Foreign: true}}}
	dir := deploytest.Folder(t)
	_, err := deployer(t).Deploy(t.Context(), l, dir)
	deploytest.Says(t, err, "prepare the trial: unit reset", "no-such-reset")
	assertGone(t, nil, dir)
}

// TestAKeeperWaitsUntilItMayBegin checks that a keeper starts nothing before the first byte of its input: its
// limits are set once it runs, and a program that it had started by then would have none.
func TestAKeeperWaitsUntilItMayBegin(t *testing.T) {
	for _, mayBegin := range []bool{false, true} {
		begun := filepath.Join(t.TempDir(), "begun")
		spec := foreign(t, "server", "stubborn", begun)
		arguments := append([]string{"keeper", "0s", "false", spec.Program}, spec.Args...)
		keeper := exec.Command(spec.Program, arguments...)
		in, err := keeper.StdinPipe()
		if err == nil {
			err = keeper.Start()
		}
		testset.Must(t, err)
		if mayBegin {
			_, err = in.Write([]byte("\n"))
			awaitFile(t, begun)
		} else {
			time.Sleep(300 * time.Millisecond) // a program has begun within some 10 ms
		}
		if err := errors.Join(err, in.Close(), keeper.Wait()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(begun); (err == nil) != mayBegin {
			t.Errorf("told to begin: %v; begun: %v", mayBegin, err)
		}
	}
}

func TestKeeperArguments(t *testing.T) {
	kept, err := parseKept([]string{"2s", "true", "nginx", "-v"})
	if err != nil || kept.grace != 2*time.Second || !kept.unprivileged ||
		!slices.Equal(kept.program, []string{"nginx", "-v"}) {
		t.Errorf("parseKept = %+v, %v", kept, err)
	}
	for _, args := range [][]string{{}, {"2s"}, {"2s", "true"}, {"soon", "true", "nginx"},
		{"2s", "perhaps", "nginx"}} {
		if _, err := parseKept(args); err == nil {
			t.Errorf("parseKept(%q) passes", args)
		}
	}
}

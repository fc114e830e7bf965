package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestMain lets the test binary play units, janitors, keepers, conductors and foreign programs.
func TestMain(m *testing.M) {
	testset.BeHeadless()
	if len(os.Args) < 3 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "unit":
		playUnit(os.Args[2])
	case "janitor":
		if err := Janitor(os.Stdin, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "keeper":
		playKeeper(os.Args[2:])
	case "conductor":
		playConductor(os.Args[2], os.Args[3], os.Args[4])
	case "foreign":
		playForeign(os.Args[2], os.Args[3:])
	default:
		os.Exit(m.Run())
	}
}

// seen holds what a unit reports about itself.
type seen struct {
	PID       int
	Variables int    // number of environment variables
	Memory    uint32 // number of workers that have written to the shared memory
}

// look returns the report of this unit, without Memory.
func look() seen { return seen{PID: os.Getpid(), Variables: len(os.Environ())} }

// tell writes an event for the deployer.
func tell(event lab.Event) { must(say(os.Stdout, event)) }

// report writes the event with the unit's report.
func report(s seen) {
	data, err := json.Marshal(s)
	must(err)
	tell(lab.Event{Event: lab.EventReport, Data: data})
}

// playUnit plays one of the parts that tests ask for.
func playUnit(part string) {
	switch part {
	case "lead":
		playLead()
	case "worker":
		playWorker()
	case "brief": // a lead that has nothing to do
		tell(lab.Event{Event: lab.EventReady})
		_ = json.NewDecoder(os.Stdin).Decode(&lab.Command{})
	case "listener":
		playListener("tcp", os.Getenv("CLEAVE_ADDRESS"))
	case "socket": // listens on a file, whatever its address is
		playListener("unix", filepath.Join(os.Getenv("CLEAVE_DIR"), "socket"))
	case "once": // works the first time only
		path := filepath.Join(os.Getenv("CLEAVE_DIR"), "used")
		if exists(path) {
			fmt.Fprintln(os.Stderr, "worn out")
			os.Exit(3)
		}
		touch(path)
		playListener("tcp", os.Getenv("CLEAVE_ADDRESS"))
	case "wait":
		time.Sleep(time.Hour)
	case "fail":
		tell(lab.Event{Event: lab.EventFailed, Error: "no luck today"})
		os.Exit(1)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "quit":
	case "panic":
		fmt.Fprintln(os.Stderr, "oh dear")
		os.Exit(3)
	case "nonsense":
		fmt.Println("this is not JSON")
		time.Sleep(time.Hour)
	case "unasked":
		tell(lab.Event{Event: lab.EventFinished})
		time.Sleep(time.Hour)
	}
}

// playListener listens until the command to stop, and reports.
func playListener(network, address string) {
	if network == "unix" {
		_ = os.Remove(address) // of a former life
	}
	_, err := net.Listen(network, address)
	must(err)
	fmt.Fprintln(os.Stderr, "listening")
	var command lab.Command
	if json.NewDecoder(os.Stdin).Decode(&command) == nil {
		report(look())
	}
}

// counter returns a number in the memory that all units share, or one of its own if there is none.
func counter() *atomic.Uint32 {
	const inherited = 3 // the descriptor of the first of ExtraFiles
	memory, err := syscall.Mmap(inherited, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return new(atomic.Uint32)
	}
	return (*atomic.Uint32)(unsafe.Pointer(&memory[0]))
}

// playLead plays a lead that finishes when the three workers of its layout have written to the shared memory.
func playLead() {
	shared := counter()
	commands := json.NewDecoder(os.Stdin)
	var command lab.Command
	tell(lab.Event{Event: lab.EventReady})
	_ = commands.Decode(&command)
	for shared.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	tell(lab.Event{Event: lab.EventFinished, ElapsedSeconds: 1.5})
	_ = commands.Decode(&command)
	s := look()
	s.Memory = shared.Load()
	report(s)
	shared.Store(1000) // lets the workers go
}

// playWorker plays a worker, which ends when the lead has reported.
func playWorker() {
	shared := counter()
	shared.Add(1)
	for shared.Load() < 1000 {
		time.Sleep(time.Millisecond)
	}
	report(look())
}

// restarted is a unit that playConductor kills and starts again if it is the first of the layout.
const restarted = "restarted"

// playConductor deploys the layout whose JSON is text, writes its units to standard output, and waits to be
// killed.
func playConductor(dir, text, label string) {
	own, err := os.Executable()
	must(err)
	var layout lab.Layout
	must(json.Unmarshal([]byte(text), &layout))
	deployment, err := New(own, deploytest.Part("janitor"), deploytest.Part("keeper"),
		label).Deploy(context.Background(), layout, dir)
	must(err)
	if layout.Units[0].Name == restarted {
		must(errors.Join(kill(deployment, restarted), deployment.Heal(context.Background(),
			lab.Fault{Target: restarted, Kind: lab.FaultKill})))
	}
	must(json.NewEncoder(os.Stdout).Encode(deployment.Units()))
	time.Sleep(time.Hour)
}

// startConductor runs playConductor in a process of its own, and returns it and its units once they run.
func startConductor(t *testing.T, dir string, layout lab.Layout) (*exec.Cmd, []lab.Unit) {
	t.Helper()
	text, err := json.Marshal(layout)
	testset.Must(t, err)
	own, err := os.Executable()
	testset.Must(t, err)
	conductor := exec.Command(own, "conductor", dir, string(text), deploytest.Label(t))
	out, err := conductor.StdoutPipe()
	testset.Must(t, err)
	testset.Must(t, conductor.Start())
	var units []lab.Unit
	if err := json.NewDecoder(out).Decode(&units); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if len(units) == 0 || !anyAlive(units) {
		t.Fatalf("the conductor has deployed %v, want living units", units)
	}
	return conductor, units
}

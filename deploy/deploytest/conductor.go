package deploytest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// deployed is the line that a conductor prints when its units run.
const deployed = "deployed"

// Main runs the tests of a deployer. Tests can start their own program in two other roles: as the janitor of
// units that are processes, or as a conductor, which calls deploy with its arguments and then waits to be
// killed. The function of a role that no test starts is nil.
func Main(
	m *testing.M, janitor func(conductor io.Reader, dir string) error, deploy func(args []string) error,
) {
	if len(os.Args) < 3 || !slices.Contains([]string{"janitor", "conductor"}, os.Args[1]) {
		os.Exit(m.Run())
	}
	var err error
	if os.Args[1] == "janitor" {
		err = janitor(os.Stdin, os.Args[2])
	} else if err = deploy(os.Args[2:]); err == nil {
		fmt.Println(deployed)
		time.Sleep(time.Hour)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Conductor starts this test program as a conductor (see Main), and returns when its units run.
func Conductor(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	own, err := os.Executable()
	testset.Must(t, err)
	conductor := exec.Command(own, append([]string{"conductor"}, args...)...)
	conductor.Stderr = os.Stderr
	out, err := conductor.StdoutPipe()
	if err == nil {
		err = conductor.Start()
	}
	testset.Must(t, err)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != deployed+"\n" {
		t.Fatalf("the conductor says %q (%v)", line, err)
	}
	return conductor
}

// Kill starts this test program as a conductor (see Main), and kills it when its units run.
func Kill(t *testing.T, args ...string) {
	t.Helper()
	conductor := Conductor(t, args...)
	testset.Must(t, conductor.Process.Kill())
	_ = conductor.Wait() // it says that the conductor was killed
}

// AwaitGone waits until no process of this host carries the label of a conductor. They go within seconds; the
// limit is for a host that is busy.
func AwaitGone(t *testing.T, label string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(Processes(label)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes %q still run", Processes(label))
		}
	}
}

// EndsAtOnce is the environment variable without which a program under the race detector sleeps a second
// before it ends.
const EndsAtOnce = "GORACE=atexit_sleep_ms=0"

// Part returns the command that starts this test program as a part of a deployer, such as the janitor; its
// TestMain plays it. Deployers start these parts without the environment of the tests.
func Part(name string) []string {
	own, err := os.Executable()
	if err != nil {
		panic(err) // cannot happen: /proc is there
	}
	return []string{"/usr/bin/env", EndsAtOnce, own, name}
}

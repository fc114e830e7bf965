package testset

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// headless is the environment variable with which a test program ends its main thread.
const headless = "CLEAVE_TEST_HEADLESS"

// init ends the main thread of a process that Headless has started. The threads of Go's runtime stay.
func init() {
	if os.Getenv(headless) != "" {
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // does not return
	}
}

// Headless starts a process whose main thread has ended while others live: /proc shows it as a zombie. It
// ends with the test.
func Headless(t testing.TB, environment ...string) *exec.Cmd {
	t.Helper()
	process := exec.Command(os.Args[0])
	process.Env = append(environment, headless+"=1")
	Must(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill() // the test may have ended it
		_ = process.Wait()
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.Process.Pid))
		Must(t, err)
		if bytes.Contains(stat, []byte(") Z ")) {
			return process
		}
		if time.Now().After(end) {
			t.Fatalf("its main thread has not ended: %s", stat)
		}
	}
}

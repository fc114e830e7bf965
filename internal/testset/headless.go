package testset

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// headless is the environment variable of processes that Headless has started.
const headless = "CLEAVE_TEST_HEADLESS"

// BeHeadless ends the main thread of a process that Headless has started, and lets others live. It does
// nothing in other processes.
func BeHeadless() {
	if os.Getenv(headless) == "" {
		return
	}
	for range 50 { // each takes a thread, and one of them the main one
		go func() {
			runtime.LockOSThread()
			if syscall.Gettid() == os.Getpid() {
				_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // does not return
			}
			select {}
		}()
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Hour)
}

// Headless starts this test program as a process whose main thread has ended while others live: /proc shows
// it as a zombie. It ends with the test. TestMain must call BeHeadless.
func Headless(t testing.TB, environment ...string) *exec.Cmd {
	t.Helper()
	process := exec.Command(os.Args[0], "-test.run=^$") // no tests, even if TestMain does not call BeHeadless
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

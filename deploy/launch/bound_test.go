package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestAProcessIsBound checks that AwaitBound returns at once for a process that is bound to its cores, for
// one without cores and for one that has ended, and fails for others when its context ends.
func TestAProcessIsBound(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("this host has one processor")
	}
	launcher := NewLauncher()
	command := exec.Command("sleep", "1000")
	defer launcher.Close()
	testset.Must(t, launcher.Start(command, 1))
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	if err := AwaitBound(t.Context(), command.Process.Pid, []int{1}); err != nil {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	others := map[int]int{command.Process.Pid: 1, os.Getpid(): runtime.NumCPU() - 1}
	for pid, cores := range map[int][]int{command.Process.Pid: {0}, os.Getpid(): {1}} {
		if err := AwaitBound(soon, pid, cores); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("may run on %d others", others[pid])) {
			t.Errorf("%d on the processors %v: %v", pid, cores, err)
		}
		if err := AwaitBound(soon, pid, nil); err != nil {
			t.Errorf("%d on any processors: %v", pid, err)
		}
	}
	_ = command.Process.Kill()
	_ = command.Wait() // it says that the process was killed
	if err := AwaitBound(t.Context(), command.Process.Pid, []int{0}); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}

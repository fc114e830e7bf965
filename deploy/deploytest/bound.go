package deploytest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// bound binds two units to one processor each and checks that they see one processor at their start, also
// after a restart, and that the kernel lets them run on no other.
func bound(t *testing.T, s *suite) {
	if runtime.NumCPU() < 2 {
		t.Skip("this host has one processor")
	}
	l := Layout("front", "stock")
	for i := range 2 {
		l.Units[1+i].Args, l.Units[1+i].Cores = []string{"processors"}, []int{i}
	}
	d := s.play(t, l)
	harm(t, d, "stock", lab.FaultKill)
	heal(t, d, "stock", lab.FaultKill)
	for _, name := range []string{"front", "stock"} {
		if text := ask(t, d, name); text != "1" {
			t.Errorf("%s has found %s processors when it began, want 1", name, text)
		}
	}
	defer end(t, d)
	if d.Meter() != nil {
		return // its processes are not this host's
	}
	on := map[string]string{}
	for _, u := range d.Units()[1:] {
		on[u.Name] = allowed(t, u.PID)
		if strings.ContainsAny(on[u.Name], ",-") {
			t.Errorf("%s may run on the processors %s, want one", u.Name, on[u.Name])
		}
	}
	if on["front"] == on["stock"] {
		t.Errorf("both run on the processor %s, want one each", on["front"])
	}
}

// allowed returns the processors on which the kernel lets a process of this host run.
func allowed(t *testing.T, pid int) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	testset.Must(t, err)
	for line := range strings.Lines(string(status)) {
		if list, is := strings.CutPrefix(line, "Cpus_allowed_list:"); is {
			return strings.TrimSpace(list)
		}
	}
	t.Fatalf("the kernel does not say on which processors %d may run: %s", pid, status)
	return ""
}

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
		l.Units[1+i].Args = []string{"processors"}
		l.Units[1+i].Cores = []int{i}
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

// replicas checks that each replica is a unit of its own, also with limits, and that callers get the
// addresses of all.
func replicas(t *testing.T, s *suite) {
	l := Layout("front", "stock")
	l.Units[2].Scalable = true
	scaled, err := lab.Variant{Replicas: map[string]int{"stock": 3},
		Limits: map[string]lab.Limits{"stock": {CPU: 0.5}}}.Scale(l)
	testset.Must(t, err)
	d := s.play(t, scaled)
	answers(t, d, "stock-3", "stock-3:1")
	reports := end(t, d)
	if want := `"front:1 stock:1 stock-2:1 stock-3:1"`; reports["lead"] != want {
		t.Errorf("the lead has heard %s from the others, want %s", reports["lead"], want)
	}
	if len(reports) != 5 {
		t.Errorf("%d units have reported, want 5: %v", len(reports), reports)
	}
}

// reached checks that this host and the lead reach front at an address of the given kind, and stock at its
// usual address.
func reached(t *testing.T, s *suite, kind lab.Reach) {
	l := Layout("front", "stock")
	l.Units[1].Reached = kind
	d := s.play(t, l)
	answers(t, d, "front", "front:1")
	if reports, want := end(t, d), `"front:1 stock:1"`; reports["lead"] != want {
		t.Errorf("the lead has heard %s from the others, want %s", reports["lead"], want)
	}
}

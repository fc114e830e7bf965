package lab

import "testing"

// TestTheGeneratorIsNoPartOfACost: the cost excludes the generator and the roles that a system names, but
// includes databases.
func TestTheGeneratorIsNoPartOfACost(t *testing.T) {
	m := Metered{Roles: map[string]Usage{"shop": {CPUSeconds: 1, PeakMemoryBytes: 10},
		"database": {CPUSeconds: 2, PeakMemoryBytes: 20}, RoleGenerator: {CPUSeconds: 4, PeakMemoryBytes: 40}}}
	if used := m.Used(); used.CPUSeconds != 3 || used.PeakMemoryBytes != 30 {
		t.Errorf("used %g s and %d bytes, want 3 and 30", used.CPUSeconds, used.PeakMemoryBytes)
	}
	if used := m.Used("shop"); used.CPUSeconds != 2 {
		t.Errorf("used %g s without the shop, want 2", used.CPUSeconds)
	}
	m.Roles["shop"] = Usage{PeakMemoryBytes: 10, Unavailable: map[string]string{"cpu_seconds": "it ended"}}
	used := m.Used()
	if !used.Lacks("cpu_seconds") || used.Lacks("peak_memory_bytes") || m.Used("shop").Lacks("cpu_seconds") {
		t.Errorf("%+v, want that the CPU time lacks the shop's", used)
	}
}

package hosts

import "testing"

// TestNothingRunsInTheNetworkOfNoProcess, which would be that of this host.
func TestNothingRunsInTheNetworkOfNoProcess(t *testing.T) {
	if err := In(t.Context(), 0, "true"); err == nil {
		t.Error("a program has run")
	}
}

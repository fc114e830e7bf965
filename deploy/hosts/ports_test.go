package hosts

import "testing"

// TestNothingRunsInTheNetworkOfNoProcess checks that In refuses the process ID 0, which stands for a process
// that has ended: the program would run in the network of this host.
func TestNothingRunsInTheNetworkOfNoProcess(t *testing.T) {
	if err := In(t.Context(), 0, "true"); err == nil {
		t.Error("a program has run")
	}
}

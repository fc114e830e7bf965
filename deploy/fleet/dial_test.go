package fleet

import (
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
)

// TestDialDoesNotWaitInVain checks that Dial fails at once for an invalid address.
func TestDialDoesNotWaitInVain(t *testing.T) {
	const nowhere = "127.0.0.1:none"
	_, err := Dial(deploytest.Within(t), make(chan struct{}), nowhere, "token")
	deploytest.Says(t, err, "reach the unit at "+nowhere)
}

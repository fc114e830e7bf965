package fleet

import (
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
)

// TestDialDoesNotWaitInVain: no program will ever listen at what is no address.
func TestDialDoesNotWaitInVain(t *testing.T) {
	const nowhere = "127.0.0.1:none"
	_, err := Dial(deploytest.Within(t), make(chan struct{}), nowhere, "token")
	deploytest.Says(t, err, "reach the unit at "+nowhere)
}

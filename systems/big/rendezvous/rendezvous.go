// Package rendezvous lets the workers of Big find a core that is started at the
// same moment as they are: it repeats an attempt to reach the core until the
// core listens. It is used before the trial's clock runs, never for a ping.
//
// Entry point: WithCore.
package rendezvous

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

const (
	// pause lies between two attempts.
	pause = 5 * time.Millisecond
	// patience is how long a core may take to start on a busy host.
	patience = 30 * time.Second
)

// WithCore calls attempt until it returns anything but the sign that nobody
// listens yet: a refused connection or a socket file that does not exist.
func WithCore(attempt func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := attempt()
		if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the core has not listened for %s; its own report says why: %w", patience, err)
		}
		time.Sleep(pause)
	}
}

// Package rendezvous lets the processes of Big find each other though all are
// started at the same moment: it tells a worker the addresses, listens at one,
// and repeats an attempt to reach the core until the core listens. It is used
// before the trial's clock runs, never for a ping.
//
// Entry points: Addresses, Listen and WithCore.
package rendezvous

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/unit"
)

const (
	// pause lies between two attempts.
	pause = 5 * time.Millisecond
	// patience is how long a core may take to start on a busy host.
	patience = 30 * time.Second
)

// Addresses returns the host:port on which the deployer wants this worker to
// listen, and that of the core.
func Addresses() (own, core string, err error) {
	if own, err = unit.Address(); err != nil {
		return "", "", err
	}
	if core, err = unit.PeerAddress(big.RoleCore); err != nil {
		return "", "", err
	}
	return own, core, nil
}

// Listen opens the TCP address, or the Unix socket, that the deployer gave.
func Listen(network, address string) (net.Listener, error) {
	listener, err := net.Listen(network, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		advice := "end the program that holds it, or run again for another port"
		if network == "unix" {
			advice = "remove the file when no program uses it"
		}
		return nil, fmt.Errorf("listen on %s: %w: %s", address, err, advice)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return listener, nil
}

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

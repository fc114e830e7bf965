// Package rendezvous lets the processes of Big find each other although all are
// started at the same time: it returns the addresses of a worker and of the core,
// listens, and retries to reach the core until the core listens. It is used before
// the trial's clock runs, never for a ping.
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
	// retryPause is the time between two attempts.
	retryPause = 5 * time.Millisecond
	// coreTimeout limits the wait for the core, which takes longer to start on a busy host.
	coreTimeout = 30 * time.Second
)

// Addresses returns the host:port on which this worker has to listen, and that of the core.
func Addresses() (own, core string, err error) {
	if own, err = unit.Address(); err != nil {
		return "", "", err
	}
	if core, err = unit.PeerAddress(big.RoleCore); err != nil {
		return "", "", err
	}
	return own, core, nil
}

// Listen listens on a TCP address or a Unix socket. The error says what to do if it is in use.
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

// WithCore retries attempt while its error means that nobody listens yet: a refused connection, or a socket
// file that does not exist. It returns any other result, or an error after coreTimeout.
func WithCore(attempt func() error) error {
	deadline := time.Now().Add(coreTimeout)
	for {
		err := attempt()
		if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the core has not listened for %s; its own report says why: %w", coreTimeout, err)
		}
		time.Sleep(retryPause)
	}
}

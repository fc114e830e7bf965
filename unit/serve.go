package unit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// ServeHTTP serves on the listener until ctx ends. Then it accepts no more requests, waits up to drain for
// those in flight, and returns nil. If they take longer, it closes their connections and returns an error. It
// also returns an error if the server fails before ctx ends.
func ServeHTTP(ctx context.Context, listener net.Listener, server *http.Server, drain time.Duration) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		return errors.Join(fmt.Errorf("finish the requests in flight on %s: %w", listener.Addr(), err),
			server.Close())
	}
	return nil
}

// Serve listens on address, host:port or unix:PATH, and calls serve. When the conductor commands the unit to
// stop, Serve calls stop, which must end ctx. When serve has returned, it hands over the CPU profile, if
// there is one (see Profiled), and calls report. If ctx ends before the command (SIGTERM), it does not
// report: nobody waits for a report. If the conductor is gone, it calls stop and returns ErrGone, also
// without a report.
func (c *Channel) Serve(ctx context.Context, stop func(), address string,
	serve func(ctx context.Context, listener net.Listener) error, report func(*Channel) error) error {
	network, at := "tcp", address
	if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		network, at = "unix", path
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, at)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	commanded := make(chan error, 1)
	go func() {
		commanded <- c.Await(lab.CommandStop) // before stop, so that the select below finds it
		stop()
	}()
	profile, err := Profiled(func() error { return serve(ctx, listener) })
	if err != nil {
		return err
	}
	select {
	case err := <-commanded:
		if err == nil {
			err = c.handOverProfile(profile)
		}
		if err != nil {
			return err
		}
		return report(c)
	default:
		return nil
	}
}

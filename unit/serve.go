package unit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
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
	network, at := lab.SplitAddress(address)
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

// Limits of clients' connections. A connection that exceeds one is closed.
const (
	FrontHeaderTimeout = 5 * time.Second
	FrontReadTimeout   = 10 * time.Second // to receive a request, including its header
	FrontIdleTimeout   = 2 * time.Minute  // without a request
	FrontMaxHeader     = 16 << 10         // bytes
)

// NewFront returns the HTTP server for a system's clients, with limits of time and size. answer is the time
// limit of a request. WriteTimeout includes the time to read the body, because net/http starts it after the
// header.
func NewFront(handler http.Handler, answer time.Duration) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: FrontHeaderTimeout, ReadTimeout: FrontReadTimeout,
		WriteTimeout: answer + FrontReadTimeout, IdleTimeout: FrontIdleTimeout, MaxHeaderBytes: FrontMaxHeader,
	}
}

// ServeFront serves the clients of a system with a server of NewFront until ctx ends. Then it waits up to
// answer for requests in flight.
func ServeFront(
	ctx context.Context, listener net.Listener, handler http.Handler, answer time.Duration,
) error {
	return ServeHTTP(ctx, listener, NewFront(handler, answer), answer)
}

// Profiled runs work, under Go's CPU profiler if the unit's environment asks for a profile. It returns the
// path of the profile; "" if there is none.
func Profiled(work func() error) (path string, err error) {
	path = os.Getenv(lab.ProfileVariable)
	if path == "" {
		return "", work()
	}
	file, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", lab.ProfileVariable, err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", lab.ProfileVariable, err), file.Close())
	}
	err = work()
	pprof.StopCPUProfile()
	return path, errors.Join(err, file.Close())
}

package rpc

import (
	"context"
	"errors"
	"net"
	"time"
)

// Serve serves a binding on the listener until ctx ends. It then waits up to drain for
// the calls in flight, and returns nil if they have ended in time. If not, the server cancels
// them, and Serve returns an error. It also returns if the server fails before ctx ends.
// The server's Serve must return nil after Shutdown.
func Serve(ctx context.Context, listener net.Listener, server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}, drain time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return errors.Join(server.Shutdown(limited), <-served)
}

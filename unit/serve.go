package unit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ServeHTTP serves on the listener until ctx ends, then takes no new requests, finishes
// those in flight, for which they have so long, and returns nil.
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
		return errors.Join(fmt.Errorf("finish the requests in flight on %s: %w", listener.Addr(), err), server.Close())
	}
	return nil
}

package httpservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// shutdownTime is how long requests under way may take when a service ends.
const shutdownTime = 5 * time.Second

// serve runs the server in the background; failures of the server itself go to
// failed.
func serve(server *http.Server, listener net.Listener, failed func(error)) {
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serve: %w", err))
		}
	}()
}

// shutdown ends a server after the requests under way.
func shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}

package httpservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// shutdownTimeout limits the time that requests in flight have to finish when a service ends.
const shutdownTimeout = 5 * time.Second

// serve runs the server in the background. It calls failed if the server itself fails.
func serve(server *http.Server, listener net.Listener, failed func(error)) {
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serve: %w", err))
		}
	}()
}

// shutdown stops a server after it has finished the requests in flight.
func shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}

package unit

import (
	"context"
	"net"
	"net/http"
	"time"
)

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

package unit

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Limits of the connections of clients. Who is slower than these is cut off.
const (
	FrontHeaderTimeout = 5 * time.Second
	FrontReadTimeout   = 10 * time.Second // for a request to come, with its header
	FrontIdleTimeout   = 2 * time.Minute  // without a request
	FrontMaxHeader     = 16 << 10         // bytes
)

// NewFront is net/http's server of a system's clients, with limits on time and size. answer
// is the deadline of a request.
func NewFront(handler http.Handler, answer time.Duration) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: FrontHeaderTimeout, ReadTimeout: FrontReadTimeout,
		WriteTimeout: answer + FrontReadTimeout, IdleTimeout: FrontIdleTimeout, MaxHeaderBytes: FrontMaxHeader,
	}
}

// ServeFront serves clients until ctx ends, then takes no new requests, finishes those in
// flight and returns nil.
func ServeFront(
	ctx context.Context, listener net.Listener, handler http.Handler, answer time.Duration,
) error {
	return ServeHTTP(ctx, listener, NewFront(handler, answer), answer)
}

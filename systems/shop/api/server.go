package api

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/unit"
)

// The limits of a connection. A client who is slower than these is cut off.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10 // bytes
	// writeTimeout covers the work on a request and the answer to it.
	writeTimeout = RequestTimeout + 10*time.Second
)

// NewServer makes a server with limits on time and size.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
	}
}

// drainTimeout is how long requests in flight have when a server ends.
const drainTimeout = RequestTimeout

// Serve serves on the listener until ctx ends, then takes no new requests,
// finishes those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return unit.ServeHTTP(ctx, listener, NewServer(handler), drainTimeout)
}

package api

import (
	"context"
	"net"
	"net/http"

	"github.com/cleave-lab/cleave/unit"
)

// NewServer makes a server with limits on time and size.
func NewServer(handler http.Handler) *http.Server { return unit.NewFront(handler, RequestTimeout) }

// Serve serves on the listener until ctx ends, then takes no new requests,
// finishes those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return unit.ServeFront(ctx, listener, handler, RequestTimeout)
}

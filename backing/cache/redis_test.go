package cache

import (
	"context"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestTheDeadlineOfACallerIsNoOutage: a call fails with the deadline of its caller, not with ErrUnavailable,
// even if the connection notices the deadline before the context does. The client keeps its connections.
func TestTheDeadlineOfACallerIsNoOutage(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	defer func() { _ = silent.Close() }()
	client := openRedis(&url.URL{Host: silent.Addr().String()}, Options{Connections: 1, Timeout: time.Minute})
	defer func() { _ = client.close() }()
	for range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := client.get(ctx, []string{"a"})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || client.lost.Load() != 0 {
			t.Fatalf("%v, and the server counts as lost: %t", err, client.lost.Load() != 0)
		}
	}
}

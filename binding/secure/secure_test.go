package secure

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestHandshakeDoesNotWaitForEver: the handshake with a silent peer times out, and connections without TLS
// have no handshake.
func TestHandshakeDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() {
			_ = near.Close()
			_ = far.Close()
		}()
		if err := Handshake(far); err != nil {
			t.Errorf("without protection: %v", err)
		}
		begun := time.Now()
		err := Handshake(tls.Server(far, &tls.Config{MinVersion: tls.VersionTLS13}))
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != handshakeTimeout {
			t.Errorf("%v after %v, want the end of the time after %v", err, took, handshakeTimeout)
		}
	})
}

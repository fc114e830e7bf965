package trial

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAwaitGivesUpWhenWaitingCannotHelp: the certificate is not trusted here, or the server speaks
// another protocol.
func TestAwaitGivesUpWhenWaitingCannotHelp(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are to fail
	secure.StartTLS()
	defer secure.Close()
	frames := listen(t)
	go func() {
		for {
			c, err := frames.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00")) // SETTINGS
			_, _ = c.Read(make([]byte, 1<<10))
			_ = c.Close()
		}
	}()
	for name, c := range map[string]struct{ url, path, says string }{
		"certificate":                 {secure.URL, "/health", "--ca FILE"},
		"certificate without a path":  {secure.URL, "", "--ca FILE"},
		"frames of HTTP/2 for HTTP/1": {"http://" + frames.Addr().String(), "/health", "grpc://"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		err := prepare(t, specFor(t, c.url)).Await(ctx, c.path, time.Hour)
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.url) ||
			ctx.Err() == context.DeadlineExceeded {
			t.Errorf("%s: error %v, want %q at once", name, err, c.says)
		}
	}
	trusting := specFor(t, secure.URL)
	trusting.Roots = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := prepare(t, trusting).Await(t.Context(), "", time.Minute); err != nil {
		t.Errorf("with --ca: %v", err)
	}
	if _, err := prepare(t, specFor(t, secure.URL)).Play(t.Context(), Hooks{}); err == nil ||
		!strings.Contains(err.Error(), "--ca FILE") {
		t.Errorf("played without --ca: %v", err)
	}
}

package dockertest

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Fake gives the test a fake Docker daemon, which answers pings itself and passes all else to the handler.
func Fake(t *testing.T, handler http.HandlerFunc) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cleave-daemon-") // short: a socket is in it
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/_ping" {
				w.Header().Set("Api-Version", "1.41")
				return
			}
			handler(w, r)
		})}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("DOCKER_HOST", "unix://"+path)
}

// Package registrytest is a registry that keeps images in memory, for tests.
//
// Entry points: Start; Registry for tests with a server of their own.
package registrytest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
)

// Registry answers the calls by which images are put into a registry and pulled. The zero
// value is empty.
type Registry struct {
	mu     sync.Mutex
	kept   map[string][]byte // blobs and manifests, by path and digest
	types  map[string]string // their content types
	Pushed int               // number of manifests, and so of images, that were put
}

// Start starts a registry at a free port of a host, an address of this one, and returns its address,
// host:port. It ends with the test.
func Start(t *testing.T, host string) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: &Registry{}}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })   // nobody uses it any more
	return listener.Addr().String()
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string][]byte{}
		r.types = map[string]string{}
	}
	at := strings.TrimPrefix(request.URL.Path, "/v2/")
	switch {
	case request.Method == http.MethodPost && strings.HasSuffix(at, "/blobs/uploads/"):
		w.Header().Set("Location", "/v2/"+at+"one?state=1")
		w.WriteHeader(http.StatusAccepted)
	case request.Method == http.MethodPut:
		data, err := io.ReadAll(request.Body)
		digest := request.URL.Query().Get("digest")
		if strings.Contains(at, "/manifests/") {
			digest = path.Base(at)
			r.Pushed++
		} else {
			at = strings.TrimSuffix(at, "uploads/one") + digest
		}
		if actual := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); err != nil || digest != actual {
			http.Error(w, fmt.Sprintf("digest is %s, not %s", actual, digest), http.StatusBadRequest)
			return
		}
		r.kept[at] = data
		r.types[at] = request.Header.Get("Content-Type")
		w.WriteHeader(http.StatusCreated)
	case request.Method == http.MethodGet && at == "": // whether this is a registry: status 200 says yes
	case r.kept[at] != nil:
		w.Header().Set("Content-Type", r.types[at])
		w.Header().Set("Docker-Content-Digest", path.Base(at))
		w.Header().Set("Content-Length", fmt.Sprint(len(r.kept[at])))
		_, _ = w.Write(r.kept[at]) // nothing is written for HEAD
	default:
		http.NotFound(w, request)
	}
}

package fleet

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestHealthChecksUseNoProxy checks that the request of a health check goes to the unit itself, even if the
// environment names a proxy.
func TestHealthChecksUseNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // nothing listens there
	t.Setenv("NO_PROXY", "")
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
	}))
	defer server.Close()
	// No proxy is ever asked for 127.0.0.1, which is reached by this address, too.
	address := strings.Replace(server.Listener.Addr().String(), "127.0.0.1", "0.0.0.0", 1)
	visit := PortVisit(&lab.HealthCheck{Path: "/health"})
	if err := visit(t.Context(), address); err != nil {
		t.Errorf("a healthy unit: %v", err)
	}
	status = http.StatusServiceUnavailable
	if err := visit(t.Context(), address); err == nil || !strings.Contains(err.Error(), "GET /health: 503") {
		t.Errorf("a unit that is not healthy: %v", err)
	}
}

package httpservice

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/big"
)

// TestCoreRefusesRegistrations that are malformed, or one too many, which also fails the trial.
func TestCoreRefusesRegistrations(t *testing.T) {
	job := big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 1, Pings: 1}}
	c := &core{Reception: big.NewReception(job.Job), job: job}
	for _, test := range []struct {
		method, body string
		status       int
	}{
		{"POST", "12345", http.StatusBadRequest},
		{"POST", `{"address":"core"}`, http.StatusBadRequest},
		{"POST", `{"address":"127.0.0.1:65536"}`, http.StatusBadRequest},
		{"POST", `{"address":"127.0.0.1:12345","host":"elsewhere"}`, http.StatusBadRequest},
		{"GET", `{"address":"127.0.0.1:12345"}`, http.StatusMethodNotAllowed},
		{"POST", `{"address":"127.0.0.1:12345"}`, http.StatusOK},
		{"POST", `{"address":"127.0.0.1:12346"}`, http.StatusConflict}, // one more than the trial has
	} {
		recorder := httptest.NewRecorder()
		c.routes().ServeHTTP(recorder, httptest.NewRequest(test.method, "/register", strings.NewReader(test.body)))
		if recorder.Code != test.status {
			t.Errorf("%s %s: status %d, want %d", test.method, test.body, recorder.Code, test.status)
		}
	}
	if err := c.AwaitFinish(); err == nil {
		t.Error("the core does not fail after one registration too many")
	}
}

// TestDismissalStopsTheServer, also if a worker cannot be reached.
func TestDismissalStopsTheServer(t *testing.T) {
	t.Setenv("CLEAVE_ADDRESS", "127.0.0.1:0")
	workers, err := NewCore(big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 1, Pings: 1}})
	testset.Must(t, err)
	c := workers.(*core)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	_, err = c.Register(nobody.Addr().String())
	testset.Must(t, errors.Join(err, nobody.Close()))
	if err := c.Dismiss(); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the dismissal of nobody: %v", err)
	}
	if err := c.server.Serve(nobody); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("after the dismissal the server goes on: %v", err)
	}
}

package requestlog

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEveryRequestHasItsLine: the line of a request has its operation, and the status and size of the answer,
// but nothing of the path or the query, which may be secret.
func TestEveryRequestHasItsLine(t *testing.T) {
	var text bytes.Buffer
	routes := http.NewServeMux()
	routes.HandleFunc("POST /orders/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte("four"))
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(New(&text, "front").Handler(routes))
	for _, send := range []func() (*http.Response, error){
		func() (*http.Response, error) { return http.Get(server.URL + "/secret?secret=1") },
		func() (*http.Response, error) { return http.Post(server.URL+"/orders/secret", "text/plain", nil) },
	} {
		answer, err := send()
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close() // the body is not needed
	}
	server.Close() // waits for handlers
	type line struct {
		Level, Unit, Operation string
		Message                string `json:"msg"`
		Status, Bytes          int
		Seconds                float64 `json:"duration_seconds"`
	}
	var found []line
	for text := range strings.Lines(text.String()) {
		var parsed line
		err := json.Unmarshal([]byte(text), &parsed)
		if err != nil || parsed.Seconds <= 0 || strings.Contains(text, "secret") {
			t.Errorf("%v: %s", err, text)
		}
		parsed.Seconds = 0 // it varies; all other fields are compared
		found = append(found, parsed)
	}
	want := []line{{"INFO", "front", "GET", "request", 404, 19, 0},
		{"INFO", "front", "POST /orders/{id}", "request", 201, 4, 0}}
	if len(found) != 2 || found[0] != want[0] || found[1] != want[1] {
		t.Errorf("lines %+v, want %+v", found, want)
	}
}

// TestANilLogWrapsNothing: handlers and registrars stay as they are.
func TestANilLogWrapsNothing(t *testing.T) {
	var none *Log
	mux := http.NewServeMux()
	if none.Handler(mux) != http.Handler(mux) || none.Registrar(nil, nil) != nil {
		t.Error("a nil log wraps a handler or a registrar")
	}
}

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

// TestTheFinalStatusIsLogged: neither an interim status nor one that comes too late is that of the answer.
func TestTheFinalStatusIsLogged(t *testing.T) {
	text := []byte("text")
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   int
	}{
		"nothing":          {func(http.ResponseWriter) {}, 200},
		"interim alone":    {func(w http.ResponseWriter) { w.WriteHeader(103) }, 200},
		"interim and text": {func(w http.ResponseWriter) { w.WriteHeader(103); _, _ = w.Write(text) }, 200},
		"interim and 404":  {func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(404) }, 404},
		"two":              {func(w http.ResponseWriter) { w.WriteHeader(201); w.WriteHeader(500) }, 201},
		"text and 500":     {func(w http.ResponseWriter) { _, _ = w.Write(text); w.WriteHeader(500) }, 200},
		"upgrade":          {func(w http.ResponseWriter) { w.WriteHeader(101) }, 101},
	} {
		var line bytes.Buffer
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.answer(w) })
		New(&line, "front").Handler(handler).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		var logged struct{ Status int }
		if err := json.Unmarshal(line.Bytes(), &logged); err != nil || logged.Status != c.want {
			t.Errorf("%s: %s (%v), want status %d", name, line.String(), err, c.want)
		}
	}
}

// TestANilLogWrapsNothing: handlers stay as they are.
func TestANilLogWrapsNothing(t *testing.T) {
	mux := http.NewServeMux()
	if (*Log)(nil).Handler(mux) != http.Handler(mux) {
		t.Error("a nil log wraps a handler")
	}
}

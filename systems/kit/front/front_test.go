package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// sold is a kind of problems that only this system has.
const sold rpc.Kind = "sold-out"

// bakery returns a front with one resource, which calls bake. change, unless nil, changes the settings first.
func bakery(change func(*Config), bake func(ctx context.Context, r *http.Request) (Answer, error)) *Front {
	config := Config{Timeout: time.Minute, MaxBody: 8, Problems: Problems{Types: "urn:bakery:",
		Of:       func(err error) *rpc.Problem { return rpc.ProblemOf(err, "cold", "burnt") },
		Meanings: map[rpc.Kind]Meaning{sold: {http.StatusConflict, "All is sold"}}}}
	if change != nil {
		change(&config)
	}
	f := New(config)
	f.Handle("POST /loaves/{kind}", bake)
	return f
}

// ask returns the answer to a request.
func ask(f *Front, method, target, contentType, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	got := httptest.NewRecorder()
	f.ServeHTTP(got, request)
	return got
}

// TestRefusals: every kind of bad request and failure gets its status and problem document, and no cause.
func TestRefusals(t *testing.T) {
	f := bakery(nil, func(ctx context.Context, r *http.Request) (Answer, error) {
		text, err := ReadBody(r)
		if r.PathValue("kind") == "rye" {
			err = errors.Join(err, &rpc.Problem{Kind: sold, Detail: "come again"})
		}
		if r.PathValue("kind") == "oat" {
			err = errors.Join(err, errors.New("the oven's password is 1234"))
		}
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the request has no deadline")
		}
		return JSON(http.StatusCreated, text), err
	})
	for _, c := range []struct {
		method, target, contentType, body string
		status                            int
		kind                              rpc.Kind // empty: none
	}{
		{"POST", "/loaves/wheat", "application/json", "{}", 201, ""},
		{"POST", "/loaves/wheat", "application/json; charset=utf-8", "{}", 201, ""},
		{"POST", "/loaves/wheat", "text/plain", "{}", 415, NotJSON},
		{"POST", "/loaves/wheat", "application/json", "123456789", 413, TooLarge},
		{"POST", "/loaves/rye", "application/json", "{}", 409, sold},
		{"POST", "/loaves/oat", "application/json", "{}", 500, rpc.Internal},
		{"DELETE", "/loaves/wheat", "", "", 405, NoMethod},
		{"GET", "/loaves", "", "", 404, NoResource},
		{"POST", "//loaves/wheat", "application/json", "{}", 404, NoResource},
		{"GET", "/health", "", "", 200, ""},
		{"GET", "/health?x=1", "", "", 400, rpc.InvalidArgument},
	} {
		got := ask(f, c.method, c.target, c.contentType, c.body)
		if got.Code != c.status || strings.Contains(got.Body.String(), "1234") {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.target, got.Code, got.Body, c.status)
		}
		if c.kind == "" {
			continue
		}
		var problem Document
		if err := json.Unmarshal(got.Body.Bytes(), &problem); err != nil ||
			problem.Type != f.Types+string(c.kind) || problem.Status != c.status || problem.Title == "" ||
			problem.Detail == "" ||
			got.Header().Get("Content-Type") != ProblemType {
			t.Errorf("%s %s: %s, want the problem %s", c.method, c.target, got.Body, c.kind)
		}
	}
	if allow := ask(f, "DELETE", "/loaves/wheat", "", "").Header().Get("Allow"); allow != "POST" {
		t.Errorf("Allow is %q, want POST", allow)
	}
}

// TestTooManyOpenRequestsAreRefused sends a second request while the only one that may be open is open.
// Health is answered all the same.
func TestTooManyOpenRequestsAreRefused(t *testing.T) {
	var f *Front
	f = bakery(func(c *Config) { c.InFlight = 1 }, func(context.Context, *http.Request) (Answer, error) {
		second := ask(f, "POST", "/loaves/rye", "application/json", "{}")
		if second.Code != http.StatusServiceUnavailable || second.Header().Get("Retry-After") == "" ||
			!strings.Contains(second.Body.String(), string(TooBusy)) {
			t.Errorf("beside an open request: %d %s", second.Code, second.Body)
		}
		if health := ask(f, "GET", "/health", "", ""); health.Code != http.StatusOK {
			t.Errorf("beside an open request: health is %d %s", health.Code, health.Body)
		}
		return JSON(http.StatusOK, []byte("{}")), nil
	})
	for range 2 {
		if got := ask(f, "POST", "/loaves/wheat", "application/json", "{}"); got.Code != http.StatusOK {
			t.Errorf("alone: %d %s", got.Code, got.Body)
		}
	}
}

// TestFailuresOfTheSystemAreLogged: mistakes of clients are not.
func TestFailuresOfTheSystemAreLogged(t *testing.T) {
	var logged []string
	cause := errors.New("the oven is broken")
	f := bakery(func(c *Config) {
		c.LogError = func(err error) { logged = append(logged, err.Error()) }
		c.Healthy = func(context.Context) error { return cause }
	}, func(_ context.Context, r *http.Request) (Answer, error) {
		if r.PathValue("kind") == "rye" {
			return Answer{}, &rpc.Problem{Kind: sold, Detail: "come again"}
		}
		return Answer{}, fmt.Errorf("bake: %w", cause)
	})
	for _, kind := range []string{"rye", "wheat"} {
		ask(f, "POST", "/loaves/"+kind, "application/json", "{}")
	}
	if len(logged) != 1 || logged[0] != "POST /loaves/{kind}: bake: the oven is broken" {
		t.Errorf("logged %q, want the oven once", logged)
	}
	if got := ask(f, "GET", "/health", "", ""); got.Code != http.StatusServiceUnavailable ||
		strings.Contains(got.Body.String(), "oven") {
		t.Errorf("health is %d %s", got.Code, got.Body)
	}
}

package behaviour

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

func TestAnswersAreComparedWithTheDescription(t *testing.T) {
	document, err := loadDescription()
	testset.Must(t, err)
	const (
		asJSON, asProblem = "application/json", "application/problem+json"
		session           = `{"token":"t","expires":"2026-01-01T00:00:00Z"}`
		gone              = `{"type":"/problems/unknown-path","title":"There is nothing here","status":404,"detail":"x"}`
		refused           = `{"type":"/problems/no-session","title":"There is no such session, or it has expired","status":401,"detail":"x"}`
	)
	for name, c := range map[string]struct {
		method, path string
		status       int
		mediaType    string
		body         string
		allowed      bool
	}{
		"session": {"POST", "/login", 200, asJSON, session, true},
		"session with more": {"POST", "/login", 200, asJSON,
			strings.Replace(session, "{", `{"password":"p",`, 1), false},
		"session without an end": {"POST", "/login", 200, asJSON, `{"token":"t"}`, false},
		"session not in UTC": {"POST", "/login", 200, asJSON, strings.Replace(session, "Z", "+01:00", 1),
			false},
		"session that is no JSON":    {"POST", "/login", 200, asJSON, session[1:], false},
		"session as a text":          {"POST", "/login", 200, "text/plain", session, false},
		"a status that is not there": {"POST", "/login", 202, asJSON, session, false},
		"nothing":                    {"POST", "/logout", 204, "", "", true},
		"something for nothing":      {"POST", "/logout", 204, asJSON, "{}", false},
		"problem":                    {"GET", "/customers/c1", 401, asProblem, refused, true},
		"problem as plain JSON":      {"GET", "/customers/c1", 401, asJSON, refused, false},
		"problem of another status":  {"GET", "/customers/c1", 403, asProblem, refused, false},
		"problem with another title": {"GET", "/customers/c1", 401, asProblem,
			strings.Replace(refused, "There is no", "No", 1), false},
		"problem without a detail": {"GET", "/customers/c1", 401, asProblem,
			strings.Replace(refused, `"x"`, `""`, 1), false},
		"no path":            {"GET", "/customers/", 404, asProblem, gone, true},
		"no path, otherwise": {"GET", "/customers/", 404, asProblem, refused, false},
		"no method":          {"DELETE", "/login", 404, asProblem, gone, false},
	} {
		request := httptest.NewRequest(c.method, c.path, http.NoBody)
		err := document.checkAnswer(request, c.status, http.Header{"Content-Type": {c.mediaType}}, []byte(c.body))
		if (err == nil) != c.allowed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

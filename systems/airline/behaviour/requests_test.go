package behaviour

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/internal/testset"
)

// maxBody is the longest body, in bytes.
const maxBody = 16384

func refusesBodies(s *session) {
	for what, body := range map[string]string{
		"nothing": "", "a space": " ", "no JSON": "login=c1", "half": `{"login":"c1","password":`, "a list": `[]`,
		"null": `null`, "a text": `"c1"`, "a number": `1`,
		"two values": `{"login":"c1","password":"p"} {}`, "rubbish after it": `{"login":"c1","password":"p"}x`,
		"a comment": `{"login":"c1","password":"p"/**/}`,
		"a comma":   `{"login":"c1","password":"p",}`, "single quotes": `{'login':'c1','password':'p'}`,
		"no quotes":   `{login:"c1",password:"p"}`,
		"no password": `{"login":"c1"}`, "no login": `{"password":"p"}`,
		"one more": `{"login":"c1","password":"p","admin":"true"}`, "capitals": `{"Login":"c1","password":"p"}`,
		"a number for a text": `{"login":1,"password":"p"}`, "null for a text": `{"login":null,"password":"p"}`,
		"true for a text":          `{"login":true,"password":"p"}`,
		"a list for a text":        `{"login":["c1"],"password":"p"}`,
		"an object for a text":     `{"login":{"$ne":""},"password":"p"}`,
		"an empty login":           `{"login":"","password":"p"}`,
		"an empty password":        `{"login":"c1","password":""}`,
		"a long login":             `{"login":"` + strings.Repeat("x", 257) + `","password":"p"}`,
		"no UTF-8":                 "{\"login\":\"c1\xff\",\"password\":\"p\"}",
		"a bare control character": "{\"login\":\"c\n1\",\"password\":\"p\"}",
		"not a number":             `{"login":NaN,"password":"p"}`,
		"depth":                    strings.Repeat("[", 5000),
		"a prototype":              `{"login":"c1","password":"p","__proto__":{}}`,
		"as long as may be":        `{"login":"` + strings.Repeat("x", maxBody-10),
	} {
		s.refused(what, s.askAs("POST", "/login", "", body), "bad-request")
	}
	padded := `{"login":"c1","password":"wrong"}` + strings.Repeat(" ", maxBody-33)
	s.refused("as long as may be", s.askAs("POST", "/login", "", padded), "wrong-credentials")
	s.refused("a login of 256 characters", s.askAs("POST", "/login", "",
		`{"login":"`+strings.Repeat("🛫", 256)+`","password":"p"}`), "wrong-credentials")
	s.refused("one byte too long", s.askAs("POST", "/login", "", padded+" "), "too-large")
	s.refused("much too long", s.askAs("POST", "/login", "", strings.Repeat("x", 300_000)), "too-large")
	s.refused("too long, of no known length", s.streamLogin(padded+" "), "too-large")
	s.refused("of no known length", s.streamLogin(padded), "wrong-credentials")
	request, err := http.NewRequestWithContext(s.Context(), "POST", s.airline.Front+"/login",
		strings.NewReader(`{"login":"c1","password":"wrong"}`))
	testset.Must(s, err)
	for _, mediaType := range []string{"text/plain", "application/x-www-form-urlencoded",
		"application/json; charset=utf-8", "application/JSON", "nonsense", ""} {
		request.Body, err = request.GetBody()
		testset.Must(s, err)
		request.Header.Set("Content-Type", mediaType)
		got, err := s.send(request)
		testset.Must(s, err)
		s.refused("a body of the type "+mediaType, got, "wrong-credentials")
	}
	if got := s.ask("GET", "/customers/"+s.login, "{not JSON"); got.status != 200 {
		s.Errorf("a body where none is asked for: %s", got)
	}
}

// streamLogin sends the body of a login without its length.
func (s *session) streamLogin(body string) answer {
	s.Helper()
	got, err := s.try(s.Context(), "POST", s.airline.Front+"/login", s.token,
		struct{ io.Reader }{strings.NewReader(body)})
	testset.Must(s, err)
	return got
}

func refusesPathsAndMethods(s *session) {
	for _, path := range []string{
		"/", "/nothing", "/login/", "/Login", "/login/x", "/customers", "/customers/", "/customers//bookings",
		"/customers/" + s.login + "/", "/customers/" + s.login + "/bookings/",
		"/customers/" + s.login + "/bookings/1", "/customers/" + s.login + "/x", "/flights/",
		"/flights/AMS-ATH-20260227-1", "/bookings/", "/bookings/1/2", "//flights", "/flights//",
		"/favicon.ico", "/docs", "/openapi.json", "/q/health", "/customers/" + s.login + "%2Fbookings",
	} {
		want := "unknown-path"
		if strings.Contains(path, "%2F") {
			want = "not-yours" // one segment: the login of somebody
		}
		s.refused("GET "+path, s.ask("GET", path, ""), want)
	}
	for path, allowed := range map[string][]string{
		"/login": {"POST"}, "/logout": {"POST"}, "/customers/" + s.login: {"GET", "PUT"},
		"/customers/" + s.login + "/bookings": {"GET"},
		"/flights":                            {"GET"}, "/bookings": {"POST"},
		"/bookings/" + strings.Repeat("0", 32): {"DELETE"},
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"} {
			if slices.Contains(allowed, method) {
				continue
			}
			got := s.ask(method, path, "")
			if method == "HEAD" {
				if got.status != 405 {
					s.Errorf("HEAD %s: %s", path, got)
				}
			} else {
				s.refused(method+" "+path, got, "wrong-method")
			}
			methods := strings.Split(strings.ReplaceAll(got.header.Get("Allow"), " ", ""), ",")
			slices.Sort(methods)
			if !slices.Equal(methods, allowed) {
				s.Errorf("%s %s: Allow is %q, want %q", method, path, got.header.Get("Allow"), allowed)
			}
		}
	}
}

// checksInOrder sends requests with two faults: the first one in the order of checks must be reported.
func checksInOrder(s *session) {
	long := strings.Repeat("x", maxBody+1)
	for _, c := range []struct {
		what, method, path, token, body, problem string
	}{
		{"path before size", "POST", "/nothing", "", long, "unknown-path"},
		{"method before size", "PUT", "/bookings", "", long, "wrong-method"},
		{"method before session", "GET", "/bookings", "", "", "wrong-method"},
		{"size before session", "POST", "/bookings", "", long, "too-large"},
		{"size before session, where no body is read", "POST", "/logout", "", long, "too-large"},
		{"size of a body that is not read", "GET", "/customers/" + s.login, s.token, long, "too-large"},
		{"session before body", "POST", "/bookings", "", "{", "no-session"},
		{"session before parameters", "GET", "/flights?from=", "", "", "no-session"},
		{"session before owner", "GET", "/customers/" + login(s.first+1), "", "", "no-session"},
		{"session before existence", "DELETE", "/bookings/1", "", "", "no-session"},
		{"body before owner", "PUT", "/customers/" + login(s.first+1), s.token, "{}", "bad-request"},
		{"parameters before existence", "GET", "/flights?from=XXX&to=YYY&date=never", s.token, "", "bad-request"},
		{"body before existence", "POST", "/bookings", s.token, `{"flights":["x","x"]}`, "bad-request"},
		{"body before credentials", "POST", "/login", "", `{"login":"nobody","password":""}`, "bad-request"},
	} {
		s.refused(c.what, s.askAs(c.method, c.path, c.token, c.body), c.problem)
	}
}

// keepsInternalInside requests paths at the front that only units may use.
func keepsInternalInside(s *session) {
	for _, path := range []string{
		"/internal", "/internal/bookings", "/internal/sessions/" + s.token, "/internal/check",
		"/internal/flights/AMS-ATH-20260227-1", "//internal/bookings",
		"/%69nternal/bookings", "/internal%2Fbookings", "/bookings/../internal/bookings",
		"/bookings/%2e%2e/internal/bookings", "/customers/../internal/bookings",
		"/flights/../internal/flights/AMS-ATH-20260227-1", "/./internal/bookings",
		"/bookings/..%2finternal/bookings", "/login/../internal/sessions/" + s.token,
	} {
		for _, method := range []string{"GET", "POST"} {
			got := s.ask(method, path, `{"login":"c1","password":"password-1"}`)
			if got.status != 404 && got.status != 400 && got.status != 405 {
				s.Errorf("%s %s through the front: %s", method, path, got)
			}
		}
	}
}

package scenario

import (
	"strings"
	"testing"
)

func TestCookies(t *testing.T) {
	cases := []struct {
		name   string
		header string
		want   string
	}{
		{"none", "Content-Type: a\r\n", ""},
		{"one", "Set-Cookie: a=b; Path=/; HttpOnly\r\n", "a=b"},
		{"several, any case", "set-cookie:a=b\r\nSET-COOKIE: c=\"d e\"\r\nX: y\r\n", `a=b; c="d e"`},
		{"changed", "Set-Cookie: a=b\r\nSet-Cookie: a=c\r\n", "a=c"},
		{"names have case", "Set-Cookie: a=b\r\nSet-Cookie: A=c\r\n", "a=b; A=c"},
		{"value with =", "Set-Cookie: a=b=c==\r\n", "a=b=c=="},
		{"deleted by age", "Set-Cookie: a=b\r\nSet-Cookie: c=d\r\nSet-Cookie: a=x; path=/; max-age = 0\r\n", "c=d"},
		{"deleted by negative age", "Set-Cookie: a=b; Max-Age=-1\r\n", ""},
		{"deleted by an empty value", "Set-Cookie: a=b\r\nSet-Cookie: a=\r\n", ""},
		{"expiry is ignored", "Set-Cookie: a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=\r\n", "a=b"},
		{"long life", "Set-Cookie: a=b; Max-Age=100\r\n", "a=b"},
		{"no pair", "Set-Cookie: a\r\nSet-Cookie: =b\r\nSet-Cookie:\r\n", ""},
		{"control characters", "Set-Cookie: a=b\x00c\r\nSet-Cookie: d=e\rX: y\r\n", ""},
		{"too long", "Set-Cookie: a=" + strings.Repeat("b", maxCookieSize) + "\r\n", ""},
	}
	for _, c := range cases {
		var s Session
		s.readCookies(&Answer{Header: []byte(c.header)})
		if got := string(s.jar.appendTo(nil)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCookiesAreOfOneFlow(t *testing.T) {
	f := Single(Step{Request: "GET /"})
	f.Flows[0].Steps = append(f.Flows[0].Steps, Step{Request: "GET /",
		Headers: map[string]string{"Cookie": "own=1"}}, Step{Request: "GET /"})
	p, s := beginFlow(t, f)
	passStep(t, s, Answer{Status: 200, Header: []byte("Set-Cookie: a=b\r\n")})
	if got := string(s.HTTP1()); !strings.Contains(got, "\r\nCookie: own=1; a=b\r\n\r\n") {
		t.Errorf("request %q", got)
	}
	passStep(t, s, Answer{Status: 200})
	if got := string(s.HTTP1()); !strings.Contains(got, "\r\nCookie: a=b\r\n\r\n") {
		t.Errorf("request %q", got)
	}
	p.Begin(s)
	if got := string(s.HTTP1()); strings.Contains(got, "Cookie") {
		t.Errorf("request of a new flow %q", got)
	}
	passStep(t, s, Answer{Status: 200})
	if got := string(s.HTTP1()); !strings.Contains(got, "\r\nCookie: own=1\r\n\r\n") {
		t.Errorf("request without cookies of the session %q", got)
	}
}

// TestACookieMayBeAValue, also in a request that has no other value.
func TestACookieMayBeAValue(t *testing.T) {
	f := Single(Step{Request: "GET /", Headers: map[string]string{"Cookie": "session=${n}"}})
	f.Values = map[string]Value{"n": {Integer: &Range{From: 7, To: 7}}}
	_, s := beginFlow(t, f)
	if got := string(s.HTTP1()); !strings.Contains(got, "\r\nCookie: session=7\r\n\r\n") {
		t.Errorf("request %q", got)
	}
}

// FuzzCookies: whatever servers set, the header that is sent back is one line
// and small.
func FuzzCookies(f *testing.F) {
	f.Add("Set-Cookie: a=b; Max-Age=0\r\nset-cookie: c=d")
	f.Add(strings.Repeat("Set-Cookie: a=b\r\n", 3))
	f.Fuzz(func(t *testing.T, header string) {
		var s Session
		for range 2 {
			s.readCookies(&Answer{Header: []byte(header)})
		}
		got := string(s.jar.appendTo(nil))
		if strings.ContainsFunc(got, isControl) || len(s.jar) > maxCookies ||
			len(got) > maxCookies*(maxCookieSize+3) {
			t.Errorf("%q: %q", header, got)
		}
		before := got
		s.readCookies(&Answer{Header: []byte(header)})
		if got := string(s.jar.appendTo(nil)); len(s.jar) < maxCookies && len(got) != len(before) {
			t.Errorf("%q: %q after %q", header, got, before)
		}
	})
}

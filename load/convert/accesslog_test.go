package convert

import (
	"fmt"
	"strings"
	"testing"
)

const commonStart = `h - - [21/Nov/2026:07:00:00 +0000] `

func TestLinesOfAccessLogs(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{commonStart + `"GET /a?b=c HTTP/1.1" 200 5`, "GET /a?b=c 200 07:00:00"},
		{commonStart + `"GET /a HTTP/2.0" 304 - "http://r/\"" "Mozilla/5.0 (X)"`, "GET /a 304 07:00:00"},
		{`h - ada berg [21/Nov/2026:09:00:00 +0200] "HEAD /" 200 0`, "HEAD / 200 07:00:00"},
		{`h - - [21/Nov/2026:07:00:00 +0000] "-" 408 0`, ""},
		{`h - - [21/Foo/2026:07:00:00 +0000] "GET / HTTP/1.1" 200 0`, ""},
		{`{"time":"2026-11-21T07:00:00Z","request":"POST /a HTTP/1.1","status":"201"}`, "POST /a 201 07:00:00"},
		{`{"msec":1795244400.25,"request_method":"GET","request_uri":"/a","status":200}`, "GET /a 200 07:00:00.25"},
		{`{"ts":1795244400250,"method":"GET","path":"/a","query":"b=c","status":200}`, "GET /a?b=c 200 07:00:00.25"},
		{`{"StartUTC":"2026-11-21T07:00:00Z","RequestMethod":"GET","RequestPath":"/a","DownstreamStatus":200}`,
			"GET /a 200 07:00:00"},
		{`{"timestamp":"2026-11-21T07:00:00Z","httpRequest":{"requestMethod":"GET","requestUrl":"https://s/a?b","status":200}}`,
			"GET /a?b 200 07:00:00"},
		{`{"time":"inf","method":"GET","path":"/a"}`, ""},
		{`{"time":"yesterday","method":"GET","path":"/a"}`, ""},
		{`{"level":"info","msg":"GET /"}`, ""},
		{`{`, ""},
		{`Nov 21 07:00:00 h sshd[1]: Accepted password`, ""},
	} {
		l, ok := readLine([]byte(c.line))
		got := ""
		if ok {
			got = fmt.Sprint(l.method, " ", l.target, " ", l.status, " ", l.at.UTC().Format("15:04:05.999"))
		}
		if got != c.want {
			t.Errorf("%s\nis %q, want %q", c.line, got, c.want)
		}
	}
}

// TestAccessLogsBecomeReplays: the rows are in the order of their times, and those of one second are
// spread over it.
func TestAccessLogsBecomeReplays(t *testing.T) {
	text := strings.Join([]string{
		`h - - [21/Nov/2026:07:00:02 +0000] "GET /late HTTP/1.1" 200 5`,
		commonStart + `"GET / HTTP/1.1" 200 5`,
		commonStart + `"GET /a,"b HTTP/1.1" 304 5`,
		commonStart + `"GET /{c} HTTP/1.1" 302 5`,
		commonStart + `"POST / HTTP/1.1" 200 5`,
		commonStart + `"GET /x HTTP/1.1" 500 5`,
		commonStart + `"GET http://other/ HTTP/1.1" 200 5`,
		"not a request",
	}, "\n")
	c := converted(t, "access.log", text, Options{})
	if got, want := string(c.Beside["access-times.txt"]), "0.000000\n0.500000\n2.000000\n"; got != want {
		t.Errorf("times %q, want %q", got, want)
	}
	if got, want := string(c.Beside["access-log.csv"]), "path,status\n,200\n{c},302\nlate,200\n"; got != want {
		t.Errorf("rows %q, want %q", got, want)
	}
	if got := c.File.Flows[0].Steps[0].Expect.Status; got != "200, 302" {
		t.Errorf("status %q", got)
	}
	for _, note := range []string{"2 lines", "1 requests with another method", "1 requests that failed",
		"1 requests without a path", "the moments of 2 requests", "give it with --target"} {
		wantNote(t, &c, note)
	}
}

// TestOnlyWholeSecondsAreSpread: times that a line gives with a fraction stay, also beside lines without one.
func TestOnlyWholeSecondsAreSpread(t *testing.T) {
	for name, c := range map[string]struct {
		times  []string // as JSON
		want   string
		spread bool
	}{
		"fractions":               {[]string{"400.0", "400.0", "400.1"}, "0.000000 0.000000 0.100000", false},
		"zero, alone in a second": {[]string{"400.0", "400.0", "402.1"}, "0.000000 0.000000 2.100000", false},
		"milliseconds":            {[]string{"400000", "400000", "401001"}, "0.000000 0.000000 1.001000", false},
		"both":                    {[]string{"400", "400.7", "400"}, "0.000000 0.500000 0.700000", true},
		"all fractions are zero":  {[]string{"400.000", "400.000"}, "0.000000 0.500000", true},
	} {
		text := ""
		for _, at := range c.times {
			text += `{"ts":1795244` + at + `,"method":"GET","path":"/","status":200}` + "\n"
		}
		made := converted(t, "access.log", text, Options{Format: Log})
		if got := strings.Join(strings.Fields(string(made.Beside["access-times.txt"])), " "); got != c.want {
			t.Errorf("%s: times %q, want %q", name, got, c.want)
		}
		if noted(&made, "whole seconds") != c.spread {
			t.Errorf("%s: a note about whole seconds: %v, want %v", name, !c.spread, c.spread)
		}
	}
}

func TestAccessLogsThatCannotBeReplayed(t *testing.T) {
	for text, want := range map[string]string{
		"": "no requests that can be read", "password=hunter2": "no requests that can be read",
		commonStart + `"POST / HTTP/1.1" 200 5`: "no request of the log can be replayed:\n- log: 1 requests " +
			"with another",
	} {
		message := wantRefusal(t, "a.log", text, Options{Format: Log}, want)
		if strings.Contains(message, "hunter2") {
			t.Errorf("a line of the log is in the error %q", message)
		}
	}
}

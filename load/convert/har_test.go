package convert

import (
	"fmt"
	"strings"
	"testing"
)

// entryOf writes an entry as most recorders do; with replaces parts of it.
func entryOf(address, media string, with ...string) string {
	return strings.NewReplacer(with...).Replace(fmt.Sprintf(`{"startedDateTime":"2026-01-01T10:00:00.000Z","time":50,`+
		`"request":{"method":"GET","url":%q,"headers":[{"name":"Accept","value":"*/*"}],"queryString":[],"cookies":[],`+
		`"headersSize":-1,"bodySize":0},"response":{"status":200,"headers":[],"cookies":[],`+
		`"content":{"size":2,"mimeType":%q},"bodySize":2},"cache":{},"timings":{"send":0,"wait":50,"receive":0}}`,
		address, media))
}

func recordingOf(entries ...string) string {
	return `{"log":{"version":"1.2","pages":[{"title":"Shop"}],"entries":[` + strings.Join(entries, ",") + `]}}`
}

// TestRecordingsOfOtherRecorders converts recordings that differ from Chromium's.
func TestRecordingsOfOtherRecorders(t *testing.T) {
	page := entryOf("http://shop.example/", "text/html; charset=utf-8")
	script := entryOf("http://cdn.example/0.js", "text/javascript")
	stream := entryOf("http://shop.example/events", "text/event-stream")
	socket := entryOf("wss://me:geheim@shop.example/a", "")
	cases := []struct{ name, text, requests, noted string }{
		{"password in a note", recordingOf(page, socket), "GET /", "wss://me:***@shop.example/a"},
		{"byte order mark", "\ufeff" + recordingOf(page), "GET /", ""},
		{"cookies as an object", recordingOf(strings.ReplaceAll(page, `"cookies":[]`, `"cookies":{}`)), "GET /", ""},
		{"headers as null", recordingOf(strings.Replace(page, `"headers":[]`, `"headers":null`, 1)), "GET /", ""},
		{"size with a fraction", recordingOf(strings.ReplaceAll(page, `"bodySize":0`, `"bodySize":0.0`)), "GET /", ""},
		{"status as a text", recordingOf(strings.Replace(page, `"status":200`, `"status":"200"`, 1)), "GET /", ""},
		{"one entry without a request", recordingOf(`{"request":[1]}`, page), "GET /", "entry 1"},
		{"pages as an object", strings.Replace(recordingOf(page), `[{"title":"Shop"}]`, "{}", 1), "GET /", ""},
		{"event stream by its type", recordingOf(page, stream), "GET /", "a stream of events has no end"},
		{"event stream by its header", recordingOf(page, entryOf("http://shop.example/events", "",
			`"headers":[],"cookies":[],"content"`, `"headers":[{"name":"content-type",`+
				`"value":"text/event-stream;charset=utf-8"}],"content"`)), "GET /", "a stream of events has no end"},
		{"preflight by its header", recordingOf(page, strings.Replace(entryOf("http://shop.example/api", "", `"GET"`,
			`"OPTIONS"`), `"name":"Accept"`, `"name":"Access-Control-Request-Method"`, 1)), "GET /",
			"a browser's own question"},
		{"host of the page", recordingOf(page, script, script, script), "GET /", "http://cdn.example: 3 requests"},
		{"redirect to the page", recordingOf(entryOf("http://example/", "text/html", `"status":200`, `"status":301`),
			page, script), "GET /", "http://example: 1 requests"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conversion := converted(t, "a.har", c.text, Options{})
			var requests []string
			for _, step := range conversion.File.Flows[0].Steps {
				requests = append(requests, step.Request)
			}
			got := strings.Join(requests, ", ")
			target := conversion.File.Target
			status := conversion.File.Flows[0].Steps[0].Expect.Status
			if got != c.requests || target != "http://shop.example" || status != "200" {
				t.Errorf("requests %s to %s with status %s, want %s", got, target, status, c.requests)
			}
			if c.noted != "" {
				wantNote(t, &conversion, c.noted)
			}
		})
	}
}

// TestATimeThatIsNoNumberIsNoPause: NaN would end an entry centuries before its beginning.
func TestATimeThatIsNoNumberIsNoPause(t *testing.T) {
	page := entryOf("http://shop.example/", "text/html", `"time":50`, `"time":"NaN"`)
	conversion := converted(t, "a.har", recordingOf(page, page), Options{})
	if think := conversion.File.Flows[0].Steps[0].Think; think != 0 {
		t.Errorf("a pause of %v", think)
	}
}

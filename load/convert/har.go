package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/load/scenario"
)

// entry is one request of a recording (HAR 1.2) with its answer, as far as a scenario needs it.
type entry struct {
	started      string
	time         float64 // in ms
	method       string
	address      string
	headers      []pair
	cookies      []pair
	postData     *postData
	bodySize     int64 // in bytes, -1 unknown
	status       int64
	contentType  string
	setCookies   []pair
	setHeaders   []pair
	failure      string // Chromium's, as the next three
	resourceType string
	fromCache    string
	websocket    bool

	number int // in the recording, from 1
	url    *url.URL
	start  time.Time
}

// pair is a header, a cookie or a query parameter.
type pair struct{ name, value string }

// newEntry reads an entry. A field of another type than HAR's is read as far as it makes sense: one that
// matters makes the entry unusable, and no other may.
func newEntry(number int, of gjson.Result) *entry {
	request, response := of.Get("request"), of.Get("response")
	e := &entry{
		number: number, started: of.Get("startedDateTime").String(), time: of.Get("time").Float(),
		method: request.Get("method").String(), address: request.Get("url").String(),
		headers: pairs(request.Get("headers")), cookies: pairs(request.Get("cookies")),
		bodySize: request.Get("bodySize").Int(), status: response.Get("status").Int(),
		contentType: response.Get("content.mimeType").String(),
		setCookies:  pairs(response.Get("cookies")), setHeaders: pairs(response.Get("headers")),
		failure: response.Get("_error").String(), resourceType: of.Get("_resourceType").String(),
		fromCache: of.Get("_fromCache").String(), websocket: of.Get("_webSocketMessages.0").Exists(),
	}
	if sent := request.Get("postData"); sent.IsObject() {
		e.postData = newPostData(sent)
	}
	if value, found := valueOf(e.setHeaders, "Content-Type"); found && e.contentType == "" {
		e.contentType = value
	}
	return e
}

// pairs reads a list of names and values; anything else is an empty one.
func pairs(list gjson.Result) []pair {
	if !list.IsArray() {
		return nil
	}
	var all []pair
	for _, item := range list.Array() {
		all = append(all, pair{item.Get("name").String(), item.Get("value").String()})
	}
	return all
}

// valueOf returns the value of a header, whatever its case.
func valueOf(headers []pair, name string) (value string, found bool) {
	i := slices.IndexFunc(headers, func(h pair) bool { return strings.EqualFold(h.name, name) })
	if i < 0 {
		return "", false
	}
	return headers[i].value, true
}

// isType reports whether the answer has a media type, whatever its parameters.
func (e *entry) isType(media string) bool {
	plain, _, _ := strings.Cut(e.contentType, ";")
	return strings.EqualFold(strings.TrimSpace(plain), media)
}

// where names the entry in notes.
func (e *entry) where() string { return "entry " + strconv.Itoa(e.number) }

// what shows the entry in notes, without its query, which may hold secrets.
func (e *entry) what() string {
	address, _, _ := strings.Cut(e.address, "?")
	return e.method + " " + address
}

// origin is scheme and host of the entry.
func (e *entry) origin() string { return e.url.Scheme + "://" + e.url.Host }

// end returns when the answer was complete.
func (e *entry) end() time.Time {
	const longest = 24 * time.Hour // a duration beyond it is a mistake of the recorder
	took := time.Duration(min(max(e.time, 0), longest.Seconds()*1000) * float64(time.Millisecond))
	return e.start.Add(took)
}

// readRecording reads the entries of a recording and the title of its first page.
func readRecording(data []byte) (entries []*entry, title string, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var valid json.RawMessage
	if err := json.Unmarshal(data, &valid); err != nil {
		return nil, "", err
	}
	log := gjson.GetBytes(bytes.ToValidUTF8(data, []byte("\ufffd")), "log")
	if list := log.Get("entries"); list.IsArray() {
		for i, item := range list.Array() {
			entries = append(entries, newEntry(i+1, item))
		}
	}
	return entries, log.Get("pages.0.title").String(), nil
}

// har converts a recording.
func (d *draft) har(data []byte, options Options) error {
	entries, title, err := readRecording(data)
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	if len(entries) == 0 {
		return errors.New("the recording has no entries: record with the network tab open, then save as HAR")
	}
	usable := d.usableEntries(entries)
	kept, err := d.keepOrigin(usable, options.Host)
	if err != nil {
		return err
	}
	flow := scenario.Flow{Name: "recording"}
	if oneLine(title) != "" {
		flow.Name = oneLine(literal(title))
	}
	dropped := map[string]bool{}
	var played []*entry
	for _, e := range kept {
		step, ok := d.recordedStep(e, dropped)
		if ok && len(played) == maxSteps {
			d.note(e.where(), e.what(), fmt.Sprintf("a flow has at most %d steps", maxSteps))
		} else if ok {
			flow.Steps = append(flow.Steps, step)
			played = append(played, e)
		}
	}
	if len(played) == 0 {
		return errors.New("no entry of the recording can be played:" + d.reasons())
	}
	d.file.Target = played[0].origin()
	d.pauses(flow.Steps, played, options.NoThink)
	d.cookies(played)
	d.leftOutHeaders(dropped)
	d.file.Flows = []scenario.Flow{flow}
	return nil
}

// usableEntries returns the entries that are plain requests with an answer, in
// the order of their start.
func (d *draft) usableEntries(entries []*entry) []*entry {
	var usable []*entry
	for _, e := range entries {
		if reason := e.unusable(); reason != "" {
			d.lose(e.where(), e.what(), reason)
			continue
		}
		usable = append(usable, e)
	}
	slices.SortStableFunc(usable, func(a, b *entry) int { return a.start.Compare(b.start) })
	return usable
}

// unusable says why an entry cannot be a step; it reads the entry's address and
// time on the way.
func (e *entry) unusable() string {
	var err error
	e.url, err = url.Parse(e.address)
	if err != nil || e.url.Host == "" && e.url.Scheme != "data" && e.url.Scheme != "blob" {
		return "its URL cannot be read"
	}
	e.start, err = time.Parse(time.RFC3339Nano, e.started)
	switch {
	case e.url.Scheme == "ws" || e.url.Scheme == "wss" || e.status == 101 || e.websocket:
		return "websockets have no counterpart"
	case e.url.Scheme != "http" && e.url.Scheme != "https":
		return "not a request over HTTP"
	case e.resourceType == "eventsource" || e.isType("text/event-stream"):
		return "a stream of events has no end that could be timed"
	case e.resourceType == "preflight" || e.isPreflight():
		return "a browser's own question before a request to another origin; the engine asks none"
	case e.fromCache != "":
		return "answered by the browser's " + e.fromCache + " cache; the target did not see it"
	case e.status == 0:
		return strings.TrimSpace("has no answer (blocked, aborted or failed) " + e.failure)
	case e.status < 200 || e.status > 599:
		return fmt.Sprintf("status %d is not a final one", e.status)
	case !methodToken(e.method):
		return "its method cannot be sent"
	case err != nil:
		return "its time cannot be read, so its place in the flow is unknown"
	}
	return ""
}

// isPreflight reports whether a browser asked whether it may send a request to another origin (Fetch, CORS
// protocol).
func (e *entry) isPreflight() bool {
	_, asks := valueOf(e.headers, "Access-Control-Request-Method")
	return asks && e.method == http.MethodOptions
}

// isPage reports whether the answer is a page, and not a redirect to one.
func (e *entry) isPage() bool {
	if e.status >= 300 && e.status < 400 && e.status != http.StatusNotModified {
		return false
	}
	return e.resourceType == "document" ||
		e.resourceType == "" && (e.isType("text/html") || e.isType("application/xhtml+xml"))
}

// methodToken reports whether a text can be a request's method, and is not one
// that opens a tunnel.
func methodToken(method string) bool {
	for _, r := range method {
		if (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' {
			return false
		}
	}
	return method != "" && method != "CONNECT"
}

// keepOrigin chooses the origin that the scenario plays against and lists the
// others.
func (d *draft) keepOrigin(usable []*entry, host string) ([]*entry, error) {
	counts := map[string]int{}
	var origins []string // in order of appearance
	for _, e := range usable {
		if counts[e.origin()] == 0 {
			origins = append(origins, e.origin())
		}
		counts[e.origin()]++
	}
	main := mainOrigin(usable, origins, counts, host)
	if main == "" && host != "" {
		return nil, fmt.Errorf("no entry goes to host %s: the recording has %s", host, strings.Join(origins, ", "))
	}
	for _, origin := range origins {
		if origin != main {
			d.note(origin, fmt.Sprintf("%d requests", counts[origin]),
				"a scenario has one target, "+main+"; import again and choose this host for a scenario of its own")
		}
	}
	return slices.DeleteFunc(usable, func(e *entry) bool { return e.origin() != main }), nil
}

// mainOrigin returns the main origin of the chosen host; without choice that of the first page,
// or the most frequent where the recording has no page.
func mainOrigin(usable []*entry, origins []string, counts map[string]int, host string) string {
	for _, e := range usable {
		if host == "" && e.isPage() || host != "" && (e.url.Host == host || e.origin() == host) {
			return e.origin()
		}
	}
	main := ""
	for _, origin := range origins {
		if host == "" && counts[origin] > counts[main] {
			main = origin
		}
	}
	return main
}

// pauses sets the think times: from the end of everything before a request to
// its start.
func (d *draft) pauses(steps []scenario.Step, played []*entry, none bool) {
	overlapping := 0
	last := played[0].end()
	for i := 1; i < len(played); i++ {
		gap := played[i].start.Sub(last).Round(time.Millisecond)
		if played[i].start.Before(last) {
			overlapping++
		} else if !none {
			steps[i-1].Think = scenario.Duration(gap)
		}
		if played[i].end().After(last) {
			last = played[i].end()
		}
	}
	if overlapping > 0 {
		d.note("recording", fmt.Sprintf("%d requests began before the ones before them had ended", overlapping),
			"the steps of a flow follow each other; a browser's parallel connections have no counterpart")
	}
	if none {
		d.note("recording", "pauses between the requests", "left out as asked")
	}
}

package convert

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/load/scenario"
)

// entry is one request of a recording (HAR 1.2) with its answer, reduced to what a scenario needs.
type entry struct {
	recorded
	started      string
	time         float64 // in ms
	postData     gjson.Result
	bodySize     int64 // in bytes; -1: unknown
	status       int64
	contentType  string
	failure      string // an extension of Chromium, like the next three fields
	resourceType string
	fromCache    string
	websocket    bool
}

// newEntry reads an entry. It accepts fields of another type than HAR's if their value is clear. An
// unreadable field makes the entry unusable only if it matters.
func newEntry(number int, of gjson.Result) *entry {
	request, response := of.Get("request"), of.Get("response")
	e := &entry{
		recorded: recorded{
			where:  "entry " + strconv.Itoa(number),
			method: request.Get("method").String(), address: request.Get("url").String(),
			headers: fields(request.Get("headers")),
		},
		started: of.Get("startedDateTime").String(), time: of.Get("time").Float(),
		postData: request.Get("postData"),
		bodySize: request.Get("bodySize").Int(), status: response.Get("status").Int(),
		contentType: response.Get("content.mimeType").String(),
		failure:     response.Get("_error").String(), resourceType: of.Get("_resourceType").String(),
		fromCache: of.Get("_fromCache").String(), websocket: of.Get("_webSocketMessages.0").Exists(),
	}
	for _, c := range fields(request.Get("cookies")) {
		e.cookies = append(e.cookies, c.name)
	}
	for _, c := range fields(response.Get("cookies")) {
		e.sets = append(e.sets, c.name)
	}
	answered := fields(response.Get("headers"))
	for _, h := range answered {
		if strings.EqualFold(h.name, "set-cookie") {
			for line := range strings.Lines(h.value) { // Chromium joins several with line ends
				name, _, _ := strings.Cut(line, "=")
				e.sets = append(e.sets, strings.TrimSpace(name))
			}
		}
	}
	if value, found := valueOf(answered, "Content-Type"); found && e.contentType == "" {
		e.contentType = value
	}
	return e
}

// fields reads a list of names and values. It returns nil for anything else.
func fields(list gjson.Result) []field {
	if !list.IsArray() {
		return nil
	}
	var all []field
	for _, item := range list.Array() {
		all = append(all, field{item.Get("name").String(), item.Get("value").String()})
	}
	return all
}

// valueOf returns the value of a header, regardless of the case of its name.
func valueOf(headers []field, name string) (value string, found bool) {
	i := slices.IndexFunc(headers, func(h field) bool { return strings.EqualFold(h.name, name) })
	if i < 0 {
		return "", false
	}
	return headers[i].value, true
}

// isType reports whether the answer has a media type, regardless of parameters.
func (e *entry) isType(media string) bool {
	plain, _, _ := strings.Cut(e.contentType, ";")
	return strings.EqualFold(strings.TrimSpace(plain), media)
}

// har converts a recording of a browser: its requests in the order in which they began.
func (d *draft) har(data []byte, options Options) error {
	recording, err := parseJSON(data)
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	entries := recording.Get("log.entries").Array()
	if len(entries) == 0 {
		return errors.New("the recording has no entries: record with the network tab open, then save as HAR")
	}
	for i, item := range entries {
		e := newEntry(i+1, item)
		d.keep(&e.recorded, d.complete(e))
	}
	slices.SortStableFunc(d.found, func(a, b *recorded) int { return a.start.Compare(b.start) })
	name := cmp.Or(oneLine(recording.Get("log.pages.0.title").String()), "recording")
	return d.flow("recording", name, options)
}

// complete fills in the rest of an entry, and returns the reason why it cannot be a step, or "".
func (d *draft) complete(e *entry) string {
	body, bodyUnknown := e.sentBody()
	e.body = body
	unknown := e.recorded.parse()
	var timeErr error
	e.start, timeErr = time.Parse(time.RFC3339Nano, e.started)
	const longest = 24 * time.Hour // a longer duration is a mistake of the recorder
	e.end = e.start
	if e.time > 0 { // it is not if it is NaN
		e.end = e.start.Add(time.Duration(min(e.time, longest.Seconds()*1000) * float64(time.Millisecond)))
	}
	_, asks := valueOf(e.headers, "Access-Control-Request-Method")
	switch {
	case e.status == 101 || e.websocket:
		return "websockets have no counterpart"
	case unknown != "":
		return unknown
	case e.resourceType == "eventsource" || e.isType("text/event-stream"):
		return "a stream of events has no end that could be timed"
	case e.resourceType == "preflight" || asks && e.method == http.MethodOptions: // Fetch, CORS protocol
		return "a browser's own question before a request to another origin; the engine asks none"
	case e.fromCache != "":
		return "answered by the browser's " + e.fromCache + " cache; the target did not see it"
	case e.status == 0:
		return strings.TrimSpace("has no answer (blocked, aborted or failed) " + e.failure)
	case e.status < 200 || e.status > 599:
		return fmt.Sprintf("status %d is not a final one", e.status)
	case timeErr != nil:
		return "its time cannot be read, so its place in the flow is unknown"
	case bodyUnknown != "":
		return bodyUnknown
	}
	if e.status == http.StatusNotModified {
		d.note(e.where, "status 304 (not modified)",
			"the flow has no cache of its own: asked without condition, and 200 is expected")
		e.status = 200
	}
	if size := e.bodySize; size > 0 && size != int64(len(body)) {
		d.note(e.where, fmt.Sprintf("a body of %d bytes", size),
			fmt.Sprintf("the recording holds %d bytes of it; these are sent", len(body)))
	}
	if e.postData.IsObject() {
		e.mimeType = e.postData.Get("mimeType").String()
	}
	e.expect = scenario.Expect{Status: strconv.FormatInt(e.status, 10)}
	redirects := e.status >= 300 && e.status < 400
	e.page = !redirects && (e.resourceType == "document" ||
		e.resourceType == "" && (e.isType("text/html") || e.isType("application/xhtml+xml")))
	return ""
}

// sentBody returns the body of the request, or the reason why it is unknown.
func (e *entry) sentBody() (body, reason string) {
	if !e.postData.IsObject() {
		if e.bodySize > 0 {
			return "", fmt.Sprintf("the recording lacks its body of %d bytes", e.bodySize)
		}
		return "", ""
	}
	mimeType, text := e.postData.Get("mimeType").String(), e.postData.Get("text").String()
	var fields []string
	isUpload := strings.HasPrefix(mimeType, "multipart/") && strings.Contains(text, "filename=")
	if list := e.postData.Get("params"); list.IsArray() {
		for _, item := range list.Array() {
			fields = append(fields, url.QueryEscape(item.Get("name").String())+"="+
				url.QueryEscape(item.Get("value").String()))
			isUpload = isUpload || item.Get("fileName").String() != ""
		}
	}
	switch encoding := e.postData.Get("encoding").String(); {
	case isUpload:
		return "", "uploads a file, whose content a recording does not keep reliably"
	case encoding == "base64":
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !utf8.Valid(decoded) {
			return "", "its body is binary; a scenario holds texts"
		}
		return string(decoded), ""
	case encoding != "":
		return "", "its body has the unknown encoding " + encoding
	case text != "" || len(fields) == 0:
		return text, ""
	case !strings.HasPrefix(mimeType, "application/x-www-form-urlencoded"):
		return "", "the recording has only the fields of its body, not the text"
	}
	return strings.Join(fields, "&"), ""
}

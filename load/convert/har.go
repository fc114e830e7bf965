package convert

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/load/scenario"
)

// newEntry returns the request of an entry of a recording (HAR 1.2), with the cookies that its answer sets.
// Like complete, it accepts fields of another type than HAR's if their value is clear.
func newEntry(number int, of gjson.Result) *recorded {
	request := of.Get("request")
	response := of.Get("response")
	r := &recorded{
		where:  "entry " + strconv.Itoa(number),
		method: request.Get("method").String(), address: request.Get("url").String(),
		headers: fields(request.Get("headers")),
	}
	for _, c := range fields(request.Get("cookies")) {
		r.cookies = append(r.cookies, c.name)
	}
	for _, c := range fields(response.Get("cookies")) {
		r.sets = append(r.sets, c.name)
	}
	for _, h := range fields(response.Get("headers")) {
		if strings.EqualFold(h.name, "set-cookie") {
			for line := range strings.Lines(h.value) { // Chromium joins several with line ends
				name, _, _ := strings.Cut(line, "=")
				r.sets = append(r.sets, strings.TrimSpace(name))
			}
		}
	}
	return r
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

// mediaOf returns the media type of an answer, in lower case and without parameters.
func mediaOf(response gjson.Result) string {
	written := response.Get("content.mimeType").String()
	if written == "" {
		written, _ = valueOf(fields(response.Get("headers")), "Content-Type")
	}
	media, _, _ := strings.Cut(written, ";")
	return strings.ToLower(strings.TrimSpace(media))
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
		r := newEntry(i+1, item)
		d.keep(r, d.complete(r, item))
	}
	slices.SortStableFunc(d.found, func(a, b *recorded) int { return a.start.Compare(b.start) })
	title := oneLine(recording.Get("log.pages.0.title").String())
	return d.flow("recording", cmp.Or(title, "recording"), options)
}

// complete reads the rest of an entry, and returns the reason why it cannot be a step, or "". A field that
// cannot be read matters only where its value would.
func (d *draft) complete(r *recorded, of gjson.Result) string {
	request := of.Get("request")
	response := of.Get("response")
	status := response.Get("status").Int()
	media := mediaOf(response)
	kind := of.Get("_resourceType").String() // an extension of Chromium, like all with an underscore
	var bodyUnknown string
	r.body, bodyUnknown = sentBody(request)
	unknown := r.parse()
	timeErr := r.setTimes(of)
	_, asks := valueOf(r.headers, "Access-Control-Request-Method")
	isPreflight := asks && r.method == http.MethodOptions // Fetch, CORS protocol
	switch cached := of.Get("_fromCache").String(); {
	case status == 101 || of.Get("_webSocketMessages.0").Exists():
		return "websockets have no counterpart"
	case unknown != "":
		return unknown
	case kind == "eventsource" || media == "text/event-stream":
		return "a stream of events has no end that could be timed"
	case kind == "preflight" || isPreflight:
		return "a browser's own question before a request to another origin; the engine asks none"
	case cached != "":
		return "answered by the browser's " + cached + " cache; the target did not see it"
	case status == 0:
		return strings.TrimSpace("has no answer (blocked, aborted or failed) " + response.Get("_error").String())
	case status < 200 || status > 599:
		return fmt.Sprintf("status %d is not a final one", status)
	case timeErr != nil:
		return "its time cannot be read, so its place in the flow is unknown"
	case bodyUnknown != "":
		return bodyUnknown
	}
	if status == http.StatusNotModified {
		d.note(r.where, "status 304 (not modified)",
			"the flow has no cache of its own: asked without condition, and 200 is expected")
		status = http.StatusOK
	}
	if size := request.Get("bodySize").Int(); size > 0 && size != int64(len(r.body)) {
		d.note(r.where, fmt.Sprintf("a body of %d bytes", size),
			fmt.Sprintf("the recording holds %d bytes of it; these are sent", len(r.body)))
	}
	r.mimeType = request.Get("postData.mimeType").String()
	r.expect = scenario.Expect{Status: strconv.FormatInt(status, 10)}
	if kind == "" && slices.Contains([]string{"text/html", "application/xhtml+xml"}, media) {
		kind = "document"
	}
	redirects := status >= 300 && status < 400
	r.page = kind == "document" && !redirects
	return ""
}

// setTimes reads when the request of an entry began and ended.
func (r *recorded) setTimes(of gjson.Result) (err error) {
	r.start, err = time.Parse(time.RFC3339Nano, of.Get("startedDateTime").String())
	const longest = float64(24 * time.Hour) // a longer duration is a mistake of the recorder
	r.end = r.start
	if ms := of.Get("time").Float(); ms > 0 { // it is not if it is NaN
		took := min(ms*float64(time.Millisecond), longest)
		r.end = r.start.Add(time.Duration(took))
	}
	return err
}

// sentBody returns the body of a request, or the reason why it is unknown.
func sentBody(request gjson.Result) (body, reason string) {
	data := request.Get("postData")
	if !data.IsObject() {
		if size := request.Get("bodySize").Int(); size > 0 {
			return "", fmt.Sprintf("the recording lacks its body of %d bytes", size)
		}
		return "", ""
	}
	mimeType := data.Get("mimeType").String()
	text := data.Get("text").String()
	params := data.Get("params")
	form := fields(params)
	isUpload := strings.HasPrefix(mimeType, "multipart/") && strings.Contains(text, "filename=")
	if params.IsArray() {
		for _, item := range params.Array() {
			isUpload = isUpload || item.Get("fileName").String() != ""
		}
	}
	switch encoding := data.Get("encoding").String(); {
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
	case text != "" || len(form) == 0:
		return text, ""
	case !strings.HasPrefix(mimeType, formType):
		return "", "the recording has only the fields of its body, not the text"
	}
	return encodedForm(form), ""
}

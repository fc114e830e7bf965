package convert

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/load/scenario"
)

// postData is the body of a recorded request.
type postData struct {
	mimeType string
	text     string
	params   []param
	encoding string // base64, or empty
}

// param is a field of a recorded form.
type param struct{ name, value, fileName string }

// newPostData reads a body.
func newPostData(of gjson.Result) *postData {
	p := &postData{mimeType: of.Get("mimeType").String(), text: of.Get("text").String(),
		encoding: of.Get("encoding").String()}
	if list := of.Get("params"); list.IsArray() {
		for _, item := range list.Array() {
			p.params = append(p.params, param{item.Get("name").String(), item.Get("value").String(),
				item.Get("fileName").String()})
		}
	}
	return p
}

// recordedStep returns the step of an entry; not ok when its body cannot be sent.
// Names of headers that are left out are added to dropped.
func (d *draft) recordedStep(e *entry, dropped map[string]bool) (step scenario.Step, ok bool) {
	body, reason := e.body()
	if reason != "" {
		d.lose(e.where(), e.what(), reason)
		return step, false
	}
	path := requestTarget(e.url.EscapedPath())
	if path == "" {
		path = "/"
	}
	step.Name = literal(e.method + " " + path)
	if e.url.RawQuery != "" {
		path += "?" + requestTarget(e.url.RawQuery)
	}
	step.Request = literal(e.method + " " + path)
	step.Body = literal(body)
	step.Headers = d.recordedHeaders(e, dropped)
	if _, typed := findHeader(step.Headers, "Content-Type"); !typed && body != "" &&
		e.postData.mimeType != "" {
		step.Headers["Content-Type"] = literal(oneLine(e.postData.mimeType))
	}
	status := e.status
	if status == 304 {
		d.note(e.where(), "status 304 (not modified)",
			"the flow has no cache of its own: asked without condition, and 200 is expected")
		status = 200
	}
	step.Expect.Status = strconv.FormatInt(status, 10)
	if size := e.bodySize; size > 0 && size != int64(len(body)) {
		d.note(e.where(), fmt.Sprintf("a body of %d bytes", size),
			fmt.Sprintf("the recording holds %d bytes of it; these are sent", len(body)))
	}
	return step, true
}

// body returns what the entry sent, or the reason why it is not known.
func (e *entry) body() (body, reason string) {
	p := e.postData
	if p == nil {
		if e.bodySize > 0 {
			return "", fmt.Sprintf("the recording lacks its body of %d bytes", e.bodySize)
		}
		return "", ""
	}
	isFile := func(p param) bool { return p.fileName != "" }
	switch {
	case slices.ContainsFunc(p.params, isFile),
		strings.HasPrefix(p.mimeType, "multipart/") && strings.Contains(p.text, "filename="):
		return "", "uploads a file, whose content a recording does not keep reliably"
	case p.encoding == "base64":
		decoded, err := base64.StdEncoding.DecodeString(p.text)
		if err != nil || !utf8.Valid(decoded) {
			return "", "its body is binary; a scenario holds texts"
		}
		return string(decoded), ""
	case p.encoding != "":
		return "", "its body has the unknown encoding " + p.encoding
	case len(p.text) > maxText:
		return "", fmt.Sprintf("its body has more than %d bytes", maxText)
	case strings.ContainsRune(p.text, utf8.RuneError) || strings.ContainsRune(p.text, 0):
		return "", "its body is binary; a scenario holds texts"
	case p.text != "" || len(p.params) == 0:
		return p.text, ""
	case !strings.HasPrefix(p.mimeType, "application/x-www-form-urlencoded"):
		return "", "the recording has only the fields of its body, not the text"
	}
	return form(p.params), ""
}

// form encodes fields as a browser's form does, in their order.
func form(params []param) string {
	var fields []string
	for _, p := range params {
		fields = append(fields, url.QueryEscape(p.name)+"="+url.QueryEscape(p.value))
	}
	return strings.Join(fields, "&")
}

// recordedHeaders keeps what the application sent and leaves out what the
// engine or any browser adds.
func (d *draft) recordedHeaders(e *entry, dropped map[string]bool) map[string]string {
	kept := map[string]string{}
	for _, h := range e.headers {
		switch lower := strings.ToLower(h.name); {
		case lower == "cookie": // see draft.cookies
		case setByEngine(h.name) || addedByBrowser(lower):
			dropped[lower] = true
		case !validHeader(h.name, h.value):
			d.note(e.where(), "header "+h.name,
				"cannot be sent: its name or value has characters that are not allowed")
		default:
			if lower == "authorization" || lower == "x-api-key" || strings.HasPrefix(lower, "x-csrf") ||
				strings.HasPrefix(lower, "x-xsrf") {
				d.note("recording", "header "+h.name,
					"kept as recorded: it may have expired, and it is a secret now in the scenario; better extract or "+
						"generate it")
			}
			if name, known := findHeader(kept, h.name); known {
				kept[name] += ", " + literal(h.value) // RFC 9110, section 5.3: the same as two lines
				continue
			}
			kept[h.name] = literal(h.value)
		}
	}
	return kept
}

// addedByBrowser reports whether browsers add a header, lower case, by
// themselves: it describes the browser, its cache or the page, not the request.
func addedByBrowser(name string) bool {
	switch name {
	case "user-agent", "accept-encoding", "accept-language", "upgrade-insecure-requests", "dnt", "priority",
		"cache-control", "pragma", "if-none-match", "if-modified-since", "referer", "origin", "save-data",
		"purpose":
		return true
	}
	return strings.HasPrefix(name, "sec-") || strings.HasPrefix(name, "access-control-request-")
}

// leftOutHeaders lists what recordedHeaders left out.
func (d *draft) leftOutHeaders(dropped map[string]bool) {
	if len(dropped) > 0 {
		d.note("recording", "headers "+strings.Join(slices.Sorted(maps.Keys(dropped)), ", "),
			"set by the engine or added by browsers; add under headers what your target needs (without "+
				"accept-encoding, answers come uncompressed)")
	}
}

// findHeader finds a header whatever its case.
func findHeader(headers map[string]string, name string) (key string, found bool) {
	for key := range headers {
		if strings.EqualFold(key, name) {
			return key, true
		}
	}
	return "", false
}

// hoistHeaders takes headers that are the same in all steps out of them.
func (d *draft) hoistHeaders() {
	var all []map[string]string
	for _, f := range d.file.Flows {
		for _, s := range f.Steps {
			all = append(all, s.Headers)
		}
	}
	if len(all) < 2 {
		return
	}
	shared := map[string]string{}
	for name, value := range all[0] {
		differs := func(headers map[string]string) bool { v, has := headers[name]; return !has || v != value }
		if !strings.Contains(value, "${") && !slices.ContainsFunc(all, differs) {
			shared[name] = value
		}
	}
	for _, headers := range all {
		maps.DeleteFunc(headers, func(name, _ string) bool { _, is := shared[name]; return is })
	}
	d.file.Headers = shared
}

// cookies lists those that no answer of the flow gave: the flow's own cookie
// jar begins empty.
func (d *draft) cookies(played []*entry) {
	given, foreign := map[string]bool{}, map[string]bool{}
	for _, e := range played {
		for _, c := range slices.Concat(e.cookies, cookiePairs(e.headers)) {
			if !given[c.name] {
				foreign[c.name] = true
			}
		}
		for _, c := range e.setCookies {
			given[c.name] = true
		}
		for _, h := range e.setHeaders {
			if strings.EqualFold(h.name, "set-cookie") {
				for line := range strings.Lines(h.value) { // Chromium joins several by line ends
					name, _, _ := strings.Cut(line, "=")
					given[strings.TrimSpace(name)] = true
				}
			}
		}
	}
	if len(foreign) > 0 {
		d.note("recording", "cookies "+strings.Join(slices.Sorted(maps.Keys(foreign)), ", "),
			"set before the recording began or by a script; a flow begins without cookies and keeps those of its "+
				"answers: record in a fresh profile, or add a header Cookie")
	}
}

// cookiePairs returns the cookies of a header line.
func cookiePairs(headers []pair) []pair {
	var cookies []pair
	for _, h := range headers {
		if !strings.EqualFold(h.name, "cookie") {
			continue
		}
		for part := range strings.SplitSeq(h.value, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			if name != "" {
				cookies = append(cookies, pair{name, value})
			}
		}
	}
	return cookies
}

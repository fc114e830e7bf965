package convert

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/secret"
)

// recorded is one request as it was recorded or written. Its texts may contain references to values of
// the scenario (see draft.reference).
type recorded struct {
	where    string // names it in notes
	name     string // name of its step; empty: method and path
	method   string
	address  string
	url      *url.URL // the parsed address
	page     bool     // its answer is an HTML page
	headers  []field
	mimeType string // type of the body, if no header says it
	body     string
	expect   scenario.Expect
	texts    []field // that its answer must have: of a header, or without a name of the body
	extract  map[string]scenario.Extraction
	cookies  []string // names of the cookies that it sends in addition to its headers
	sets     []string // names of the cookies that its answer sets

	start, end time.Time     // zero: not known
	think      time.Duration // the pause after it, if its times are not known
}

// field is a header, a cookie, a query parameter or a field of a form.
type field struct{ name, value string }

// formType is the media type of a form without files.
const formType = "application/x-www-form-urlencoded"

// encodedForm returns the body of a form.
func encodedForm(fields []field) string {
	var all []string
	for _, f := range fields {
		all = append(all, url.QueryEscape(f.name)+"="+url.QueryEscape(f.value))
	}
	return strings.Join(all, "&")
}

// what describes the request for notes, without its password, and without its query, which may contain
// secrets.
func (r *recorded) what() string {
	address, _, _ := strings.Cut(strings.TrimPrefix(r.address, unknownTarget), "?")
	return r.method + " " + secret.HidePasswords(readable(address))
}

// origin returns scheme and host of the request.
func (r *recorded) origin() string { return r.url.Scheme + "://" + r.url.Host }

// parse parses the address and returns the reason why the request cannot be a step, or "".
func (r *recorded) parse() string {
	// The marks of references are escaped first: otherwise url.Parse would ignore the escapes of the path, such
	// as %2F.
	var err error
	r.url, err = url.Parse(strings.NewReplacer("\ue000", "%EE%80%80", "\ue001", "%EE%80%81").Replace(r.address))
	const unreadable = "its URL cannot be read"
	if err != nil {
		return unreadable
	}
	hasNoHost := r.url.Scheme == "data" || r.url.Scheme == "blob"
	switch {
	case r.url.Host == "" && !hasNoHost, !utf8.ValidString(r.url.Host): // such as http://%80
		return unreadable
	case strings.Contains(r.address, "\ue000env:") || referencePattern.MatchString(r.url.Host):
		return "its URL has a variable that is not known beforehand"
	case r.url.Scheme == "ws" || r.url.Scheme == "wss":
		return "websockets have no counterpart"
	case !isHTTP(r.url.Scheme):
		return "not a request over HTTP"
	case !methodToken(r.method):
		return "its method cannot be sent"
	case len(r.body) > maxText:
		return fmt.Sprintf("its body has more than %d bytes", maxText)
	case strings.ContainsRune(r.body, utf8.RuneError) || strings.ContainsRune(r.body, 0):
		return "its body is binary; a scenario holds texts"
	}
	return ""
}

// unknownTarget stands for a server that the input does not name. The user gives it.
const unknownTarget = "http://unknown.invalid"

// forget removes the values that are extracted from the answer to a request that the scenario lacks, and adds
// a note about each.
func (d *draft) forget(r *recorded) {
	for _, name := range sortedKeys(r.extract) {
		d.note(r.where, "the value "+name+" of its answer", "the request is not in the scenario: the name is sent")
		delete(d.refs, name)
	}
}

// keep adds a request to the flow, or lists it if there is a reason why it cannot be a step.
func (d *draft) keep(r *recorded, reason string) {
	if reason == "" {
		d.found = append(d.found, r)
		return
	}
	d.lose(r.where, r.what(), reason)
	d.forget(r)
}

// flow adds a flow of the requests that were found, against one server. source names the input in notes.
func (d *draft) flow(source, name string, options Options) error {
	kept, err := d.keepOrigin(source, d.found, options.Host)
	if err != nil {
		return err
	}
	flow := scenario.Flow{Name: name}
	dropped := map[string]bool{}
	if len(kept) > maxSteps {
		d.lose(source, fmt.Sprintf("%d of its requests", len(kept)-maxSteps),
			fmt.Sprintf("a flow has at most %d steps", maxSteps))
		kept = kept[:maxSteps]
	}
	for _, r := range kept {
		flow.Steps = append(flow.Steps, d.recordedStep(source, r, dropped))
	}
	if len(kept) == 0 {
		return errors.New("no request of the " + source + " can be played:" + d.reasons())
	}
	if d.file.Target = kept[0].origin(); d.file.Target == unknownTarget {
		d.file.Target = ""
	}
	d.pauses(source, flow.Steps, kept, options.NoThink)
	d.cookies(source, kept)
	if len(dropped) > 0 {
		d.note(source, "headers "+strings.Join(sortedKeys(dropped), ", "),
			"set by the engine or added by browsers; add under headers what your target needs (without "+
				"accept-encoding, answers come uncompressed)")
	}
	d.file.Flows = append(d.file.Flows, flow)
	return nil
}

// recordedStep returns the step of a request. It adds the names of omitted headers to dropped.
func (d *draft) recordedStep(source string, r *recorded, dropped map[string]bool) scenario.Step {
	path := cmp.Or(r.url.EscapedPath(), "/")
	path = restoreReferences(requestTarget(path))
	if at := referencePattern.FindStringSubmatchIndex(path); at != nil && at[0] == 1 {
		name := path[at[2]:at[3]]
		if _, drawn := d.file.Values[name]; d.refs[name] && !drawn {
			path = path[1:] // a value of an answer may be a whole path or URL
		}
	}
	step := scenario.Step{Name: r.name, Body: d.scenarioText(r.body), Expect: r.expect,
		Extract: r.extract, Think: scenario.Duration(r.think)}
	if r.name == "" {
		step.Name = scenario.Literal(r.method + " " + readable(path))
	}
	if r.url.RawQuery != "" {
		path += "?" + restoreReferences(requestTarget(r.url.RawQuery))
	}
	step.Request = d.scenarioText(r.method + " " + path)
	for _, text := range r.texts {
		d.expectText(&step, r.where, text)
	}
	step.Headers = d.recordedHeaders(source, r, dropped)
	if _, typed := findHeader(step.Headers, "Content-Type"); !typed && r.body != "" && r.mimeType != "" {
		step.Headers["Content-Type"] = scenario.Literal(oneLine(r.mimeType))
	}
	return step
}

// expectText adds the expectation of a text in a header, or without a name in the body.
func (d *draft) expectText(step *scenario.Step, where string, in field) {
	for _, m := range referencePattern.FindAllStringSubmatch(in.value, -1) {
		if !d.refs[m[1]] || strings.HasPrefix(m[1], "env:") {
			d.note(where, "expects "+readable(in.value), "its value is not known when the answer comes")
			return
		}
	}
	text := d.scenarioText(in.value)
	if strings.HasPrefix(text, "re:") { // it is no pattern
		text = "re:" + regexp.QuoteMeta(in.value)
	}
	expect := &step.Expect
	name, known := findHeader(expect.Header, in.name)
	switch {
	case text == "", in.name == "" && slices.Contains(expect.Body, text):
	case in.name == "":
		expect.Body = append(expect.Body, text)
	case !known:
		expect.Header = with(expect.Header, in.name, text)
	case expect.Header[name] != text:
		d.note(where, "expects "+readable(in.value)+" in the header "+in.name,
			"one text for each header; another one counts")
	}
}

// recordedHeaders returns the headers that the application sent, without those that the engine or any
// browser adds.
func (d *draft) recordedHeaders(source string, r *recorded, dropped map[string]bool) map[string]string {
	kept := map[string]string{}
	for _, h := range r.headers {
		switch lower := strings.ToLower(h.name); {
		case lower == "cookie": // see draft.cookies
		case setByEngine(h.name) || addedByBrowser(lower):
			dropped[lower] = true
		case !validHeader(h.name, h.value):
			d.note(r.where, "header "+h.name,
				"cannot be sent: its name or value has characters that are not allowed")
		default:
			if isCredential(lower) && !referencePattern.MatchString(h.value) {
				d.note(source, "header "+h.name,
					"kept as recorded: it may have expired, and it is a secret now in the scenario; better extract or "+
						"generate it")
			}
			if name, known := findHeader(kept, h.name); known {
				kept[name] += ", " + d.scenarioText(h.value) // RFC 9110, section 5.3: equivalent to two lines
				continue
			}
			kept[h.name] = d.scenarioText(h.value)
		}
	}
	return kept
}

// isCredential reports whether a header (in lower case) proves who sends it.
func isCredential(name string) bool {
	switch name {
	case "authorization", "x-api-key":
		return true
	}
	return strings.HasPrefix(name, "x-csrf") || strings.HasPrefix(name, "x-xsrf")
}

// addedByBrowser reports whether browsers add a header (in lower case) by themselves. Such a header
// describes the browser, its cache or the page, not the request.
func addedByBrowser(name string) bool {
	switch name {
	case "user-agent", "accept-encoding", "accept-language", "upgrade-insecure-requests", "dnt", "priority",
		"cache-control", "pragma", "if-none-match", "if-modified-since", "referer", "origin", "save-data",
		"purpose":
		return true
	}
	return strings.HasPrefix(name, "sec-") || strings.HasPrefix(name, "access-control-request-")
}

// findHeader finds a header regardless of the case of its name.
func findHeader(headers map[string]string, name string) (key string, found bool) {
	for key := range headers {
		if strings.EqualFold(key, name) {
			return key, true
		}
	}
	return "", false
}

// hoistHeaders moves headers that all steps share to the scenario.
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

// methodPattern matches the names of methods.
var methodPattern = regexp.MustCompile(`^[A-Za-z-]+$`)

// methodToken reports whether a text is a method that a step can have. CONNECT, which opens a tunnel, is
// not.
func methodToken(method string) bool { return methodPattern.MatchString(method) && method != "CONNECT" }

// isHTTP reports whether a scheme is one that scenarios can play.
func isHTTP(scheme string) bool { return scheme == "http" || scheme == "https" }

// keepOrigin returns the requests to the target of the scenario, and lists those to other servers.
func (d *draft) keepOrigin(source string, usable []*recorded, host string) (kept []*recorded, err error) {
	counts := map[string]int{}
	var origins []string // in order of appearance
	for _, e := range usable {
		if counts[e.origin()] == 0 {
			origins = append(origins, e.origin())
		}
		counts[e.origin()]++
	}
	main := mainOrigin(usable, origins, counts, host)
	named := main
	if main == unknownTarget {
		named = "the one that you give"
	}
	if main == "" && host != "" {
		return nil, fmt.Errorf("no request goes to host %s: the %s has %s", host, source,
			strings.Join(origins, ", "))
	}
	for _, origin := range origins {
		if origin != main {
			d.note(origin, fmt.Sprintf("%d requests", counts[origin]),
				"a scenario has one target, "+named+"; import again and choose this host for a scenario of its own")
		}
	}
	for _, r := range usable {
		if r.origin() == main {
			kept = append(kept, r)
		} else {
			d.forget(r)
		}
	}
	return kept, nil
}

// mainOrigin returns the origin of the wanted host. By default it is the origin of the first page, or the
// most frequent origin if there is no page.
func mainOrigin(usable []*recorded, origins []string, counts map[string]int, host string) string {
	isWanted := func(r *recorded) bool { return r.url.Host == host || r.origin() == host }
	if host == "" {
		isWanted = func(r *recorded) bool { return r.page }
	}
	if i := slices.IndexFunc(usable, isWanted); i >= 0 {
		return usable[i].origin()
	}
	if host != "" {
		return ""
	}
	main := ""
	for _, origin := range origins {
		if counts[origin] > counts[main] {
			main = origin
		}
	}
	return main
}

// pauses sets the think times: from the end of all requests before a request to its start.
func (d *draft) pauses(source string, steps []scenario.Step, played []*recorded, none bool) {
	overlapping := 0
	last := played[0].end
	for i := 1; i < len(played) && !last.IsZero(); i++ {
		gap := played[i].start.Sub(last).Round(time.Millisecond)
		if played[i].start.Before(last) {
			overlapping++
		} else {
			steps[i-1].Think = scenario.Duration(gap)
		}
		if played[i].end.After(last) {
			last = played[i].end
		}
	}
	if overlapping > 0 {
		d.note(source, fmt.Sprintf("%d requests began before the ones before them had ended", overlapping),
			"the steps of a flow follow each other; a browser's parallel connections have no counterpart")
	}
	if none {
		for i := range steps {
			steps[i].Think = 0
		}
		d.note(source, "pauses between the requests", "left out as asked")
	}
}

// cookies lists the cookies that no answer of the flow has set. The cookie jar of a flow begins empty.
func (d *draft) cookies(source string, played []*recorded) {
	given := map[string]bool{}
	foreign := map[string]bool{}
	for _, r := range played {
		for _, name := range slices.Concat(r.cookies, cookieNames(r.headers)) {
			if !given[name] {
				foreign[name] = true
			}
		}
		for _, name := range r.sets {
			given[name] = true
		}
	}
	if len(foreign) > 0 {
		d.note(source, "cookies "+strings.Join(sortedKeys(foreign), ", "),
			"set before the recording began or by a script; a flow begins without cookies and keeps those of its "+
				"answers: record in a fresh profile, or add a header Cookie")
	}
}

// basicAuth returns the authorization header for user:password (RFC 7617).
func basicAuth(user string) field {
	return field{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user))}
}

// cookieNames returns the names of the cookies in header lines.
func cookieNames(headers []field) []string {
	var names []string
	for _, h := range headers {
		if !strings.EqualFold(h.name, "cookie") {
			continue
		}
		for part := range strings.SplitSeq(h.value, ";") {
			if name, _, _ := strings.Cut(strings.TrimSpace(part), "="); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

package convert

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/scenario"
)

// isSampler reports whether an element is an HTTP request or a pause, which are converted. Other elements
// that JMeter plays are listed.
func isSampler(class string) bool {
	return slices.Contains([]string{"HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2", "TestAction"}, class)
}

// isController reports whether an element decides which requests below it are played.
func isController(class string) bool {
	return strings.HasSuffix(class, "Controller") || class == "InterleaveControl"
}

// playsOnce reports whether a controller plays everything below it once and in order (ok), and what the
// conversion loses.
func playsOnce(class string) (lost, why string, ok bool) {
	switch class {
	case "GenericController", "RecordingController", "LogicController":
		return "", "", true
	case "TransactionController":
		return "the time of the transaction", "steps are timed one by one; its requests are there", true
	case "CriticalSectionController":
		return "one user at a time", "flows do not wait for each other; its requests are there", true
	case "OnceOnlyController":
		return "only in a user's first iteration",
			"every flow is a new user, so its requests are in every flow", true
	}
	return "", "", false
}

// sequence converts elements that are played one after another.
func (p *testPlan) sequence(children []*element) {
	for _, e := range children {
		switch lost, why, once := playsOnce(e.class); {
		case !e.enabled:
		case isSampler(e.class):
			p.sampler(e)
		case once:
			e.reached = true
			if lost != "" {
				p.note(e.where(), lost, why)
			}
			p.sequence(e.children)
		case isController(e.class):
			p.skip(e, "a controller that repeats or chooses is not converted: write its requests as steps of the "+
				"flow, or as flows with weights")
		}
	}
}

// sampler adds a step for a request, or a pause.
func (p *testPlan) sampler(e *element) {
	e.reached = true
	scope := e.scope()
	before, throttles := p.pause(scope)
	if e.class == "TestAction" {
		const pause = "1"
		e.text("ActionProcessor.target") // marks the setting as used: it is for stops
		if e.text("ActionProcessor.action") != pause {
			p.skip(e, "stopping or skipping from within a flow has no counterpart")
			return
		}
		p.group.pending += before + time.Duration(p.span(e, "ActionProcessor.duration", time.Millisecond))
		p.group.timers = append(p.group.timers, throttles...)
		return
	}
	settings := append([]*element{e}, defaults(scope)...)
	if reason := cannotSend(settings); reason != "" {
		p.skip(e, reason)
		return
	}
	path, ok := p.address(e, settings)
	if !ok {
		return
	}
	step := scenario.Step{Name: e.name, Headers: p.headers(e, scope)}
	p.request(e, settings, &step, path)
	if setting(settings, "HTTPSampler.follow_redirects") == "true" ||
		setting(settings, "HTTPSampler.auto_redirects") == "true" {
		p.redirects = append(p.redirects, e.name)
	}
	if setting(settings, "HTTPSampler.use_keepalive") == "false" {
		p.note(e.where(), "a connection of its own",
			"a flow keeps its connection; the command line can give every flow a new one")
	}
	p.checks(scope, &step)
	if len(p.group.steps) == maxSteps {
		p.group.lost++
		return
	}
	p.group.steps = append(p.group.steps, step)
	p.group.before = append(p.group.before, p.group.pending+before)
	p.group.pending = 0
	p.group.timers = append(p.group.timers, throttles...)
}

// scope returns the elements that apply to a sampler, from the outside in: those beside the elements that
// contain it, those beside it, and those below it.
func (e *element) scope() []*element {
	var applies []*element
	if e.parent != nil {
		applies = e.parent.scope()
	}
	for _, child := range e.children {
		isPlayed := isSampler(child.class) || isController(child.class) || isGroup(child.class)
		if child.enabled && !isPlayed {
			applies = append(applies, child)
		}
	}
	return applies
}

// defaults returns the HTTP request defaults in scope, the nearest first.
func defaults(scope []*element) []*element {
	var found []*element
	for _, e := range slices.Backward(scope) {
		if e.class == "ConfigTestElement" && e.gui == "HttpDefaultsGui" {
			e.reached = true
			found = append(found, e)
		}
	}
	return found
}

// setting returns the nearest value of a property, and marks all of them as used.
func setting(settings []*element, name string) string {
	value := ""
	for _, e := range settings {
		if text := strings.TrimSpace(e.text(name)); value == "" {
			value = text
		}
	}
	return value
}

// cannotSend returns the reason why a request cannot be a step, or "".
func cannotSend(settings []*element) string {
	files := settings[0].find("HTTPsampler.Files").collection("HTTPFileArgs.files")
	switch {
	case len(files) > 0:
		return "uploads files, which a scenario cannot"
	case setting(settings, "HTTPSampler.DO_MULTIPART_POST") == "true":
		return "a multipart body is not converted; write it as body with its content type"
	case !methodToken(method(settings)):
		return "its method is not one that can be sent"
	}
	return ""
}

// method returns the method of a request.
func method(settings []*element) string {
	return cmp.Or(setting(settings, "HTTPSampler.method"), "GET")
}

// address returns the path of a request to the target; ok is false for all others, which it lists.
func (p *testPlan) address(e *element, settings []*element) (path string, ok bool) {
	var server [3]string // protocol, domain, port
	known := true        // known before the load, and no mere default of a property
	for i, name := range []string{"HTTPSampler.protocol", "HTTPSampler.domain", "HTTPSampler.port"} {
		text := p.expandMarked(e, setting(settings, name), 0)
		if referencePattern.MatchString(text) || strings.Contains(text, unset) {
			known = false
		}
		server[i] = strings.TrimSpace(text)
	}
	path = p.resolve(e, setting(settings, "HTTPSampler.path"))
	at, valid := "", true // at stays empty if the server is not known
	scheme, rest, isURL := strings.Cut(path, "://")
	switch {
	case isURL && isHTTP(scheme):
		end := strings.IndexAny(rest+"/", "/?")
		if at, valid = origin(scheme, rest[:end], ""); !valid || end == 0 {
			p.skip(e, "its path is a URL whose server is not known beforehand")
			return "", false
		}
		path = rest[end:]
	case known:
		if at, valid = origin(strings.ToLower(server[0]), server[1], server[2]); !valid {
			p.skip(e, "its server is not one for HTTP: "+strings.Join(server[:], " "))
			return "", false
		}
	default:
		if !p.acceptUnknownServer(e, settings) {
			return "", false
		}
	}
	path = "/" + strings.TrimPrefix(path, "/")
	if p.counts == nil && at != p.target {
		request := method(settings) + " " + requestTarget(path)
		p.note(e.where(), request+" to "+cmp.Or(at, "no server"), "a scenario has one target, "+p.target)
		return "", false
	}
	if p.counts != nil {
		if p.counts[at]++; p.counts[at] > p.counts[p.target] {
			p.target = at
		}
	}
	return path, true
}

// acceptUnknownServer reports whether a request may go to the target that the user gives, although its server
// is not known before the load: it comes from a data file or from a property of the command line. Only one
// such server is accepted, so that no request goes to another one than the plan intends.
func (p *testPlan) acceptUnknownServer(e *element, settings []*element) bool {
	written := strings.TrimSpace(setting(settings, "HTTPSampler.protocol") + " " +
		setting(settings, "HTTPSampler.domain") + " " + setting(settings, "HTTPSampler.port"))
	p.unknown = cmp.Or(p.unknown, written)
	if written != p.unknown {
		p.skip(e, "its server, "+written+", is not known beforehand, and is another than "+p.unknown)
		return false
	}
	p.note(e.where(), "server "+written, "not known beforehand: give it with --target")
	return true
}

// origin returns scheme and host, or "" if there is no domain; ok is false if they are not valid.
func origin(protocol, domain, port string) (at string, ok bool) {
	protocol = cmp.Or(protocol, "http")
	usual := map[string]string{"http": "80", "https": "443"}[protocol]
	if usual == "" || domain == "" {
		return "", usual != ""
	}
	if !slices.Contains([]string{"", "0", usual}, port) {
		domain = net.JoinHostPort(strings.Trim(domain, "[]"), port)
	}
	u, err := url.Parse(protocol + "://" + domain)
	if err != nil || u.Host != domain || strings.ContainsAny(domain, "${}") {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}

// request sets the method, path, query and body of a step.
func (p *testPlan) request(e *element, settings []*element, step *scenario.Step, path string) {
	m := method(settings)
	inQuery := slices.Contains([]string{"GET", "DELETE", "HEAD", "OPTIONS"}, m)
	var arguments []*property
	for _, from := range settings {
		arguments = append(arguments, from.find("HTTPsampler.Arguments").collection("Arguments.arguments")...)
	}
	named := slices.ContainsFunc(arguments, func(a *property) bool { return a.text("Argument.name") != "" })
	raw := setting(settings, "HTTPSampler.postBodyRaw") == "true"
	if !named && !inQuery {
		raw = true
	}
	var fields []string
	for _, argument := range arguments {
		argument.used = true
		name := argument.text("Argument.name")
		value := argument.text("Argument.value")
		switch {
		case raw:
			fields = append(fields, p.resolve(e, value))
		case name == "":
			p.note(e.where(), "argument "+value, "has no name; left out, as JMeter does")
			argument.use()
		default:
			fields = append(fields, p.field(e, argument, name, value))
		}
	}
	target := requestTarget(path)
	switch {
	case raw:
		step.Body = strings.Join(fields, "")
	case len(fields) > 0 && inQuery:
		separator := "?"
		if strings.Contains(target, "?") {
			separator = "&"
		}
		target += separator + strings.Join(fields, "&")
	case len(fields) > 0:
		step.Body = strings.Join(fields, "&")
		if _, given := findHeader(step.Headers, "Content-Type"); !given {
			step.Headers["Content-Type"] = formType + "; charset=UTF-8"
		}
	}
	step.Request = m + " " + target
}

// field returns one parameter of a query or a form, encoded.
func (p *testPlan) field(e *element, argument *property, name, value string) string {
	joint := "="
	if argument.text("HTTPArgument.use_equals") == "false" && value == "" {
		joint = ""
	}
	if !argument.truth("HTTPArgument.always_encode") {
		return requestTarget(p.resolve(e, name) + joint + p.resolve(e, value))
	}
	return p.encoded(e, name) + joint + p.encoded(e, value)
}

// encoded resolves a text and encodes its constant parts for a URL.
func (p *testPlan) encoded(e *element, text string) string {
	text = p.expand(e, text, 0)
	for _, m := range referencePattern.FindAllStringSubmatch(text, -1) {
		if _, generated := p.file.Values[m[1]]; !generated {
			p.note(e.where(), "encoding of ${"+m[1]+"}",
				"values from data or answers are sent as they are, not encoded for a URL")
		}
	}
	return p.scenarioText(restoreReferences(url.QueryEscape(text)))
}

// headers merges the header managers in scope; the nearest one counts.
func (p *testPlan) headers(e *element, scope []*element) map[string]string {
	merged := map[string]string{}
	for _, manager := range scope {
		if manager.class != "HeaderManager" {
			continue
		}
		manager.reached = true
		for _, h := range manager.collection("HeaderManager.headers") {
			h.used = true
			name := h.text("Header.name")
			value := p.resolve(e, h.text("Header.value"))
			switch {
			case name == "" && value == "":
			case setByEngine(name):
				p.note(manager.where(), "header "+name, "the engine sets it")
			case strings.EqualFold(name, "Accept-Encoding"):
				p.note(manager.where(), "header "+name+": "+value,
					"answers are not decompressed, so expectations and extractions could not read them; add it if none is "+
						"needed")
			case !validHeader(name, value):
				p.note(manager.where(), "header "+name,
					"cannot be sent: its name or value has characters that are not allowed")
			default:
				if old, known := findHeader(merged, name); known {
					delete(merged, old)
				}
				merged[name] = value
			}
		}
	}
	return merged
}

package convert

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/scenario"
)

// isSampler tells elements that are played from those that set something up.
// What is neither HTTP nor a pause is listed when it is reached.
func isSampler(class string) bool {
	switch class {
	case "HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2", "TestAction":
		return true
	}
	return false
}

// sampler converts an element that is played.
func (p *testPlan) sampler(e *element) (plannedStep, bool) {
	e.reached = true
	scope := e.scope()
	s := plannedStep{where: e.where()}
	s.before, s.throttles = p.pause(scope)
	if e.class == "TestAction" {
		s.empty = true
		wait, ok := p.flowAction(e)
		s.before += wait
		return s, ok
	}
	settings := append([]*element{e}, defaults(scope)...)
	if reason := p.cannotSend(settings); reason != "" {
		p.skip(e, reason)
		return s, false
	}
	s.step.Name = literal(e.name)
	s.step.Headers = p.headers(e, scope)
	path, ok := p.address(e, settings, &s)
	if !ok {
		return s, false
	}
	p.request(e, settings, &s.step, path)
	p.differences(e, settings)
	p.checks(e, scope, &s.step)
	p.extractions(e, scope, &s.step)
	return s, true
}

// flowAction reads the pause of a Flow Control Action.
func (p *testPlan) flowAction(e *element) (time.Duration, bool) {
	const pause = "1"
	if e.text("ActionProcessor.action") != pause {
		p.skip(e, "stopping or skipping from within a flow has no counterpart")
		return 0, false
	}
	e.text("ActionProcessor.target") // of stops
	return p.milliseconds(e, "ActionProcessor.duration"), true
}

// scope lists what applies to a sampler, from the outside in: the elements that
// stand beside it and beside what contains it, and those below it.
func (e *element) scope() []*element {
	var applies []*element
	if e.parent != nil {
		applies = e.parent.scope()
	}
	for _, child := range e.children {
		if child.enabled && !isSampler(child.class) && !strings.HasSuffix(child.class, "Controller") &&
			!isGroup(child.class) {
			applies = append(applies, child)
		}
	}
	return applies
}

// defaults lists the HTTP request defaults in scope, the nearest first.
func defaults(scope []*element) []*element {
	var found []*element
	for i := len(scope) - 1; i >= 0; i-- {
		if scope[i].class == "ConfigTestElement" && scope[i].gui == "HttpDefaultsGui" {
			scope[i].reached = true
			found = append(found, scope[i])
		}
	}
	return found
}

// setting returns the nearest value of a property; all count as read.
func setting(settings []*element, name string) string {
	value := ""
	for _, e := range settings {
		if text := strings.TrimSpace(e.text(name)); value == "" {
			value = text
		}
	}
	return value
}

// cannotSend says why a request cannot be a step.
func (p *testPlan) cannotSend(settings []*element) string {
	files := collection(collection(settings[0].props, "HTTPsampler.Files"), "HTTPFileArgs.files")
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

func method(settings []*element) string {
	if m := setting(settings, "HTTPSampler.method"); m != "" {
		return m
	}
	return "GET"
}

// address finds the server and returns the path, resolved.
func (p *testPlan) address(e *element, settings []*element, s *plannedStep) (path string, ok bool) {
	fixed := true
	read := func(name string) string {
		pieces := p.pieces(e, setting(settings, name), 0)
		text, isConstant := joinConstant(pieces)
		fixed = fixed && isConstant && !slices.ContainsFunc(pieces, func(part piece) bool { return part.unset })
		return text
	}
	domain, port, protocol := read("HTTPSampler.domain"), read("HTTPSampler.port"), read("HTTPSampler.protocol")
	path = p.resolve(e, setting(settings, "HTTPSampler.path"))
	if scheme, rest, isURL := strings.Cut(path, "://"); isURL && (scheme == "http" || scheme == "https") {
		end := strings.IndexAny(rest+"/", "/?")
		if s.origin, ok = origin(scheme, rest[:end], ""); !ok || end == 0 {
			p.skip(e, "its path is a URL whose server is not known beforehand")
			return "", false
		}
		return "/" + strings.TrimPrefix(rest[end:], "/"), true
	}
	if !fixed {
		return "/" + strings.TrimPrefix(path, "/"), p.elsewhere(e, settings)
	}
	s.origin, ok = origin(strings.ToLower(protocol), strings.TrimSpace(domain), strings.TrimSpace(port))
	if !ok {
		p.skip(e, "its server is not one for HTTP: "+protocol+" "+domain+" "+port)
		return "", false
	}
	return "/" + strings.TrimPrefix(path, "/"), true
}

// elsewhere takes a server that is not known beforehand, from a data file or a property of
// the command line, for the target that the user gives: one such server, so that no
// request goes where its plan did not mean it to go.
func (p *testPlan) elsewhere(e *element, settings []*element) bool {
	written := setting(settings, "HTTPSampler.protocol") + " " + setting(settings, "HTTPSampler.domain") + " " +
		setting(settings, "HTTPSampler.port")
	written = strings.TrimSpace(written)
	if p.unknown == "" {
		p.unknown = written
	}
	if written != p.unknown {
		p.skip(e, "its server, "+written+", is not known beforehand, and is another than "+p.unknown)
		return false
	}
	p.note(e.where(), "server "+written, "not known beforehand: give it with --target")
	return true
}

// origin is scheme and host; "" without a domain.
func origin(protocol, domain, port string) (string, bool) {
	if protocol == "" {
		protocol = "http"
	}
	usual := map[string]string{"http": "80", "https": "443"}[protocol]
	if usual == "" {
		return "", false
	}
	if domain == "" {
		return "", true
	}
	if port != "" && port != "0" && port != usual {
		domain = net.JoinHostPort(strings.Trim(domain, "[]"), port)
	}
	u, err := url.Parse(protocol + "://" + domain)
	if err != nil || u.Host != domain || strings.ContainsAny(domain, "${}") {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}

// request sets method, path, query and body.
func (p *testPlan) request(e *element, settings []*element, step *scenario.Step, path string) {
	m := method(settings)
	inQuery := m == "GET" || m == "DELETE" || m == "HEAD" || m == "OPTIONS"
	var arguments []*property
	for _, from := range settings {
		arguments = append(arguments, collection(collection(from.props, "HTTPsampler.Arguments"),
			"Arguments.arguments")...)
	}
	named := slices.ContainsFunc(arguments, func(a *property) bool { return text(a.sub, "Argument.name") != "" })
	raw := setting(settings, "HTTPSampler.postBodyRaw") == "true" || !named && !inQuery
	var fields []string
	for _, argument := range arguments {
		argument.used = true
		if !raw && text(argument.sub, "Argument.name") == "" {
			p.note(e.where(), "argument "+text(argument.sub, "Argument.value"),
				"has no name; left out, as JMeter does")
			argument.eachLeaf(func(leaf *property) { leaf.used = true })
			continue
		}
		fields = append(fields, p.argument(e, argument, raw))
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
			step.Headers["Content-Type"] = "application/x-www-form-urlencoded; charset=UTF-8"
		}
	}
	step.Request = m + " " + target
}

// argument returns one parameter, or the whole body.
func (p *testPlan) argument(e *element, argument *property, raw bool) string {
	name, value := text(argument.sub, "Argument.name"), text(argument.sub, "Argument.value")
	encode, equals := truth(argument.sub, "HTTPArgument.always_encode"),
		text(argument.sub, "HTTPArgument.use_equals")
	if raw {
		return p.resolve(e, value)
	}
	joint := "="
	if equals == "false" && value == "" {
		joint = ""
	}
	if !encode {
		return requestTarget(p.resolve(e, name) + joint + p.resolve(e, value))
	}
	return p.encoded(e, name) + joint + p.encoded(e, value)
}

// encoded resolves a text and encodes its constant parts.
func (p *testPlan) encoded(e *element, text string) string {
	pieces := p.pieces(e, text, 0)
	for i, part := range pieces {
		if part.ref == "" {
			pieces[i] = piece{text: url.QueryEscape(part.text)}
			continue
		}
		if _, generated := p.file.Values[part.ref]; !generated {
			p.note(e.where(), "encoding of ${"+part.ref+"}",
				"values from data or answers are sent as they are, not encoded for a URL")
		}
	}
	return p.join(pieces)
}

// headers merges the header managers in scope; the nearest counts.
func (p *testPlan) headers(e *element, scope []*element) map[string]string {
	merged := map[string]string{}
	for _, manager := range scope {
		if manager.class != "HeaderManager" {
			continue
		}
		manager.reached = true
		for _, h := range manager.collection("HeaderManager.headers") {
			h.used = true
			name, value := text(h.sub, "Header.name"), p.resolve(e, text(h.sub, "Header.value"))
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

// differences lists what a sampler asks for and the engine does otherwise.
func (p *testPlan) differences(e *element, settings []*element) {
	follow, auto := setting(settings, "HTTPSampler.follow_redirects"),
		setting(settings, "HTTPSampler.auto_redirects")
	if follow == "true" || auto == "true" {
		p.redirects = append(p.redirects, e.name)
	}
	if setting(settings, "HTTPSampler.use_keepalive") == "false" {
		p.note(e.where(), "a connection of its own",
			"a flow keeps its connection; the command line can give every flow a new one")
	}
}

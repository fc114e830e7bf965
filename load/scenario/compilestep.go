package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/cleave-lab/cleave/load/oracle"
	"github.com/cleave-lab/cleave/secret"
)

// readStep compiles a step. names are the values that it can use; its extractions are added to them.
func (c *compiler) readStep(place string, s *Step, names *scope) step {
	compiled := step{operation: c.operation(s), check: s.Check, think: time.Duration(s.Think)}
	switch {
	case (s.Request == "") == (s.GRPC == ""):
		c.problem(place, "a step needs either request or grpc")
	case s.GRPC != "":
		if compiled.grpc = s.GRPC; !methodPattern.MatchString(s.GRPC) {
			c.problem(place+".grpc", "gRPC method %q: write it as package.Service/Method", s.GRPC)
		}
	default:
		c.readRequest(place, s, &compiled, names)
	}
	c.readBody(place, s, &compiled, names)
	c.readHeaders(place, s, &compiled, names)
	c.readExpect(place, s, &compiled, names)
	c.readExtract(place, s, &compiled, names)
	c.readNotes(place, s, &compiled, names)
	c.noteOracle(&compiled)
	if s.Think < 0 {
		c.problem(place+".think", "think time %v is negative", s.Think)
	}
	return compiled
}

// Operation returns the name of the step's operation, without passwords: it is in all output.
func (s *Step) Operation() string {
	return secret.HidePasswords(cmp.Or(s.Name, s.Request+s.GRPC))
}

// operation returns the index of the step's operation.
func (c *compiler) operation(s *Step) int {
	name := s.Operation()
	i := slices.Index(c.plan.operations, name)
	if i < 0 {
		i = len(c.plan.operations)
		c.plan.operations = append(c.plan.operations, name)
		c.plan.judged = append(c.plan.judged, judged{checked: true})
	}
	return i
}

// noteOracle describes how the answers of an operation are judged.
func (c *compiler) noteOracle(s *step) {
	j := &c.plan.judged[s.operation]
	text := s.oracle.String()
	for i := range s.echoes {
		text += ", " + s.echoes[i].describe()
	}
	if s.check != nil {
		text += ", a check in Go"
	}
	for _, e := range s.extract {
		text += ", has " + e.from.String()
	}
	text = secret.HidePasswords(text)
	asksMore := s.check != nil || len(s.extract)+len(s.echoes) > 0
	if !asksMore && !s.oracle.Checked() {
		j.checked = false
	}
	if !slices.Contains(j.descriptions, text) {
		j.descriptions = append(j.descriptions, text)
	}
}

// methodPattern matches package.Service/Method.
var methodPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`)

// readRequest parses "METHOD /path".
func (c *compiler) readRequest(place string, s *Step, compiled *step, names *scope) {
	method, path, found := strings.Cut(s.Request, " ")
	shown := secret.HidePasswords(s.Request)
	compiled.method = method
	place += ".request"
	switch {
	case !found || !httpguts.ValidHeaderFieldName(method):
		c.problem(place, "request %q: write it as METHOD /path, for example GET /items", shown)
		return
	case !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "${"):
		c.problem(place, "request %q: the path must begin with / or with a value", shown)
		return
	}
	t, err := newTemplate(path, inTarget, names.find)
	if err != nil {
		c.problem(place, "request: %v", err)
		return
	}
	compiled.relative = path[0] == '/'
	if !compiled.relative && len(t) > 0 {
		t[0].form = asTarget
	}
	endsPath := func(c rune) bool { return c <= ' ' || c == 0x7f || c == '#' }
	for i := range t {
		if bytes.ContainsFunc(t[i].text, endsPath) {
			c.problem(place, "request %q: the path has a space, a control character or #: write %%20 or %%23 instead",
				shown)
			return
		}
		t[i].text = appendURL(nil, t[i].text)
	}
	compiled.path = t
}

// readBody compiles the body and the header Content-Length.
func (c *compiler) readBody(place string, s *Step, compiled *step, names *scope) {
	var err error
	switch {
	case s.Body != "" && s.JSON != nil:
		c.problem(place, "a step has either body or json")
		return
	case s.JSON != nil:
		place += ".json"
		compiled.body, err = newJSONTemplate(s.JSON, names.find)
	default:
		place += ".body"
		compiled.body, err = newTemplate(s.Body, verbatim, names.find)
	}
	if err != nil {
		c.problem(place, "body: %v", err)
	}
	compiled.sized = len(compiled.body) > 0 || slices.Contains([]string{"POST", "PUT", "PATCH"}, compiled.method)
	if len(s.Body) > MaxBody {
		c.problem(place, "the body has %d bytes, at most %d are allowed", len(s.Body), MaxBody)
	}
}

// newJSONTemplate returns a template that writes a body as JSON. A text that consists of one value is
// written with the type of the value.
func newJSONTemplate(body any, find lookup) (template, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("it cannot be written as JSON: %w", err)
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	t, err := newTemplate(string(text), inJSONText, find)
	for i := range t {
		behind := []byte{}
		if i+1 < len(t) {
			behind = t[i+1].text
		}
		// A value that is the whole text loses the quotes, unless its kind is always a text.
		p := &t[i]
		mayBeBare := p.slot >= 0 && p.kind != plain
		if mayBeBare && opensText(p.text) && closesText(behind) {
			if p.kind == anyText {
				p.form = asJSON
			}
			p.text = p.text[:len(p.text)-1]
			t[i+1].text = behind[1:]
		}
	}
	return t, err
}

// opensText reports whether JSON ends with the opening quote of a text.
func opensText(text []byte) bool {
	before, isQuote := bytes.CutSuffix(text, []byte(`"`))
	if !isQuote || len(before) == 0 {
		return isQuote
	}
	return bytes.IndexByte([]byte("[,:"), before[len(before)-1]) >= 0
}

// closesText reports whether JSON begins with the closing quote of a text that is not a key.
func closesText(text []byte) bool {
	after, isQuote := bytes.CutPrefix(text, []byte(`"`))
	return isQuote && !bytes.HasPrefix(after, []byte(":"))
}

// readHeaders merges the headers of the file with those of the step.
func (c *compiler) readHeaders(place string, s *Step, compiled *step, names *scope) {
	place += ".headers"
	c.checkHeaders(place, s.Headers)
	merged := map[string]header{}
	add := func(place, name, text string) {
		t, err := newTemplate(text, inHeader, names.find)
		if err != nil {
			c.problem(place, "header %s: %v", name, err)
		}
		merged[strings.ToLower(name)] = header{name: name, value: t}
		isBinary := compiled.grpc != "" && strings.HasSuffix(strings.ToLower(name), BinarySuffix)
		if !isBinary || err != nil || !t.fixed() {
			return
		}
		if _, err := DecodeBinary(text); err != nil {
			c.problem(place, "header %s: %v", name, err)
		}
	}
	if s.JSON != nil && compiled.grpc == "" {
		add("", "Content-Type", "application/json")
	}
	for _, name := range slices.Sorted(maps.Keys(c.file.Headers)) {
		add("headers."+name, name, c.file.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		add(place+"."+name, name, s.Headers[name])
	}
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		if key == "cookie" {
			compiled.cookie = merged[key].value
		} else {
			compiled.headers = append(compiled.headers, merged[key])
		}
	}
}

// readExpect compiles the expectations of a step into its oracle.
func (c *compiler) readExpect(place string, s *Step, compiled *step, names *scope) {
	expect, echoes := c.takeEchoes(place+".expect", s.Expect, names)
	compiled.echoes = echoes
	newOracle := oracle.New
	if compiled.grpc != "" {
		newOracle = oracle.NewGRPC
	}
	var err error
	compiled.oracle, err = newOracle(oracle.Expect(expect))
	for _, e := range echoes {
		compiled.needsHeader = compiled.needsHeader || e.header != ""
		compiled.needsBody = compiled.needsBody || e.header == ""
		if e.path != nil {
			compiled.oracle.ExpectJSON()
		}
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			c.problem(place+".expect", "%s", line)
		}
	}
}

// readExtract compiles the extractions of a step, for the steps after it.
func (c *compiler) readExtract(place string, s *Step, compiled *step, names *scope) {
	if compiled.oracle.ReadsHeader() || s.Check != nil {
		compiled.needsHeader = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.Extract)) {
		place := place + ".extract." + name
		c.checkName(place, name)
		if _, found := c.values[name]; found {
			c.problem(place, "%s is the name of a value already", name)
		}
		from, err := newSource(s.Extract[name])
		if err != nil {
			c.problem(place, "extract %s: %v", name, err)
			continue
		}
		switch from.(type) {
		case fromHeader:
			compiled.needsHeader = true
		case fromJSON:
			compiled.oracle.ExpectJSON()
			compiled.needsBody = true
		default:
			compiled.needsBody = true
		}
		compiled.extract = append(compiled.extract, extraction{name: name, slot: c.slot(name), from: from})
		names.extracted[name] = true
	}
	if compiled.oracle.ReadsBody() || s.Check != nil {
		compiled.needsBody = true
	}
}

package convert

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/secret"
)

// description is the conversion of an OpenAPI document in progress.
type description struct {
	*draft
	doc        *openapi3.T
	prefix     string                // prefix of all paths, if the URL of the server is only a path
	operations map[string]*operation // by method and path, as "GET /orders/{id}"
	// extractions are the names of extracted values, by the preferred name.
	extractions map[string]string
	budget      int // number of values that may still be generated
}

// operation is one operation of an API with the parameters of its path.
type operation struct {
	method, path string
	spec         *openapi3.Operation
	parameters   []*openapi3.Parameter
	used         bool // a flow contains it
}

// key returns the method and the path, as in "GET /orders/{id}".
func (o *operation) key() string { return o.method + " " + o.path }

// reads reports whether the operation changes no data.
func (o *operation) reads() bool { return o.method == http.MethodGet || o.method == http.MethodHead }

// openAPI makes a first scenario from an API description.
func (d *draft) openAPI(data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil { // the parser must not crash on a foreign document
			err = fmt.Errorf("read the description: it is broken in a way that the reader does not expect: %v", r)
		}
	}()
	doc, err := readDescription(data)
	if err != nil {
		return fmt.Errorf("read the description: %w", err)
	}
	const values = 10_000
	a := &description{draft: d, doc: doc, operations: map[string]*operation{}, extractions: map[string]string{},
		budget: values}
	a.server()
	a.otherServers()
	a.collect()
	for _, key := range sortedKeys(a.operations) {
		if o := a.operations[key]; o.reads() {
			a.addFlows(o)
		}
	}
	for _, key := range sortedKeys(a.operations) {
		if o := a.operations[key]; !o.used && !o.reads() {
			a.lose(o.key(), "the operation", "it changes data, and no flow that begins with it and reads the result "+
				"could be made; add it by hand where it is safe")
		}
	}
	if len(d.file.Flows) == 0 {
		return errors.New("no operation can be converted:" + d.reasons())
	}
	return nil
}

// server sets the target: the first server, with the defaults of its variables.
func (a *description) server() {
	if a.doc.Info != nil && oneLine(a.doc.Info.Title) != "" {
		a.file.Name = oneLine(a.doc.Info.Title)
	}
	address := ""
	if len(a.doc.Servers) > 0 && a.doc.Servers[0] != nil {
		address = serverURL(a.doc.Servers[0])
	}
	u, err := url.Parse(address)
	if err != nil {
		u = &url.URL{}
	}
	hasHost := u.Host != "" && utf8.ValidString(u.Host)
	switch {
	case isHTTP(u.Scheme) && hasHost:
		a.file.Target = strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/")
		return
	case u.Host == "" && strings.HasPrefix(u.Path, "/"):
		a.prefix = strings.TrimSuffix(requestTarget(u.EscapedPath()), "/")
	case address != "":
		a.note("servers", secret.HidePasswords(address), "not an address for HTTP")
	}
	a.note("servers", "no host", "the description names none; give the target on the command line")
}

// otherServers lists the servers that are not the target.
func (a *description) otherServers() {
	for i, s := range a.doc.Servers {
		if i > 0 && s != nil {
			a.note("servers", cmp.Or(secret.HidePasswords(s.URL), "no server"), "a scenario has one target, "+
				cmp.Or(a.file.Target, "no server")+"; the command line can give another")
		}
	}
}

// serverURL returns the URL of a server with the defaults of its variables.
func serverURL(s *openapi3.Server) string {
	address := s.URL
	for _, name := range sortedKeys(s.Variables) {
		if v := s.Variables[name]; v != nil {
			address = strings.ReplaceAll(address, "{"+name+"}", v.Default)
		}
	}
	return address
}

// collect collects all operations, and lists everything else that has no counterpart.
func (a *description) collect() {
	for _, name := range sortedKeys(a.doc.Webhooks) {
		a.note("webhooks", name, "requests that the target sends have no counterpart")
	}
	if a.doc.Paths == nil {
		return
	}
	for _, path := range sortedKeys(a.doc.Paths.Map()) {
		item := a.doc.Paths.Value(path)
		if item == nil {
			continue
		}
		if !strings.HasPrefix(path, "/") {
			a.note(path, "the path", "it does not begin with a slash")
			continue
		}
		if len(item.Servers) > 0 {
			a.note(path, "servers of its own", "a scenario has one target")
		}
		byMethod := item.Operations()
		for _, method := range sortedKeys(byMethod) {
			o := &operation{method: method, path: path, spec: byMethod[method]}
			o.parameters = mergeParameters(item.Parameters, o.spec.Parameters)
			a.listOtherParts(o)
			if method == http.MethodOptions || method == http.MethodTrace || !methodToken(method) {
				a.lose(o.key(), "the operation", "asks about the server, not for its work")
				continue
			}
			a.operations[o.key()] = o
		}
	}
}

// mergeParameters returns the parameters of a path and an operation. Those of the operation override
// those of the path.
func mergeParameters(ofPath, own openapi3.Parameters) []*openapi3.Parameter {
	var merged []*openapi3.Parameter
	for _, list := range []openapi3.Parameters{own, ofPath} {
		for _, ref := range list {
			if ref == nil || ref.Value == nil {
				continue
			}
			same := func(p *openapi3.Parameter) bool { return p.Name == ref.Value.Name && p.In == ref.Value.In }
			if !slices.ContainsFunc(merged, same) {
				merged = append(merged, ref.Value)
			}
		}
	}
	return merged
}

// listOtherParts lists the parts of an operation other than its request and answer.
func (a *description) listOtherParts(o *operation) {
	for _, name := range sortedKeys(o.spec.Callbacks) {
		a.note(o.key(), "callback "+name, "requests that the target sends have no counterpart")
	}
	if o.spec.Servers != nil && len(*o.spec.Servers) > 0 {
		a.note(o.key(), "servers of its own", "a scenario has one target")
	}
	requirements := a.doc.Security
	if o.spec.Security != nil {
		requirements = *o.spec.Security
	}
	if slices.ContainsFunc(requirements, func(r openapi3.SecurityRequirement) bool { return len(r) == 0 }) {
		return // authentication is optional
	}
	for _, r := range requirements {
		for _, name := range sortedKeys(r) {
			a.note("security "+name, a.scheme(name),
				"credentials are yours to add, for example under headers, or by a first step that logs in")
		}
	}
}

// scheme returns the kind of credentials that a security scheme requires.
func (a *description) scheme(name string) string {
	var ref *openapi3.SecuritySchemeRef
	if a.doc.Components != nil {
		ref = a.doc.Components.SecuritySchemes[name]
	}
	if ref == nil || ref.Value == nil {
		return "credentials"
	}
	s := ref.Value
	return strings.Join(strings.Fields(s.Type+" "+s.Scheme+" "+s.In+" "+s.Name), " ")
}

// addFlows adds the flows that end with reading operation o: one with values of the path that the
// description gives, and one that first creates, or else lists, what it reads.
func (a *description) addFlows(o *operation) {
	var reasons []string
	attempt := func(from ...string) bool {
		f := &chain{description: a, known: map[string]string{}, from: from}
		if reason := f.add(o); reason != "" {
			reasons = append(reasons, reason)
			return false
		}
		var names []string
		for _, s := range f.steps {
			names = append(names, s.Name)
		}
		a.file.Flows = append(a.file.Flows, scenario.Flow{Name: strings.Join(names, ", then "), Steps: f.steps})
		for _, used := range f.used {
			used.used = true
		}
		return true
	}
	done := attempt()
	if strings.Contains(o.path, "{") {
		done = attempt(http.MethodPost) || done
		done = done || attempt(http.MethodGet) || attempt(http.MethodPost, http.MethodGet)
	}
	if !done {
		a.lose(o.key(), "the operation", reasons[0])
	}
}

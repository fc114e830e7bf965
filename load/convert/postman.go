package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/load/scenario"
)

// postmanCollection is a Postman collection that is being converted.
type postmanCollection struct {
	*draft
	variables map[string]string
	unknown   string // the server that the user has to name, as the collection writes it
}

// postman converts a Postman collection (format 2.0 or 2.1): its requests in the order in which Postman's
// runner plays them.
func (d *draft) postman(data []byte, options Options) error {
	root, err := parseJSON(data)
	if err != nil {
		return fmt.Errorf("read the collection: %w", err)
	}
	c := &postmanCollection{draft: d, variables: map[string]string{}}
	for _, v := range root.Get("variable").Array() {
		isSecret := v.Get("type").String() == "secret"
		if !isSecret && !v.Get("disabled").Bool() {
			c.variables[variableName(v)] = v.Get("value").String()
		}
	}
	c.scripts("collection", root)
	c.items(root, nil, gjson.Result{})
	if len(c.found) == 0 {
		return errors.New("no request of the collection can be converted:" + d.reasons())
	}
	name := oneLine(root.Get("info.name").String())
	return d.flow("collection", cmp.Or(name, "collection"), options)
}

// variableName returns the name of a variable of the collection or of a path.
func variableName(of gjson.Result) string {
	return cmp.Or(of.Get("key").String(), of.Get("id").String())
}

// items converts the items of a folder. auth is the authorization of its parents.
func (c *postmanCollection) items(folder gjson.Result, path []string, auth gjson.Result) {
	if own := folder.Get("auth"); own.IsObject() {
		auth = own
	}
	for i, item := range folder.Get("item").Array() {
		name := oneLine(item.Get("name").String())
		name = cmp.Or(name, fmt.Sprintf("item %d", i+1))
		at := append(slices.Clone(path), name)
		where := strings.Join(at[max(0, len(at)-5):], " > ") // at most five names, since a note is one line
		c.scripts(where, item)
		switch request := item.Get("request"); {
		case len(at) > maxDepth:
			c.lose(where, "a folder", fmt.Sprintf("nested deeper than %d", maxDepth))
		case item.Get("item").IsArray():
			c.items(item, at, auth)
		case request.Exists():
			c.request(where, name, request, item.Get("response"), auth)
		}
	}
}

// scripts lists the scripts of a request, a folder or the collection.
func (c *postmanCollection) scripts(where string, of gjson.Result) {
	for _, event := range of.Get("event").Array() {
		if lines := event.Get("script.exec"); strings.TrimSpace(strings.Trim(lines.Raw, `[]" ,`)) != "" {
			c.note(where, "script "+event.Get("listen").String(),
				"scripts are not run: add expect and extract to the step")
		}
	}
}

// request converts one request. auth is the authorization of its folder.
func (c *postmanCollection) request(where, name string, of, answers, auth gjson.Result) {
	r := &recorded{where: where, name: name, method: cmp.Or(of.Get("method").String(), "GET")}
	if own := of.Get("auth"); own.IsObject() {
		auth = own
	}
	r.address = c.address(where, of)
	for _, h := range c.enabled(where, "header", of.Get("header")) {
		r.headers = append(r.headers, field{c.text(where, h.name), c.text(where, h.value)})
	}
	reason := c.body(where, r, of.Get("body"))
	c.authorize(where, r, auth)
	for _, answer := range answers.Array() { // examples that the collection keeps
		code := answer.Get("code").Int()
		isAccepted := code >= 200 && code < 400
		if isAccepted && r.expect.Status == "" {
			r.expect.Status = strconv.FormatInt(code, 10)
		}
	}
	c.keep(r, cmp.Or(reason, r.parse()))
}

// address returns the URL of a request with its variables resolved. If the URL begins with a variable that
// the collection does not set, it goes to unknownTarget. Only the first such variable of the collection
// stands for the target; others are resolved as in any text.
func (c *postmanCollection) address(where string, of gjson.Result) string {
	parts := of.Get("url")
	raw := parts.Get("raw").String()
	switch {
	case of.Type == gjson.String: // the request consists of a URL only
		raw = of.String()
	case parts.Type == gjson.String:
		raw = parts.String()
	case raw == "":
		if protocol := parts.Get("protocol").String(); protocol != "" {
			raw = protocol + "://"
		}
		raw += joined(parts.Get("host"), ".")
		if port := parts.Get("port").String(); port != "" {
			raw += ":" + port
		}
		raw += "/" + joined(parts.Get("path"), "/")
	}
	raw, query, hasQuery := strings.Cut(raw, "?")
	for _, v := range parts.Get("variable").Array() { // such as :id in the path
		name := variableName(v)
		if name == "" {
			continue
		}
		value := c.text(where, v.Get("value").String())
		value = restoreReferences(url.PathEscape(value))
		segment := regexp.MustCompile(regexp.QuoteMeta(":"+name) + `(/|$)`)
		raw = segment.ReplaceAllString(raw, strings.ReplaceAll(value, "$", "$$")+"$1")
	}
	if list := parts.Get("query"); list.IsArray() {
		var fields []string
		for _, q := range c.enabled(where, "query", list) {
			fields = append(fields, q.name+"="+q.value)
		}
		query = strings.Join(fields, "&")
		hasQuery = len(fields) > 0
	}
	if hasQuery {
		raw += "?" + query
	}
	if at := variable.FindStringSubmatchIndex(raw); at != nil && at[0] == 0 {
		name := raw[at[2]:at[3]]
		_, known := c.variables[name]
		if !known {
			c.unknown = cmp.Or(c.unknown, name)
		}
		if !known && name == c.unknown {
			c.note("collection", "server {{"+name+"}}", "not known beforehand: give it with --target")
			return unknownTarget + "/" + strings.TrimPrefix(c.text(where, raw[at[1]:]), "/")
		}
	}
	text := c.text(where, raw)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	return text
}

// joined returns a host or a path, which is a text or a list of parts.
func joined(parts gjson.Result, by string) string {
	var all []string
	for _, part := range parts.Array() {
		all = append(all, part.String())
	}
	return strings.Join(all, by)
}

// enabled returns the fields of a list that are not disabled, and lists the others. Headers may also be a
// text of lines.
func (c *postmanCollection) enabled(where, kind string, list gjson.Result) []field {
	var all []field
	for line := range strings.Lines(list.Str) {
		if name, value, found := strings.Cut(line, ":"); found {
			all = append(all, field{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	for _, item := range list.Array() {
		name := item.Get("key").String()
		if item.Get("disabled").Bool() {
			c.note(where, kind+" "+name, "disabled")
		} else if name != "" {
			all = append(all, field{name, item.Get("value").String()})
		}
	}
	return all
}

// body sets the body of a request, or returns the reason why it cannot be sent.
func (c *postmanCollection) body(where string, r *recorded, of gjson.Result) string {
	switch mode := of.Get("mode").String(); {
	case of.Get("disabled").Bool() || mode == "":
	case mode == "raw":
		r.body = c.text(where, of.Get("raw").String())
		r.mimeType = map[string]string{"json": "application/json", "xml": "application/xml",
			"html": "text/html", "javascript": "application/javascript"}[of.Get("options.raw.language").String()]
	case mode == "urlencoded":
		var form []field
		for _, f := range c.enabled(where, "field", of.Get("urlencoded")) {
			form = append(form, field{c.text(where, f.name), c.text(where, f.value)})
		}
		r.body = restoreReferences(encodedForm(form))
		r.mimeType = formType
	case mode == "graphql":
		variables := json.RawMessage(cmp.Or(of.Get("graphql.variables").String(), "{}"))
		text, err := json.Marshal(map[string]any{"query": of.Get("graphql.query").String(), "variables": variables})
		if err != nil {
			return "its variables of GraphQL are not JSON"
		}
		r.body = c.text(where, string(text))
		r.mimeType = "application/json"
	default:
		return "a body of the kind " + mode + " is not converted; write it as body with its content type"
	}
	return ""
}

// authorize adds the header that Postman sends for an authorization, or a note if it cannot.
func (c *postmanCollection) authorize(where string, r *recorded, auth gjson.Result) {
	kind := auth.Get("type").String()
	values := map[string]string{}
	list := auth.Get(kind)
	list.ForEach(func(key, v gjson.Result) bool {
		if list.IsArray() { // format 2.1
			key = v.Get("key")
			v = v.Get("value")
		}
		values[key.String()] = c.text(where, v.String())
		return true
	})
	switch {
	case kind == "" || kind == "noauth":
	case kind == "bearer":
		r.headers = append(r.headers, field{"Authorization", "Bearer " + values["token"]})
	case kind == "basic" && !referencePattern.MatchString(values["username"]+values["password"]):
		r.headers = append(r.headers, basicAuth(values["username"]+":"+values["password"]))
	case kind == "apikey" && values["in"] != "query":
		r.headers = append(r.headers, field{values["key"], values["value"]})
	default:
		c.note(where, "authorization "+kind, "not converted: add its header to the step")
	}
}

// variable matches a variable in a text of a collection.
var variable = regexp.MustCompile(`\{\{\s*([^{}]+?)\s*\}\}`)

// text resolves the variables in a text. Variables of the collection become their values, some of Postman's
// dynamic variables become generated values, and others whose names are identifiers become variables of the
// environment of the load. The rest stay as they are written.
func (c *postmanCollection) text(where, text string) string {
	room := maxText
	return c.expand(where, text, 0, &room)
}

// expand replaces the variables of a text, which is itself the value of depth nested variables. room is the
// number of bytes that values may still add to the outermost text: variables that hold many others could
// multiply without end.
func (c *postmanCollection) expand(where, text string, depth int, room *int) string {
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		name := variable.FindStringSubmatch(match)[1]
		value, known := c.variables[name]
		dynamic, isDynamic := strings.CutPrefix(name, "$")
		switch {
		case known && depth < maxExpansion && *room > len(value):
			*room -= len(value) + len(match) // so an empty value counts, too
			return c.expand(where, value, depth+1, room)
		case known:
			c.note(where, match, fmt.Sprintf("variables refer to each other more than %d deep, or hold more than %d "+
				"bytes; sent as this text", maxExpansion, maxText))
			return match
		case isDynamic:
			if preferred, v, found := dynamicValue(dynamic); found {
				return c.reference(c.newValue(preferred, v))
			}
		case name == identifier(name):
			c.note("collection", match, "the collection does not set it: set the variable "+name+
				" of the environment when you play the scenario")
			return c.reference("env:" + name)
		}
		c.note(where, match, "has no counterpart; sent as this text, so replace it")
		return match
	})
}

// dynamicValue returns the generated value that stands for one of Postman's dynamic variables, and the name
// that it should have.
func dynamicValue(variable string) (preferred string, v scenario.Value, found bool) {
	switch variable {
	case "guid", "randomUUID":
		return "uuid", scenario.Value{UUID: &struct{}{}}, true
	case "randomInt":
		return "random", scenario.Value{Integer: &scenario.Range{From: 0, To: 1000}}, true
	case "randomFullName", "randomFirstName":
		return "name", scenario.Value{Name: &struct{}{}}, true
	}
	return "", scenario.Value{}, false
}

package convert

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cleave-lab/cleave/load/scenario"
)

// chain is a flow under construction: each step extracts values that the path of the next one needs.
type chain struct {
	*description
	from  []string          // methods that may provide values for paths; none: only the description may
	known map[string]string // text of a parameter, by the path up to its end
	steps []scenario.Step
	used  []*operation
}

// placeholder matches a parameter in a path.
var placeholder = regexp.MustCompile(`\{([^{}]+)\}`)

// add adds an operation after the operations that its path needs, or returns the reason why it cannot. It
// finds the values of a path from left to right. The path of an operation that gives one of them is the part
// before that value, so it needs only values that are known by then.
func (c *chain) add(o *operation) (reason string) {
	path, end := c.prefix, 0 // path has o.path up to end
	for _, at := range placeholder.FindAllStringSubmatchIndex(o.path, -1) {
		name, until := o.path[at[2]:at[3]], o.path[:at[1]]
		text, known := c.known[until]
		if !known {
			if text, reason = c.pathValue(o, name, o.path[:at[0]], until); reason != "" {
				return reason
			}
			c.known[until] = text
		}
		if location, is := strings.CutPrefix(text, wholeTarget); is {
			path, end = location, len(o.path)
			break
		}
		path, end = path+o.path[end:at[0]]+text, at[1]
	}
	step, reason := c.step(o, requestTarget(path+o.path[end:]))
	if reason != "" {
		return reason
	}
	c.steps = append(c.steps, step)
	c.used = append(c.used, o)
	return ""
}

// wholeTarget marks a value that is the whole path.
const wholeTarget = "\x00"

// pathValue finds a value for a parameter of a path: in the description, or in the answer of an operation
// on the part of the path before it. before and until are the path before the parameter and up to its end.
// If the chain may use operations, the last parameter must come from one: with described values only, the
// flow would be the same as the one of a chain without operations.
func (c *chain) pathValue(o *operation, name, before, until string) (text, reason string) {
	last := !strings.Contains(o.path[len(until):], "{")
	if len(c.from) == 0 || !last {
		if text, reason = c.describedValue(o, name); reason == "" || len(c.from) == 0 {
			return text, reason
		}
	}
	collection := strings.TrimSuffix(before, "/")
	for _, method := range c.from {
		source := c.operations[method+" "+collection]
		if source == nil {
			continue
		}
		how, ref := c.identity(source, name, collection, until == o.path)
		if ref == "" {
			continue
		}
		if c.add(source) != "" {
			continue
		}
		step := &c.steps[len(c.steps)-1]
		step.Extract = with(step.Extract, strings.Trim(ref, wholeTarget+"${}"), how)
		return ref, ""
	}
	return "", noExample(name)
}

// noExample returns the reason for a parameter of a path without a value.
func noExample(name string) string {
	return "no example for {" + name + "} in its path, and no answer that holds one"
}

// extracted returns the name for an extracted value. Flows with the same preferred name share it.
func (c *chain) extracted(preferred string) string {
	if _, known := c.extractions[preferred]; !known {
		c.extractions[preferred] = c.name(preferred)
	}
	return c.extractions[preferred]
}

// describedValue returns a value that the description gives: an example, a default, one of an
// enumeration, or a number within bounds.
func (c *chain) describedValue(o *operation, name string) (text, reason string) {
	i := slices.IndexFunc(o.parameters, func(p *openapi3.Parameter) bool {
		return p.In == openapi3.ParameterInPath && p.Name == name
	})
	if i < 0 {
		return "", "its path has {" + name + "}, which is not described"
	}
	p := o.parameters[i]
	if p.Style != "" && p.Style != openapi3.SerializationSimple {
		return "", "parameter " + name + " has the style " + p.Style
	}
	if !described(p) {
		return "", noExample(name)
	}
	value, reason := c.exampleOrValue(p.Example, p.Examples, p.Schema, p.Name)
	if reason != "" {
		return "", "parameter " + name + ": " + reason
	}
	return scalarText(value, url.PathEscape)
}

// described reports whether the description gives values of a parameter, not only their type.
func described(p *openapi3.Parameter) bool {
	if p.Example != nil || len(p.Examples) > 0 {
		return true
	}
	if p.Schema == nil || p.Schema.Value == nil {
		return false
	}
	s := p.Schema.Value
	_, named := ownValue(s)
	isBounded := s.Min != nil && s.Max != nil
	return named || len(s.Enum) > 0 || isBounded
}

// identity finds where the answer of an operation contains the value of a path parameter: in its body, or
// in the header Location, which gives the whole path. It uses the header only if whole is set: if the path
// ends with the parameter. It returns the extraction and a reference to the value; ref is "" if the answer
// does not contain it.
func (c *chain) identity(
	source *operation, name, collection string, whole bool,
) (how scenario.Extraction, ref string) {
	_, response := firstSuccess(source.spec.Responses)
	if response == nil {
		return how, ""
	}
	names := identityNames(name, collection)
	_, media := jsonMedia(response.Content)
	if media != nil {
		if path, found := findIdentity(media.Schema, names, 0); found {
			return scenario.Extraction{JSON: path}, "${" + c.extracted(name) + "}"
		}
	}
	if !whole || source.method != http.MethodPost {
		return how, ""
	}
	for header := range response.Headers {
		if strings.EqualFold(header, "Location") {
			return scenario.Extraction{Header: "Location"}, wholeTarget + "${" + c.extracted("location") + "}"
		}
	}
	return how, ""
}

// identityNames returns the properties that may hold the value, the best one first: the orderId of
// /orders/{orderId} may be called orderId or id.
func identityNames(name, collection string) []string {
	names := []string{normal(name)}
	thing := strings.TrimSuffix(normal(collection[strings.LastIndexByte(collection, '/')+1:]), "s")
	if strings.HasSuffix(normal(name), "id") {
		names = append(names, "id", thing+"id")
	}
	return names
}

// normal returns a name in lower case without separators, for comparing names of different styles.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// findIdentity finds a property in the schema of an answer: of an object, of the first element of a list, or
// of the first of several alternatives. It prefers an object's own properties to those of the objects in it,
// and searches at most three levels below the topmost schema.
func findIdentity(ref *openapi3.SchemaRef, names []string, depth int) (path string, found bool) {
	const deepest = 3
	if ref == nil || ref.Value == nil || depth > deepest {
		return "", false
	}
	s := ref.Value
	if s.Items != nil {
		path, found = findIdentity(s.Items, names, depth+1)
		return "0." + path, found
	}
	properties, _ := composed(s, 0)
	for _, name := range names {
		for _, property := range sortedKeys(properties) {
			isNamed := normal(property) == name && simplePathName(property)
			if isNamed && isScalar(properties[property]) {
				return property, true
			}
		}
	}
	for _, property := range sortedKeys(properties) {
		if path, found := findIdentity(properties[property], names, depth+1); found && simplePathName(property) {
			return property + "." + path, true
		}
	}
	for _, alternatives := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(alternatives) > 0 {
			return findIdentity(alternatives[0], names, depth+1)
		}
	}
	return "", false
}

// simplePathName reports whether a key can stand in a JSON path as it is.
func simplePathName(name string) bool {
	return name != "" && !strings.ContainsAny(name, ".[]$'\"")
}

// isScalar reports whether a schema is that of a text or a number.
func isScalar(ref *openapi3.SchemaRef) bool {
	if ref == nil || ref.Value == nil {
		return false
	}
	scalars := []string{openapi3.TypeString, openapi3.TypeInteger, openapi3.TypeNumber}
	return slices.Contains(scalars, kindOf(ref.Value))
}

package scenario

import (
	"encoding"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/yamlfile"
)

// reader fills the types of file.go by their yaml tags: a key without "omitempty"
// must be given. place is the path of a node in the document.
type reader struct {
	yamlfile.Reader
	lines map[string]int // by place
}

// read fills a value from a node.
func (r *reader) read(node *yaml.Node, place string, into reflect.Value) {
	r.lines[place] = node.Line
	if text, ok := into.Addr().Interface().(encoding.TextUnmarshaler); ok {
		r.readText(node, place, text)
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		r.structure(node, place, into)
	case reflect.Pointer:
		r.pointer(node, place, into)
	case reflect.Map:
		r.mapping(node, place, into)
	case reflect.Slice:
		r.list(node, place, into)
	case reflect.Interface:
		if body := r.anyJSON(node, place); body != nil {
			into.Set(reflect.ValueOf(body))
		}
	case reflect.String:
		if text, ok := r.scalar(node, place, "a text"); ok {
			into.SetString(text)
		}
	default:
		r.number(node, place, into)
	}
}

// pointer fills what may be left out. A key without value means that something
// without settings is wanted, as in "uuid:".
func (r *reader) pointer(node *yaml.Node, place string, into reflect.Value) {
	into.Set(reflect.New(into.Type().Elem()))
	if isNull(node) && into.Type().Elem() == reflect.TypeFor[struct{}]() {
		return
	}
	r.read(node, place, into.Elem())
}

// structure fills a struct. Unknown, repeated and missing keys are problems.
func (r *reader) structure(node *yaml.Node, place string, into reflect.Value) {
	known, required := keysOf(into.Type())
	seen := map[string]bool{}
	ok := r.pairs(node, place, func(key, value *yaml.Node, inner string) {
		field, found := known[key.Value]
		if !found {
			r.UnknownKey(key, called(place), slices.Sorted(maps.Keys(known)))
			return
		}
		seen[key.Value] = true
		r.read(value, inner, into.Field(field))
		r.lines[inner] = key.Line
	})
	for _, key := range required {
		if ok && !seen[key] {
			r.Problem(node.Line, "%s needs the key %q", called(place), key)
		}
	}
}

// keysOf are the keys of a struct with their fields, and those that must be
// given.
func keysOf(t reflect.Type) (known map[string]int, required []string) {
	known = map[string]int{}
	for i := range t.NumField() {
		tag, isKey := t.Field(i).Tag.Lookup("yaml")
		key, options, _ := strings.Cut(tag, ",")
		if !isKey || key == "-" {
			continue
		}
		known[key] = i
		if options != "omitempty" {
			required = append(required, key)
		}
	}
	return known, required
}

// pairs calls visit for every key of a mapping, in order.
func (r *reader) pairs(node *yaml.Node, place string, visit func(key, value *yaml.Node, inner string)) bool {
	if node.Kind != yaml.MappingNode {
		r.Problem(node.Line, "%s is %s, expected keys with values", called(place), yamlfile.Show(node))
		return false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.Problem(key.Line, "%s has a key that is %s, expected a text", called(place), yamlfile.Show(key))
		case seen[key.Value]:
			r.Problem(key.Line, "%s has the key %q twice", called(place), key.Value)
		default:
			seen[key.Value] = true
			visit(key, value, strings.TrimPrefix(place+"."+key.Value, "."))
		}
	}
	return true
}

func (r *reader) mapping(node *yaml.Node, place string, into reflect.Value) {
	into.Set(reflect.MakeMap(into.Type()))
	r.pairs(node, place, func(key, value *yaml.Node, inner string) {
		element := reflect.New(into.Type().Elem()).Elem()
		if isNull(value) && value.Value == "null" && element.Kind() == reflect.String {
			element.SetString("null") // as JSON's: expect: {json: {error: null}}
		} else {
			r.read(value, inner, element)
		}
		r.lines[inner] = key.Line
		into.SetMapIndex(reflect.ValueOf(key.Value), element)
	})
}

func (r *reader) list(node *yaml.Node, place string, into reflect.Value) {
	if node.Kind != yaml.SequenceNode {
		r.Problem(node.Line, "%s is %s, expected a list", called(place), yamlfile.Show(node))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content)))
	for i, child := range node.Content {
		r.read(child, at(place, i), into.Index(i))
	}
}

// scalar is the text of a plain value.
func (r *reader) scalar(node *yaml.Node, place, expected string) (string, bool) {
	if node.Kind != yaml.ScalarNode || isNull(node) {
		hint := ""
		if node.Kind != yaml.ScalarNode {
			hint = " (in quotes, where it begins with [ or {)"
		}
		r.Problem(node.Line, "%s is %s, expected %s%s", called(place), yamlfile.Show(node), expected, hint)
		return "", false
	}
	return node.Value, true
}

func (r *reader) readText(node *yaml.Node, place string, into encoding.TextUnmarshaler) {
	if text, ok := r.scalar(node, place, "a text"); ok {
		if err := into.UnmarshalText([]byte(text)); err != nil {
			r.Problem(node.Line, "%s: %v", called(place), err)
		}
	}
}

// number fills a number or a bool.
func (r *reader) number(node *yaml.Node, place string, into reflect.Value) {
	expected := map[reflect.Kind]string{
		reflect.Bool: "true or false", reflect.Uint64: "a whole number from 0 on", reflect.Float64: "a number",
	}[into.Kind()]
	if expected == "" {
		expected = "a whole number"
	}
	text, ok := r.scalar(node, place, expected)
	if !ok {
		return
	}
	value := reflect.New(into.Type())
	if node.Decode(value.Interface()) != nil ||
		value.Elem().Kind() == reflect.Float64 && (math.IsNaN(value.Elem().Float()) ||
			math.IsInf(value.Elem().Float(), 0)) {
		r.Problem(node.Line, "%s is %q, expected %s", called(place), text, expected)
		return
	}
	into.Set(value.Elem())
}

// anyJSON is a body that is written as YAML.
func (r *reader) anyJSON(node *yaml.Node, place string) any {
	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		r.pairs(node, place, func(key, value *yaml.Node,
			inner string) {
			object[key.Value] = r.anyJSON(value, inner)
		})
		return object
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, child := range node.Content {
			list[i] = r.anyJSON(child, at(place, i))
		}
		return list
	}
	var value any
	switch node.Tag {
	case "!!null":
		return nil
	case "!!int", "!!float", "!!bool":
		if node.Tag == "!!float" && json.Valid([]byte(node.Value)) {
			return json.Number(node.Value) // all of its digits; YAML has long whole numbers as floats, too
		}
		if err := node.Decode(&value); err == nil && isJSONValue(value) {
			return value
		}
		r.Problem(node.Line, "%s is %s, a number that JSON cannot hold: put it in quotes", called(place),
			yamlfile.Show(node))
		return nil
	}
	return node.Value // times too stay as they are written
}

// isJSONValue refuses what YAML has and JSON has not: infinite numbers, and
// whole ones in YAML's own form that are so large that digits are lost.
func isJSONValue(value any) bool {
	f, isFloat := value.(float64)
	return !isFloat || !math.IsNaN(f) && !math.IsInf(f, 0) && (f != math.Trunc(f) || math.Abs(f) < 1<<63)
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

// called is a place in a message.
func called(place string) string {
	if place == "" {
		return "the scenario"
	}
	return place
}

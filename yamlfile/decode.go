package yamlfile

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Decode fills a struct from the root of a file by its yaml tags: keys without
// "omitempty" are required. Types that implement encoding.TextUnmarshaler parse their
// texts themselves. It returns the line of every key and list element by its path in the
// file, such as flows[0].name; "" is the root. It has no lines from inside a
// value of type any or yaml.Node.
//
// Fields that the file does not have keep their value. A field of type yaml.Node gets the node undecoded, for
// a later DecodeAt. The keys of embedded structs belong to the outer struct.
func (r *Reader) Decode(root *yaml.Node, into any) map[string]int {
	lines := map[string]int{}
	r.DecodeAt("", root, into, lines)
	return lines
}

// DecodeAt is Decode for the value at a path of the file; it adds to lines.
func (r *Reader) DecodeAt(place string, node *yaml.Node, into any, lines map[string]int) {
	d := &decoder{r, lines}
	d.read(node, place, reflect.ValueOf(into).Elem())
}

// Number fills a number that is written in a unit, which must be one of the format's Units. what names the
// value in messages.
func (r *Reader) Number(node *yaml.Node, what, unit string, into *float64) {
	value, ok := r.Units[unit].Parse(node.Value)
	if node.Kind != yaml.ScalarNode || !ok {
		r.Problem(node.Line, "%s is %s, expected %s", what, show(node), r.Units[unit].Expected)
		return
	}
	*into = value
}

// Pairs calls visit for every key of a mapping, in order, and returns the keys, or nil if
// the node is no mapping. what names the node in messages.
func (r *Reader) Pairs(node *yaml.Node, what string, visit func(key, value *yaml.Node)) map[string]bool {
	if node.Kind != yaml.MappingNode {
		r.Problem(node.Line, "%s is %s, expected keys with values", what, show(node))
		return nil
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.Problem(key.Line, "%s has a key that is %s, expected a text", what, show(key))
		case seen[key.Value]:
			r.Problem(key.Line, "%s has the key %q twice", what, key.Value)
		default:
			seen[key.Value] = true
			visit(key, value)
		}
	}
	return seen
}

// Object calls visit for every known key of a mapping. Unknown, repeated and missing keys are problems. what
// names the node in messages.
func (r *Reader) Object(
	node *yaml.Node, what string, known, required []string, visit func(key, value *yaml.Node),
) {
	seen := r.Pairs(node, what, func(key, value *yaml.Node) {
		if slices.Contains(known, key.Value) {
			visit(key, value)
			return
		}
		takes := cmp.Or(strings.Join(known, ", "), "nothing")
		r.Problem(key.Line, "%s has no key %q%s; it takes %s", what, key.Value, Suggest(key.Value, known), takes)
	})
	for _, key := range required {
		if seen != nil && !seen[key] {
			r.Problem(node.Line, "%s needs the key %q", what, key)
		}
	}
}

// List calls visit for every element of a list. what names the node in messages.
func (r *Reader) List(node *yaml.Node, what string, visit func(i int, element *yaml.Node)) {
	if node.Kind != yaml.SequenceNode {
		r.Problem(node.Line, "%s is %s, expected a list", what, show(node))
		return
	}
	for i, element := range node.Content {
		visit(i, element)
	}
}

// decoder fills values. In its methods, place is the path of a node in the document.
type decoder struct {
	*Reader
	lines map[string]int // by place
}

// read fills a value from a node.
func (r *decoder) read(node *yaml.Node, place string, into reflect.Value) {
	r.lines[place] = node.Line
	if kept, is := into.Addr().Interface().(*yaml.Node); is {
		*kept = *node
		return
	}
	text, isText := into.Addr().Interface().(encoding.TextUnmarshaler)
	isList := into.Kind() == reflect.Slice && node.Kind != yaml.ScalarNode // a slice may also be one text
	if isText && !isList {
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

// pointer fills an optional value. A key without a value, as in "uuid:", sets a pointer to
// an empty struct.
func (r *decoder) pointer(node *yaml.Node, place string, into reflect.Value) {
	element := into.Type().Elem()
	if into.IsNil() {
		into.Set(reflect.New(element))
	}
	if isNull(node) && element == reflect.TypeFor[struct{}]() {
		return
	}
	r.read(node, place, into.Elem())
}

// structure fills a struct. A number whose tag ends in a unit of the format is parsed in that unit.
func (r *decoder) structure(node *yaml.Node, place string, into reflect.Value) {
	known, required := Keys(into.Type())
	names := slices.Sorted(maps.Keys(known))
	r.Object(node, r.called(place), names, required, func(key, value *yaml.Node) {
		inner := within(place, key)
		field := known[key.Value]
		_, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		unit := options[strings.LastIndexByte(options, ',')+1:]
		to := into.FieldByIndex(field.Index)
		if r.Units[unit].Parse != nil {
			number := to.Convert(reflect.TypeFor[float64]()).Float()
			r.Number(value, r.called(inner), unit, &number)
			to.Set(reflect.ValueOf(number).Convert(to.Type()))
		} else {
			r.read(value, inner, to)
		}
		r.lines[inner] = key.Line
	})
}

// within returns the place of the value of a key.
func within(object string, key *yaml.Node) string {
	return strings.TrimPrefix(object+"."+key.Value, ".")
}

// Keys returns the keys of a struct with their fields, and the required ones. A field that is to be ignored
// may have several keys, with | between them.
func Keys(t reflect.Type) (known map[string]reflect.StructField, required []string) {
	known = map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		tag, isKey := field.Tag.Lookup("yaml")
		keys, options, _ := strings.Cut(tag, ",")
		if !isKey || keys == "-" {
			continue
		}
		for key := range strings.SplitSeq(keys, "|") {
			known[key] = field
			if !slices.Contains(strings.Split(options, ","), "omitempty") {
				required = append(required, key)
			}
		}
	}
	return known, required
}

func (r *decoder) mapping(node *yaml.Node, place string, into reflect.Value) {
	into.Set(reflect.MakeMap(into.Type()))
	r.Pairs(node, r.called(place), func(key, value *yaml.Node) {
		inner := within(place, key)
		element := reflect.New(into.Type().Elem()).Elem()
		if isNull(value) && value.Value == "null" && element.Kind() == reflect.String {
			element.SetString("null") // the value null of JSON, as in expect: {json: {error: null}}
		} else {
			r.read(value, inner, element)
		}
		r.lines[inner] = key.Line
		into.SetMapIndex(reflect.ValueOf(key.Value), element)
	})
}

func (r *decoder) list(node *yaml.Node, place string, into reflect.Value) {
	if node.Kind == yaml.SequenceNode {
		n := len(node.Content)
		into.Set(reflect.MakeSlice(into.Type(), n, n))
	}
	r.List(node, r.called(place), func(i int, element *yaml.Node) {
		r.read(element, at(place, i), into.Index(i))
	})
}

// at returns the place of an element of a list.
func at(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// scalar returns the text of a plain value.
func (r *decoder) scalar(node *yaml.Node, place, expected string) (string, bool) {
	if node.Kind != yaml.ScalarNode || isNull(node) {
		hint := ""
		if node.Kind != yaml.ScalarNode {
			hint = " (in quotes, where it begins with [ or {)"
		}
		r.Problem(node.Line, "%s is %s, expected %s%s", r.called(place), show(node), expected, hint)
		return "", false
	}
	if r.MaxText == 0 {
		return node.Value, true
	}
	text := strings.TrimSpace(node.Value)
	switch {
	case text == "":
		r.Problem(node.Line, "%s is empty, expected %s", r.called(place), expected)
	case len(text) > r.MaxText:
		r.Problem(node.Line, "%s has %d bytes, at most %d are allowed", r.called(place), len(text), r.MaxText)
	case Unprintable(text):
		r.Problem(node.Line, "%s is %q, which has control characters", r.called(place), text)
	default:
		return text, true
	}
	return "", false
}

func (r *decoder) readText(node *yaml.Node, place string, into encoding.TextUnmarshaler) {
	if text, ok := r.scalar(node, place, "a text"); ok {
		if err := into.UnmarshalText([]byte(text)); err != nil {
			r.Problem(node.Line, "%s: %v", r.called(place), err)
		}
	}
}

// number fills a number or a bool.
func (r *decoder) number(node *yaml.Node, place string, into reflect.Value) {
	expected := map[reflect.Kind]string{
		reflect.Bool: "true or false", reflect.Uint64: "a whole number from 0 on", reflect.Float64: "a number",
	}[into.Kind()]
	switch {
	case into.Type() == reflect.TypeFor[time.Duration]():
		expected = "a time such as 30s"
	case expected == "":
		expected = "a whole number"
	}
	text, ok := r.scalar(node, place, expected)
	if !ok {
		return
	}
	value := reflect.New(into.Type()).Elem()
	err := node.Decode(value.Addr().Interface())
	isInfinite := value.CanFloat() && !isFinite(value.Float())
	if err != nil || isInfinite {
		r.Problem(node.Line, "%s is %q, expected %s", r.called(place), text, expected)
		return
	}
	into.Set(value)
}

// anyJSON converts a node to a value of JSON. It returns nil for null, and after a problem.
func (r *decoder) anyJSON(node *yaml.Node, place string) any {
	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		r.Pairs(node, r.called(place), func(key, value *yaml.Node) {
			object[key.Value] = r.anyJSON(value, within(place, key))
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
			return json.Number(node.Value) // keeps all digits, also of integers too long for YAML
		}
		if err := node.Decode(&value); err == nil && isJSONValue(value) {
			return value
		}
		r.Problem(node.Line, "%s is %s, a number that JSON cannot hold: put it in quotes", r.called(place),
			show(node))
		return nil
	}
	return node.Value // including times, which JSON writes as strings
}

// isJSONValue reports whether JSON can represent a value of YAML. It cannot represent infinite numbers, nor
// integers in YAML's own notation that were so large that digits are lost.
func isJSONValue(value any) bool {
	f, isFloat := value.(float64)
	if !isFloat {
		return true
	}
	isExact := f != math.Trunc(f) || math.Abs(f) < 1<<63
	return isExact && isFinite(f)
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Unprintable reports whether a text has control characters other than line feed and tab.
func Unprintable(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsControl(c) && c != '\n' && c != '\t'
	})
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

// called returns the name of a place in messages.
func (r *decoder) called(place string) string {
	if place == "" {
		return "the " + r.Kind
	}
	return place
}

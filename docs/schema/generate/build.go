package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// builder turns types into schemas. Structures, and types that list their values as constants, become
// definitions, which other schemas refer to.
type builder struct {
	comments comments
	names    []string // of the definitions, in order of appearance
	defined  map[string]object
	err      error
}

// of returns the schema of a type. Lists and maps are never null: documents have empty ones.
func (b *builder) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{{"type", "string"}, {"format", "date-time"}}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[[]byte]():
		return object{{"type", "string"}, {"contentEncoding", "base64"}}
	case reflect.TypeFor[lab.Point]():
		return b.define("Point", pointSchema)
	case reflect.TypeFor[lab.Fact]():
		return b.define("Fact", factSchema)
	}
	switch t.Kind() {
	case reflect.Struct:
		return b.define(t.Name(), func() object { return b.structure(t) })
	case reflect.Pointer:
		return object{{"anyOf", []object{b.of(t.Elem()), {{"type", "null"}}}}}
	case reflect.Slice:
		return object{{"type", "array"}, {"items", b.of(t.Elem())}}
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", b.of(t.Elem())}}
	case reflect.String:
		return b.word(t)
	}
	return b.scalar(t)
}

// scalar returns the schema of a number or a truth value.
func (b *builder) scalar(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Float64:
		return object{{"type", "number"}}
	case reflect.Int, reflect.Int64:
		return object{{"type", "integer"}}
	case reflect.Uint64:
		return object{{"type", "integer"}, {"minimum", 0}}
	}
	b.err = fmt.Errorf("type %s has no schema: add it to docs/schema/generate", t)
	return nil
}

// define adds a definition, unless it is there, and returns a reference to it.
func (b *builder) define(name string, build func() object) object {
	if _, known := b.defined[name]; !known {
		b.defined[name] = nil // types may contain themselves
		b.names = append(b.names, name)
		schema := build()
		if about := b.comments.about[name]; about != "" {
			schema = append(object{{"description", about}}, schema...)
		}
		b.defined[name] = schema
	}
	return object{{"$ref", "#/$defs/" + name}}
}

// definitions returns all definitions by their names, in order of appearance.
func (b *builder) definitions() object {
	all := object{}
	for _, name := range b.names {
		all = append(all, member{name, b.defined[name]})
	}
	return all
}

// word returns the schema of a text, or of one of a list of words if the type has constants.
func (b *builder) word(t reflect.Type) object {
	words := b.comments.constants[t.Name()]
	if len(words) == 0 {
		return object{{"type", "string"}}
	}
	return b.define(t.Name(), func() object { return object{{"type", "string"}, {"enum", words}} })
}

// structure returns the schema of a structure. It allows no members but the fields. Only fields that are left
// out when empty are optional.
func (b *builder) structure(t reflect.Type) object {
	var properties object
	var required []string
	b.fields(t, func(owner reflect.Type, f reflect.StructField, name string, optional bool) {
		schema := b.field(owner, f, name)
		if about := b.comments.about[owner.Name()+"."+f.Name]; about != "" {
			schema = append(object{{"description", about}}, schema...)
		}
		properties = append(properties, member{name, schema})
		if !optional {
			required = append(required, name)
		}
	})
	schema := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 { // the keyword takes no null
		schema = append(schema, member{"required", required})
	}
	return append(schema, member{"additionalProperties", false})
}

// fields visits the fields that are marshalled, those of embedded structures
// as if they stood in the structure itself.
func (b *builder) fields(
	t reflect.Type, visit func(owner reflect.Type, f reflect.StructField, name string, optional bool),
) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			b.fields(f.Type, visit)
		case name == "":
			b.err = fmt.Errorf("%s.%s has no name in JSON", t, f.Name)
		default:
			visit(t, f, name, tagged && strings.Contains(options, "omit"))
		}
	}
}

// field returns the schema of one field: that of its type, narrowed by its name.
func (b *builder) field(owner reflect.Type, f reflect.StructField, name string) object {
	if version, versioned := versions()[owner]; versioned && name == "schema" {
		return object{{"const", version}}
	}
	schema := b.of(f.Type)
	if isSignedNumber(f.Type) && neverNegative(name) {
		schema = append(schema, member{"minimum", 0})
	}
	return schema
}

// versions returns the types of documents that have their version in the member schema, with the version.
// Those of Against and TraceComparison are constants of package report/analysis, so their schemas allow any
// text.
func versions() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[lab.Study]():      lab.StudySchema,
		reflect.TypeFor[lab.Plan]():       lab.PlanSchema,
		reflect.TypeFor[lab.Trial]():      lab.TrialSchema,
		reflect.TypeFor[lab.Analysis]():   lab.AnalysisSchema,
		reflect.TypeFor[lab.Prediction](): lab.PredictionSchema,
		reflect.TypeFor[lab.Notes]():      lab.NotesSchema,
	}
}

// isSignedNumber reports whether a type is a signed number.
func isSignedNumber(t reflect.Type) bool {
	return slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64, reflect.Float64}, t.Kind())
}

// neverNegative reports whether the name of a field says that it is a count, a time, a size or a share, none
// of which is negative. A new field of that kind has to be listed here, unless its name has one of the
// endings.
func neverNegative(name string) bool {
	for _, end := range []string{"_seconds", "_bytes", "_share", "_switches"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return slices.Contains([]string{"n", "units", "threads", "trials", "planned", "blocks", "operations",
		"trial", "attempt", "number", "block", "scale", "family", "more_blocks"}, name)
}

// pointSchema returns the schema of a point. It is flat: the levels stand beside the name.
func pointSchema() object {
	return object{
		{"type", "object"},
		{"properties", object{{"name", object{{"type", "string"}}}}},
		{"required", []string{"name"}},
		{"additionalProperties", object{{"type", "number"}}},
	}
}

// factSchema returns the schema of a fact: it has either a value or the reason why there is none.
func factSchema() object {
	return object{
		{"type", "object"},
		{"properties", object{
			{"value", object{{"type", []string{"string", "number", "boolean"}}}},
			{"unit", object{{"type", "string"}}},
			{"unavailable", object{{"type", "string"}, {"minLength", 1}}},
		}},
		{"oneOf", []object{{{"required", []string{"value"}}}, {{"required", []string{"unavailable"}}}}},
		{"additionalProperties", false},
	}
}

// object is a JSON object whose members keep their order.
type object []member

// member is one member of an object.
type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order. Unlike json.Marshal, it does not escape <, > and &, which
// are in descriptions.
func (o object) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	text.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := encoder.Encode(m.key); err != nil {
			return nil, err
		}
		text.WriteByte(':')
		if err := encoder.Encode(m.value); err != nil {
			return nil, err
		}
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

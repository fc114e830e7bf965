package convert

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cleave-lab/cleave/load/scenario"
)

// generated is a text with references to generated values. A plain string is sent as it is.
type generated string

// maxNesting bounds generated bodies; schemas may contain themselves.
const maxNesting = 8

// generate returns a value for a schema: an example, a default, one of an enumeration, or a value generated
// by type and format. label is the name of the field or parameter: generated values get it if it is free,
// and reasons mention it. reason says why there is no value; empty: there is one.
func (a *description) generate(ref *openapi3.SchemaRef, label string, depth int) (value any, reason string) {
	a.budget--
	switch {
	case ref == nil || ref.Value == nil:
		return nil, label + " has no schema"
	case depth > maxNesting:
		return nil, label + " is nested too deep"
	case a.budget < 0:
		return nil, "too many values to generate"
	}
	s := ref.Value
	if value, found := ownValue(s); found {
		return unquoted(s, value), ""
	}
	if len(s.Enum) > 0 {
		return a.oneOfEnum(s, label), ""
	}
	if len(s.AllOf) == 1 && len(s.Properties)+len(s.Required) == 0 { // such as a reference with a description
		return a.generate(s.AllOf[0], label, depth+1)
	}
	for _, alternatives := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(alternatives) > 0 {
			a.note("schemas", "alternatives of "+label, "the first one that can be generated is sent")
			for _, alternative := range alternatives {
				if value, reason = a.generate(alternative, label, depth+1); reason == "" {
					break
				}
			}
			return value, reason
		}
	}
	switch kindOf(s) {
	case openapi3.TypeObject:
		return a.object(s, label, depth)
	case openapi3.TypeArray:
		return a.array(s, label, depth)
	case openapi3.TypeInteger:
		return a.integer(s, label)
	case openapi3.TypeNumber:
		return number(s, label)
	case openapi3.TypeBoolean:
		return true, ""
	case openapi3.TypeNull:
		return nil, ""
	}
	return a.text(s, label)
}

// ownValue returns a value that the schema itself gives.
func ownValue(s *openapi3.Schema) (any, bool) {
	switch {
	case s.Example != nil:
		return s.Example, true
	case len(s.Examples) > 0:
		return s.Examples[0], true
	case s.Default != nil:
		return s.Default, true
	case s.Const != nil:
		return s.Const, true
	}
	return nil, false
}

// unquoted turns a number of the description, which is a text with numberMark, into a plain text if the
// schema expects a text: YAML authors often leave out the quotes. It returns all other values unchanged.
func unquoted(s *openapi3.Schema, value any) any {
	text, _ := value.(string)
	number, marked := markedNumber(text)
	if marked && len(s.Type.Slice()) > 0 && kindOf(s) == openapi3.TypeString {
		return number.String()
	}
	return value
}

// oneOfEnum returns a random choice of texts, or the first value if a choice is not possible.
func (a *description) oneOfEnum(s *openapi3.Schema, label string) any {
	var texts []string
	for _, value := range s.Enum {
		text, isText := unquoted(s, value).(string)
		_, marked := markedNumber(text)
		const separators = "&=+%?/" // scenarios do not encode them when they write a value into a URL
		if !isText || marked || strings.ContainsAny(text, separators) {
			return unquoted(s, s.Enum[0])
		}
		texts = append(texts, text)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return generated(a.value(label, scenario.Value{Choice: texts}))
}

// kindOf returns the first type of a schema that is not null. If the schema names none, it guesses the type
// by the rest of the schema.
func kindOf(s *openapi3.Schema) string {
	for _, kind := range s.Type.Slice() {
		if kind != openapi3.TypeNull {
			return kind
		}
	}
	switch {
	case s.Type.Includes(openapi3.TypeNull):
		return openapi3.TypeNull
	case len(s.Properties) > 0 || len(s.AllOf) > 0:
		return openapi3.TypeObject
	case s.Items != nil:
		return openapi3.TypeArray
	}
	return openapi3.TypeString
}

// composed returns the properties of a schema and of all schemas that it is composed of, and the names of
// the required ones.
func composed(s *openapi3.Schema, depth int) (properties openapi3.Schemas, required []string) {
	properties = openapi3.Schemas{}
	required = slices.Clone(s.Required)
	if depth > maxNesting {
		return properties, required
	}
	for _, part := range s.AllOf {
		if part != nil && part.Value != nil {
			of, needed := composed(part.Value, depth+1)
			maps.Copy(properties, of)
			required = append(required, needed...)
		}
	}
	maps.Copy(properties, s.Properties)
	return properties, required
}

// object generates the required properties, and optional ones with an example or a default. It generates
// all properties if none is required.
func (a *description) object(s *openapi3.Schema, label string, depth int) (any, string) {
	object := map[string]any{}
	properties, required := composed(s, 0)
	var omitted []string
	for _, name := range sortedKeys(properties) {
		property := properties[name]
		if property == nil || property.Value == nil || property.Value.ReadOnly {
			continue
		}
		_, hasValue := ownValue(property.Value)
		isRequired := slices.Contains(required, name)
		if len(required) > 0 && !isRequired && !hasValue {
			omitted = append(omitted, name)
			continue
		}
		value, reason := a.generate(property, name, depth+1)
		switch {
		case reason == "":
			object[name] = value
		case isRequired:
			return nil, reason
		default:
			omitted = append(omitted, name)
		}
	}
	if len(omitted) > 0 {
		a.note("schemas", "optional fields of "+label+": "+strings.Join(omitted, ", "),
			"without an example, or not to be generated: left out")
	}
	return object, ""
}

// array generates at least one element, and as many as the schema requires.
func (a *description) array(s *openapi3.Schema, label string, depth int) (any, string) {
	const most = 100
	if s.MinItems > most {
		return nil, fmt.Sprintf("%s has at least %d elements", label, s.MinItems)
	}
	var list []any
	for range max(1, s.MinItems) {
		value, reason := a.generate(s.Items, label, depth+1)
		if reason != "" {
			return nil, reason
		}
		list = append(list, value)
	}
	return list, ""
}

// bounds returns the smallest and the largest number, both included. It moves an excluded bound by step if
// the bound is a multiple of step, and with a step of 0 not at all. Without bounds the numbers begin at 1.
// ExclusiveMin and ExclusiveMax are flags of Min and Max in OpenAPI 3.0, and bounds of their own (Value) in
// 3.1.
func bounds(s *openapi3.Schema, step float64) (low, high float64) {
	const usual = 999 // the distance from the smallest to the largest number if the schema has no largest one
	low = math.Inf(-1)
	high = math.Inf(1)
	if s.Max != nil {
		high = *s.Max
		if s.ExclusiveMax.IsTrue() {
			high -= stepFrom(high, step)
		}
	}
	if s.ExclusiveMax.Value != nil {
		high = min(high, *s.ExclusiveMax.Value-stepFrom(*s.ExclusiveMax.Value, step))
	}
	if s.Min != nil {
		low = *s.Min
		if s.ExclusiveMin.IsTrue() {
			low += stepFrom(low, step)
		}
	}
	if s.ExclusiveMin.Value != nil {
		low = max(low, *s.ExclusiveMin.Value+stepFrom(*s.ExclusiveMin.Value, step))
	}
	if math.IsInf(low, -1) {
		low = min(1, high)
		if step > 0 { // the first multiple from low on must not be above high
			low = min(1, math.Floor(high/step)*step)
		}
	}
	if math.IsInf(high, 1) {
		high = low + usual
	}
	return low, high
}

// stepFrom returns the step by which an excluded bound moves: 0 unless it is a multiple of step. The rounding
// of fractions such as 0.3/0.1 does not count.
func stepFrom(bound, step float64) float64 {
	const rounding = 1e-14
	quotient := bound / step
	if math.Abs(quotient-math.Round(quotient)) <= rounding*math.Abs(quotient) {
		return step
	}
	return 0
}

// integer returns a whole number within the bounds of a schema: a generated one, or a constant one if it must
// be a multiple. The text is the reason if there is none.
func (a *description) integer(s *openapi3.Schema, label string) (any, string) {
	step := 1.0
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		step = *s.MultipleOf
	}
	low, high := bounds(s, step)
	low = math.Ceil(low)
	high = math.Floor(high)
	const exact = 1 << 53
	if low > high || math.Abs(low) > exact || math.Abs(high) > exact {
		return nil, fmt.Sprintf("%s has no whole number between %g and %g", label, low, high)
	}
	if step != 1 {
		multiple := math.Ceil(low/step) * step
		if multiple > high || multiple != math.Trunc(multiple) {
			return nil, fmt.Sprintf("%s has no simple multiple of %g", label, step)
		}
		return int64(multiple), ""
	}
	return generated(a.value(label, scenario.Value{Integer: &scenario.Range{From: int64(low),
		To: int64(high)}})), ""
}

// number returns a constant within the bounds, because generated values are whole numbers only.
func number(s *openapi3.Schema, label string) (any, string) {
	step := 0.0
	if s.MultipleOf != nil {
		step = max(0, *s.MultipleOf)
	}
	low, high := bounds(s, step)
	// A step of 0 has not moved the excluded bounds, so the number must lie between low and high.
	excludes := func(bound openapi3.ExclusiveBound) bool { return bound.IsTrue() || bound.Value != nil }
	between := step == 0 && (excludes(s.ExclusiveMin) || excludes(s.ExclusiveMax))
	hasMin := s.Min != nil || s.ExclusiveMin.Value != nil
	if between && !hasMin { // then bounds may have set low to the excluded upper bound
		low = min(low, high-1)
	}
	chosen := low + (high-low)/2
	if step > 0 {
		chosen = math.Ceil(low/step) * step
	}
	isEmpty := low > high || low == high && between
	if isEmpty || chosen > high || math.IsInf(chosen, 0) || math.IsNaN(chosen) {
		return nil, fmt.Sprintf("%s has no number between %g and %g", label, low, high)
	}
	return chosen, ""
}

// text returns a string by its format, its length or its name.
func (a *description) text(s *openapi3.Schema, label string) (any, string) {
	if kind := kindOf(s); kind != openapi3.TypeString {
		return nil, label + " has the unknown type " + kind
	}
	if constant, known := formats()[s.Format]; known {
		return constant, ""
	}
	const usual, longestName = 12, 40 // characters of a generated text, and of a generated name
	longest := uint64(usual)
	if s.MaxLength != nil {
		longest = *s.MaxLength
	}
	length := max(s.MinLength, min(longest, usual))
	fitsName := s.MinLength == 0 && (s.MaxLength == nil || *s.MaxLength >= longestName)
	switch {
	case s.Pattern != "":
		return nil, label + " must match the pattern " + s.Pattern + ", and has no example"
	case s.Format == "uuid":
		return generated(a.value(label, scenario.Value{UUID: &struct{}{}})), ""
	case s.Format == "email":
		return a.email(s, label)
	case s.Format == "binary":
		return nil, label + " is binary"
	case length == 0:
		return "", ""
	case length > longestText:
		return nil, fmt.Sprintf("%s has at least %d characters", label, s.MinLength)
	case fitsName && slices.Contains([]string{"fullname", "customername", "personname"}, normal(label)):
		return generated(a.value(label, scenario.Value{Name: &struct{}{}})), ""
	}
	return generated(a.value(label, scenario.Value{Text: &scenario.Text{Length: int(length)}})), ""
}

// email returns an address of a random name at a fixed domain, within the lengths of a schema.
func (a *description) email(s *openapi3.Schema, label string) (any, string) {
	const domain, usual, longest = "@example.org", 12, 64 // characters of a name (RFC 5321, 4.5.3.1.1)
	withoutDomain := func(length uint64) int64 { return int64(min(length, maxText)) - int64(len(domain)) }
	least := withoutDomain(s.MinLength)
	length := max(usual, least)
	if s.MaxLength != nil {
		length = min(length, withoutDomain(*s.MaxLength))
	}
	if length < max(least, 1) || length > longest {
		return nil, label + " has no simple address of its length"
	}
	return generated(a.value(label, scenario.Value{Text: &scenario.Text{Length: int(length)}}) + domain), ""
}

// formats returns a valid text for each format.
func formats() map[string]string {
	return map[string]string{
		"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "PT1M",
		"uri": "https://example.org/", "url": "https://example.org/", "uri-reference": "/",
		"hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "byte": "Y2xlYXZl",
	}
}

// scalarText returns a scalar as a text. It applies escape to constant texts.
func scalarText(value any, escape func(string) string) (text, reason string) {
	switch v := value.(type) {
	case generated:
		return string(v), ""
	case string:
		if number, marked := markedNumber(v); marked {
			return escape(number.String()), ""
		}
		return scenario.Literal(escape(v)), ""
	case bool:
		return strconv.FormatBool(v), ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), ""
	case int64:
		return strconv.FormatInt(v, 10), ""
	}
	return "", "its value is not a single one"
}

// jsonBody returns a value as the body of a scenario: it escapes constant texts and keeps references.
func (a *description) jsonBody(value any) any {
	switch v := value.(type) {
	case generated:
		return string(v)
	case string:
		if number, marked := markedNumber(v); marked {
			return number
		}
		return scenario.Literal(v)
	case float64:
		const exact = 1 << 53
		if v == math.Trunc(v) && math.Abs(v) < exact {
			return int64(v) // 1e+06 would be refused as a whole number by some servers
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = a.jsonBody(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[scenario.Literal(key)] = a.jsonBody(item)
		}
		return object
	}
	return value
}

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// jsonCheck expects a value at a path.
type jsonCheck struct {
	source string // as the user wrote it
	path   []string
	value  any
	text   string // the value as written: strings need no quotes
}

// newJSONCheck reads "path=value".
func newJSONCheck(source string) (jsonCheck, error) {
	path, text, found := strings.Cut(source, "=")
	if !found || path == "" {
		return jsonCheck{}, fmt.Errorf("expected JSON %q: write it as path=value, for example items.0.price=9.5", source)
	}
	check := jsonCheck{source: source, path: strings.Split(path, "."), text: text}
	value, err := decode([]byte(text))
	if err != nil {
		value = text
	}
	check.value = value
	return check, nil
}

func (j *jsonCheck) String() string { return "to have " + j.source }

// match compares the value at the path: as JSON, or as the text of a string.
func (j *jsonCheck) match(document any) bool {
	value, found := lookUp(document, j.path)
	if !found {
		return false
	}
	if text, isString := value.(string); isString && text == j.text {
		return true
	}
	return equal(value, j.value)
}

// lookUp follows a path through objects and arrays.
func lookUp(document any, path []string) (any, bool) {
	for _, step := range path {
		switch at := document.(type) {
		case map[string]any:
			value, found := at[step]
			if !found {
				return nil, false
			}
			document = value
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			document = at[i]
		default:
			return nil, false
		}
	}
	return document, true
}

// equal compares decoded values; numbers by value where they have few digits.
func equal(a, b any) bool {
	left, isNumber := a.(json.Number)
	right, both := b.(json.Number)
	if !isNumber || !both {
		return reflect.DeepEqual(a, b)
	}
	x, xErr := left.Float64()
	y, yErr := right.Float64()
	const exact = 15 // decimal digits of a float64
	return left == right || xErr == nil && yErr == nil && x == y && len(left) <= exact && len(right) <= exact
}

// decode reads exactly one JSON value and keeps numbers as they are written.
func decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return value, nil
}

package oracle

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/load/record"
)

// jsonCheck expects a value at a path.
type jsonCheck struct {
	path   Path
	text   string       // the value as the user wrote it: strings need no quotes
	value  gjson.Result // the value if the text is JSON, otherwise a string
	nested any          // the decoded value if it is an object or a list
}

// newJSONCheck parses the value that is expected at a path.
func newJSONCheck(path, text string) (jsonCheck, error) {
	parsed, err := ParsePath(path)
	if err != nil {
		return jsonCheck{}, fmt.Errorf("expected JSON: %w", err)
	}
	return valueCheck(parsed, text), nil
}

// valueCheck expects a value at a path.
func valueCheck(path Path, text string) jsonCheck {
	check := jsonCheck{path: path, text: text, value: gjson.Result{Type: gjson.String, Str: text}}
	if isJSON([]byte(text)) {
		check.value = gjson.Parse(strings.TrimSpace(text))
	}
	if check.value.Type == gjson.JSON {
		check.nested, _ = decode(check.value.Raw) // it is valid
	}
	return check
}

// JudgeValue judges an answer by the value at a path of its body, which must be JSON. It compares as an
// Oracle does.
func JudgeValue(a *Answer, path Path, text []byte, explain bool) (record.Outcome, string) {
	// Equal texts are the usual case, which allocates nothing.
	got, found := path.Find(a.Body)
	isSame := got.Raw == string(text) || got.Type == gjson.String && got.Str == string(text)
	if found && isSame {
		return record.OK, ""
	}
	check := valueCheck(path, string(text))
	return check.judge(a, explain)
}

// judge returns the outcome of an answer, and a complaint if explain is set.
func (j *jsonCheck) judge(a *Answer, explain bool) (record.Outcome, string) {
	if j.match(a.Body) {
		return record.OK, ""
	}
	return WrongBody(a, explain, j)
}

// SplitJSON splits an expectation of the form "path=value".
func SplitJSON(text string) (path, value string, err error) {
	path, value, found := strings.Cut(text, "=")
	if !found || path == "" {
		return "", "", fmt.Errorf("expected JSON %q: write it as path=value, for example items.0.price=9.5", text)
	}
	return path, value, nil
}

func (j *jsonCheck) String() string { return "to have " + j.path.String() + "=" + j.text }

// match compares the value at the path: as JSON, or as the text of a string.
func (j *jsonCheck) match(document []byte) bool {
	got, found := j.path.Find(document)
	if !found {
		return false
	}
	switch {
	case got.Type == gjson.String && got.Str == j.text:
		return true
	case got.Type != j.value.Type:
		return false
	case got.Type == gjson.String:
		return got.Str == j.value.Str
	case got.Type == gjson.Number:
		return sameNumber(got, j.value)
	case got.Type == gjson.JSON:
		nested, err := decode(got.Raw)
		return err == nil && reflect.DeepEqual(nested, j.nested)
	}
	return true // both are the same literal, such as true
}

// sameNumber compares numbers by value if they have few digits, otherwise by their text.
func sameNumber(a, b gjson.Result) bool {
	const exact = 15 // decimal digits of a float64
	if a.Raw == b.Raw {
		return true
	}
	isShort := len(a.Raw) <= exact && len(b.Raw) <= exact
	return isShort && a.Num == b.Num && !math.IsInf(a.Num, 0)
}

// decode decodes one JSON value. It keeps the digits of numbers.
func decode(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

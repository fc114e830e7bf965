package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxNesting is the number of levels of a body that MongoDB takes: it allows 100, and the body is the second
// of its record.
const maxNesting = 99

// checkObject returns an error for a body that is not a JSON object.
func checkObject(body json.RawMessage) error {
	text := bytes.TrimLeft(body, " \t\r\n")
	if !json.Valid(body) || !bytes.HasPrefix(text, []byte("{")) {
		return errors.New("its body is not a JSON object")
	}
	return nil
}

// toBSON converts a JSON object to BSON. Fields keep their order. It returns an error for anything else, and
// for what MongoDB does not take: whole numbers beyond 64 bits, numbers beyond the range of float64, names of
// fields with zero bytes, and more than maxNesting levels.
func toBSON(body json.RawMessage) (bson.D, error) {
	if err := checkObject(body); err != nil {
		return nil, err
	}
	r := reader{Decoder: json.NewDecoder(bytes.NewReader(body))}
	r.UseNumber()
	value, err := r.value("")
	if err != nil {
		return nil, fmt.Errorf("its body cannot be stored: %w", err)
	}
	return value.(bson.D), nil
}

// reader reads valid JSON as BSON.
type reader struct {
	*json.Decoder
	depth int // objects and arrays around the next value
}

// value reads the next value of a field: a bson.D, a bson.A, an int64, a float64, a string, a bool or nil.
func (r *reader) value(field string) (any, error) {
	token, err := r.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		if whole, err := t.Int64(); err == nil {
			return whole, nil
		}
		number, err := t.Float64()
		if err != nil || !strings.ContainsAny(t.String(), ".eE") { // a float64 would round a whole number
			return nil, fmt.Errorf("field %q: the number %.40s does not fit 64 bits", field, t)
		}
		return number, nil
	case json.Delim:
		if r.depth++; r.depth > maxNesting {
			return nil, fmt.Errorf("field %q is nested deeper than %d levels", field, maxNesting)
		}
		if t == '{' {
			token, err = r.object()
		} else {
			token, err = r.array(field)
		}
		r.depth--
	}
	return token, err // a string, a bool or nil, if it is none of the above
}

// object reads the rest of an object, after its opening brace.
func (r *reader) object() (bson.D, error) {
	object := bson.D{}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // names are always strings
		if strings.Contains(name, "\x00") {
			return nil, fmt.Errorf("field %q has a zero byte", name)
		}
		value, err := r.value(name)
		if err != nil {
			return nil, err
		}
		object = append(object, bson.E{Key: name, Value: value})
	}
	_, err := r.Token()
	return object, err
}

// array reads the rest of the array of a field, after its opening bracket.
func (r *reader) array(field string) (bson.A, error) {
	array := bson.A{}
	for r.More() {
		value, err := r.value(field)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := r.Token()
	return array, err
}

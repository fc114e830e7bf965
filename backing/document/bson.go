package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// toBSON converts a JSON object to BSON. Fields keep their order. It returns an error for anything else, and
// for what BSON cannot hold: whole numbers beyond 64 bits, numbers beyond the range of float64, and names of
// fields with zero bytes.
func toBSON(body json.RawMessage) (bson.D, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, errors.New("its body is not a JSON object")
	}
	object, err := readObject(decoder)
	if err != nil {
		return nil, fmt.Errorf("its body is not JSON that can be stored: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) { // decoder.More is false before a stray bracket, too
		return nil, errors.New("its body has something behind the JSON object")
	}
	return object, nil
}

// checkStorable returns an error if MongoDB could not store a body; both stores must accept the same bodies.
func checkStorable(body json.RawMessage) error {
	if json.Valid(body) && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) &&
		!hasLongNumbers(body) && !bytes.Contains(body, []byte(`\u0000`)) {
		return nil // nearly all bodies, and this check takes a tenth of the time of toBSON
	}
	_, err := toBSON(body)
	return err
}

// hasLongNumbers reports whether a JSON text has numbers that may not fit 64 bits: with more
// than 18 digits, or an exponent.
func hasLongNumbers(text []byte) bool {
	digits, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted, digits = !quoted, 0
		case quoted:
		case c >= '0' && c <= '9':
			if digits++; digits > 18 {
				return true
			}
		case digits > 0 && (c == 'e' || c == 'E'):
			return true
		case c != '.':
			digits = 0
		}
	}
	return false
}

// readValue decodes the next value of a field: a bson.D, a bson.A, an int64, a float64, a string, a bool
// or nil.
func readValue(decoder *json.Decoder, field string) (any, error) {
	token, err := decoder.Token()
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
		if t == '{' {
			return readObject(decoder)
		}
		return readArray(decoder, field)
	}
	return token, nil // a string, a bool or nil
}

// readObject decodes the rest of an object, after its opening brace.
func readObject(decoder *json.Decoder) (bson.D, error) {
	object := bson.D{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		if strings.Contains(name.(string), "\x00") { // names are always strings
			return nil, fmt.Errorf("field %q has a zero byte", name)
		}
		value, err := readValue(decoder, name.(string))
		if err != nil {
			return nil, err
		}
		object = append(object, bson.E{Key: name.(string), Value: value})
	}
	_, err := decoder.Token()
	return object, err
}

// readArray decodes the rest of the array of a field, after its opening bracket.
func readArray(decoder *json.Decoder, field string) (bson.A, error) {
	array := bson.A{}
	for decoder.More() {
		value, err := readValue(decoder, field)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := decoder.Token()
	return array, err
}

package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// toBSON turns a JSON object into the store's form. Fields keep their order.
func toBSON(body json.RawMessage) (bson.D, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := readValue(decoder)
	if err != nil {
		return nil, fmt.Errorf("its body is not JSON: %w", err)
	}
	object, ok := value.(bson.D)
	if !ok {
		return nil, errors.New("its body is not a JSON object")
	}
	if decoder.More() {
		return nil, errors.New("its body has something behind the JSON object")
	}
	return object, nil
}

// storable says what is wrong with a body: what one store takes, the other must take.
func storable(body json.RawMessage) error {
	if json.Valid(body) && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) && !longNumbers(body) {
		return nil // so are nearly all, and finding that out costs a tenth
	}
	_, err := toBSON(body)
	return err
}

// longNumbers reports whether a JSON text may have numbers that do not fit: with more
// than 18 digits, or an exponent.
func longNumbers(text []byte) bool {
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

// readValue reads the next value.
func readValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		if whole, err := t.Int64(); err == nil {
			return whole, nil
		}
		return t.Float64()
	case json.Delim:
		if t == '{' {
			return readObject(decoder)
		}
		return readArray(decoder)
	}
	return token, nil // a text, true, false or nil
}

func readObject(decoder *json.Decoder) (bson.D, error) {
	object := bson.D{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		value, err := readValue(decoder)
		if err != nil {
			return nil, err
		}
		object = append(object, bson.E{Key: name.(string), Value: value}) // JSON: a name is a text
	}
	_, err := decoder.Token()
	return object, err
}

func readArray(decoder *json.Decoder) (bson.A, error) {
	array := bson.A{}
	for decoder.More() {
		value, err := readValue(decoder)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := decoder.Token()
	return array, err
}

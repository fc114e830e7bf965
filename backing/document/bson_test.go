package document

import (
	"encoding/json"
	"testing"
)

// TestStorableIsWhatBothStoresTake compares storable, with its shortcut, with the conversion to BSON.
func TestStorableIsWhatBothStoresTake(t *testing.T) {
	for _, body := range []string{
		`{}`, ` {"a":1}`, "\t\r\n{\"a\":[1,2.5,-3,true,false,null,\"e9\"]}", `{"a":"12345678901234567890"}`,
		`{"a\"1234567890123456789e5":1}`,
		`{"a":123456789012345678}`, `{"a":9223372036854775807}`, `{"a":9223372036854775808}`, `{"a":1e5}`,
		`{"a":1E400}`, `{"a":-1.5e999}`, `{"a":[{"b":2e999}]}`,
		``, `1`, `[]`, `"{}"`, `null`, `{`, `{"a":1}}`, `{"a":1} {}`, `{"a":01}`, `{'a':1}`, `{"a":"\`, `x{"a":1}`,
	} {
		_, err := toBSON(json.RawMessage(body))
		if got := storable(json.RawMessage(body)); (got == nil) != (err == nil) {
			t.Errorf("%s: %v, but as a document of the other store %v", body, got, err)
		}
	}
}

// TestOnlyOneObjectIsStorable: SQLite's JSON functions fail on text behind an object, when it is read.
func TestOnlyOneObjectIsStorable(t *testing.T) {
	for _, body := range []string{`{"a":1}}`, `{"a":1}]`, `{"a":1} {}`, `{"a":1} x`} {
		if storable(json.RawMessage(body)) == nil {
			t.Errorf("%s is storable", body)
		}
	}
}

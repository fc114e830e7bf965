package document

import (
	"encoding/json"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestStorableIsWhatBothStoresTake compares checkStorable with the encoding as BSON, because checkStorable
// accepts most bodies without encoding them.
func TestStorableIsWhatBothStoresTake(t *testing.T) {
	for _, body := range []string{
		`{}`, ` {"a":1}`, "\t\r\n{\"a\":[1,2.5,-3,true,false,null,\"e9\"]}", `{"a":"12345678901234567890"}`,
		`{"a\"1234567890123456789e5":1}`,
		`{"a":123456789012345678}`, `{"a":9223372036854775807}`, `{"a":9223372036854775808}`, `{"a":1e5}`,
		`{"a":1E400}`, `{"a":"\u0000"}`, `{"a":[{"b\u0000":1}]}`, `{"a":-1.5e999}`, `{"a":[{"b":2e999}]}`,
		``, `1`, `[]`, `"{}"`, `null`, `{`, `{"a":1}}`, `{"a":1} {}`, `{"a":01}`, `{'a':1}`, `{"a":"\`, `x{"a":1}`,
	} {
		object, err := toBSON(json.RawMessage(body))
		if err == nil {
			_, err = bson.Marshal(object)
		}
		if got := checkStorable(json.RawMessage(body)); (got == nil) != (err == nil) {
			t.Errorf("%s: checkStorable returns %v, but BSON %v", body, got, err)
		}
	}
}

// TestOnlyOneObjectIsStorable checks that text behind the object is refused. SQLite would store it, and its
// JSON functions would fail when they read it.
func TestOnlyOneObjectIsStorable(t *testing.T) {
	for _, body := range []string{`{"a":1}}`, `{"a":1}]`, `{"a":1} {}`, `{"a":1} x`} {
		if checkStorable(json.RawMessage(body)) == nil {
			t.Errorf("%s is storable", body)
		}
	}
}

// TestNumbersAreNotRounded checks that a number beyond the range of an int64, or of a float64, is refused
// with the name of its field, and that the largest whole numbers that fit are kept.
func TestNumbersAreNotRounded(t *testing.T) {
	for _, number := range []string{"9223372036854775808", "-9223372036854775809", "1e400"} {
		for _, body := range []string{`{"b":1,"a":` + number + `}`, `{"b":{"a":[1,[` + number + `]]}}`} {
			err := checkStorable(json.RawMessage(body))
			if err == nil || !strings.Contains(err.Error(), `field "a": the number `+number+" does not fit") {
				t.Errorf("%s: %v, want an error that names the field", body, err)
			}
		}
	}
	body := `{"a":[9223372036854775807,-9223372036854775808,0.5]}`
	object, err := toBSON(json.RawMessage(body))
	testset.Must(t, err)
	if kept, err := json.Marshal(object); err != nil || string(kept) != body {
		t.Errorf("%s became %s (%v)", body, kept, err)
	}
}

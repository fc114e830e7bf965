package document

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestOnlyOneObjectIsStorable checks that both stores refuse everything but one JSON object. SQLite would
// store text behind it, and its JSON functions would fail when they read it.
func TestOnlyOneObjectIsStorable(t *testing.T) {
	for _, body := range []string{`{"a":1}}`, `{"a":1}]`, `{"a":1} {}`, `{"a":1} x`, ``, `1`, `[]`, `"{}"`,
		`null`, `{`, `{"a":01}`, `{'a':1}`, `{"a":"\`, `x{"a":1}`} {
		_, err := toBSON(json.RawMessage(body))
		if checkObject(json.RawMessage(body)) == nil || err == nil {
			t.Errorf("%s is storable (as BSON: %v)", body, err)
		}
	}
	for _, body := range []string{`{}`, ` {"a":1}`, "\t\r\n{\"a\":[1,2.5,-3,true,false,null,\"e9\"]}"} {
		_, err := toBSON(json.RawMessage(body))
		testset.Must(t, errors.Join(checkObject(json.RawMessage(body)), err))
	}
}

// TestMongoDBTakesNoMore checks that what MongoDB refuses is refused with the name of its field, and that the
// largest whole numbers and the deepest body that it takes are kept.
func TestMongoDBTakesNoMore(t *testing.T) {
	deep := func(levels int) string { return strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) }
	for value, want := range map[string]string{
		"1e400": "the number 1e400 does not fit", "9223372036854775808": "the number 9223372036854775808 does",
		"-9223372036854775809": "the number -9223372036854775809 does not fit",
		deep(maxNesting + 1):   "is nested deeper than 99 levels",
	} {
		_, err := toBSON(json.RawMessage(`{"b":1,"a":` + value + `}`))
		if err == nil || !strings.Contains(err.Error(), `field "a"`) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want an error that names the field", value, err)
		}
	}
	if _, err := toBSON(json.RawMessage(`{"b":[1,{"a\u0000":1}]}`)); err == nil {
		t.Error("the name of a field has a zero byte")
	}
	body := `{"a":[9223372036854775807,-9223372036854775808,0.5],"b":` + deep(maxNesting) + `}`
	object, err := toBSON(json.RawMessage(body))
	testset.Must(t, err)
	if kept, err := json.Marshal(object); err != nil || string(kept) != body {
		t.Errorf("%s became %s (%v)", body, kept, err)
	}
}

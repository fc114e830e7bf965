package oracle

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

func TestPaths(t *testing.T) {
	const document = ` { "a" : { "b.c" : [ 1 , "two\u0021", [ true , null ] , { } ] , "0" : "zero" , "\u00e9\"" : -1.5e3 } , "$id" : 7 , "" : 9 } `
	cases := []struct{ path, want string }{
		{"a.b.c", ""},
		{"$.a['b.c'][0]", "1"},
		{"$['a'][\"b.c\"].1", `"two\u0021"`},
		{"a['b.c'][2].0", "true"},
		{"a['b.c'].2[1]", "null"},
		{"a['b.c'].3", "{ }"},
		{"a['b.c'].4", ""},
		{"a['b.c'].x", ""},
		{"a['b.c'].-1", ""},
		{"a['b.c'].0.x", ""},
		{"a.0", `"zero"`},
		{`a.é"`, "-1.5e3"},
		{"$id", "7"},
		{"$.$id", "7"},
		{"$['']", "9"},
		{"$", strings.TrimSpace(document)},
		{"A", ""},
		{"a.*", ""},
		{"a.#", ""},
		{"@this", ""},
	}
	for _, c := range cases {
		path, err := ParsePath(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		got, found := path.Find([]byte(document))
		if found != (c.want != "") || got.Raw != c.want || path.String() != c.path {
			t.Errorf("%s: %q, found %v, want %q", c.path, got.Raw, found, c.want)
		}
	}
}

func TestPathsThatAreMistakes(t *testing.T) {
	for _, path := range []string{"", ".", "a.", ".a", "a..b", "$.", "$..a", "a[", "a[]", "a[x]", "a[-1]",
		"a['b", "a['b'", "a['b']c", "a[0]b"} {
		if p, err := ParsePath(path); err == nil {
			t.Errorf("%q: no error: %+v", path, p)
		}
	}
}

func TestDeepDocuments(t *testing.T) {
	for depth, want := range map[int]bool{100: true, 9_999: true, 5_000_000: false} {
		text := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		if got := isJSON([]byte(text)); got != want {
			t.Errorf("depth %d: %v, want %v", depth, got, want)
		}
	}
	flat := "[" + strings.Repeat("[],", 20_000) + "1]"
	if !isJSON([]byte(flat)) {
		t.Error("a flat document with many lists is no JSON")
	}
}

// FuzzPath compares validation and search with encoding/json.
func FuzzPath(f *testing.F) {
	f.Add(`{"a":[{"b":"\u00e9"},2.50]}`, "a.0.b")
	f.Add(`[[1,2],{"":{}}]`, "$[1]['']")
	f.Add(` "x" `, "$")
	f.Fuzz(func(t *testing.T, document, text string) {
		if got, want := isJSON([]byte(document)), json.Valid([]byte(document)); got != want {
			t.Fatalf("%q is JSON: %v, want %v", document, got, want)
		}
		path, err := ParsePath(text)
		root, notJSON := decode(document)
		if err != nil || notJSON != nil || !json.Valid([]byte(document)) || unusual(document) {
			return
		}
		got, found := path.Find([]byte(document))
		want, exists := lookUp(root, path.steps)
		if found != exists {
			t.Fatalf("%q at %q: found %v %q, want %v", document, text, found, got.Raw, want)
		}
		if !found {
			return
		}
		value, err := decode(got.Raw)
		if err != nil || !json.Valid([]byte(got.Raw)) || !reflect.DeepEqual(value, want) {
			t.Errorf("%q at %q: %q, want %v, error %v", document, text, got.Raw, want, err)
		}
		if got.Type == gjson.String && got.Str != want {
			t.Errorf("%q: text %q, want %q", document, got.Str, want)
		}
	})
}

// escaped matches a character of a key that gjson.Escape has escaped.
var escaped = regexp.MustCompile(`(?s)\\(.)`)

// lookUp follows a path through decoded objects and lists.
func lookUp(document any, path []pathStep) (any, bool) {
	for _, step := range path {
		switch at := document.(type) {
		case map[string]any:
			value, found := at[escaped.ReplaceAllString(step.key, "$1")]
			if !found {
				return nil, false
			}
			document = value
		case []any:
			index, err := strconv.Atoi(step.index)
			if err != nil || index >= len(at) {
				return nil, false
			}
			document = at[index]
		default:
			return nil, false
		}
	}
	return document, true
}

// unusual reports whether libraries differ on a document: it has repeated keys, which shows as more colons
// than members, or texts that are no Unicode.
func unusual(document string) bool {
	keys := strings.Count(document, ":")
	members := 0
	var count func(value any)
	count = func(value any) {
		switch at := value.(type) {
		case map[string]any:
			members += len(at)
			for key, inner := range at {
				members += strings.Count(key, ":")
				count(inner)
			}
		case []any:
			for _, inner := range at {
				count(inner)
			}
		case string:
			members += strings.Count(at, ":")
		}
	}
	value, err := decode(document)
	count(value)
	return err != nil || keys != members || !utf8.ValidString(document) ||
		strings.Contains(strings.ToLower(document), `\ud`)
}

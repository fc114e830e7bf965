package convert

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestDescriptionsAsPeopleWriteThem converts descriptions whose scalars YAML takes for something else
// than OpenAPI does.
func TestDescriptionsAsPeopleWriteThem(t *testing.T) {
	cases := map[string][]string{ // by file: parts of the scenario
		"unquoted-status.yaml":      {"request: GET /books", `status: "200"`},
		"unquoted-version.yaml":     {"request: GET /books"},
		"date-and-long-number.yaml": {"GET /books?id=9007199254740993&since=2020-01-02"},
		"key-late.json":             {"request: GET /books"},
		"version-of-openapi.yaml":   {"GET /a"},
		"version-of-swagger.yaml":   {`name: "2026"`, "GET /a"},
		"port-of-a-server.yaml":     {"target: http://h:8443"},
		"texts-like-numbers.yaml":   {"zip=01234", "v=1.0", "choice:", `- "1.0"`, `- "2.0"`},
		"numbers-in-a-body.yaml": {"/a/18446744073709551617", "default: 9007199254740993",
			"long: 123456789012345678901234567890", "price: 1.10", "tax: 0.5",
			`sku: "12345678901234567890"`, `day: "2020-01-02"`},
		"keys-by-reference.yaml":   {"GET /a", "GET /b", "GET /c"},
		"type-null.yaml":           {"from: 3", "to: 3"},
		"names-like-keywords.yaml": {"GET /a?v=7&w=08"},
	}
	for name, parts := range cases {
		t.Run(name, func(t *testing.T) {
			conversion := converted(t, name, string(read(t, "openapi/"+name)), Options{})
			text, err := conversion.YAML("a.yaml")
			testset.Must(t, err)
			for _, want := range parts {
				if !strings.Contains(string(text), want) {
					t.Errorf("lacks %q:\n%s", want, text)
				}
			}
		})
	}
}

// TestNumbersBetweenExcludedBounds: a share, for example, which is a number between 0 and 1.
func TestNumbersBetweenExcludedBounds(t *testing.T) {
	for text, want := range map[string]float64{
		`{"exclusiveMinimum": 0, "exclusiveMaximum": 1}`:                     0.5,
		`{"minimum": 0, "exclusiveMinimum": true, "maximum": 0.5}`:           0.25,
		`{"exclusiveMinimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25}`: 0.25,
		`{"exclusiveMaximum": 1}`:                                            0.5,
		`{"exclusiveMinimum": 0.1, "maximum": 0.3, "multipleOf": 0.25}`:      0.25,
		`{"minimum": 0.1, "exclusiveMaximum": 0.3, "multipleOf": 0.25}`:      0.25,
		`{"exclusiveMinimum": 0.3, "maximum": 0.4, "multipleOf": 0.1}`:       0.4,
		`{"maximum": 3, "multipleOf": 5}`:                                    0,
	} {
		var s openapi3.Schema
		testset.Must(t, json.Unmarshal([]byte(text), &s))
		if got, reason := number(&s, "share"); got != want {
			t.Errorf("%s: %v (%s), want %g", text, got, reason, want)
		}
	}
}

// TestWholeNumbersBetweenFractions: only a bound that is a whole number itself is excluded as one.
func TestWholeNumbersBetweenFractions(t *testing.T) {
	for text, want := range map[string]scenario.Range{
		`{"exclusiveMinimum": 0.5, "maximum": 1}`:                           {From: 1, To: 1},
		`{"minimum": 1, "exclusiveMaximum": 1.5}`:                           {From: 1, To: 1},
		`{"minimum": 0.5, "exclusiveMinimum": true, "maximum": 1}`:          {From: 1, To: 1},
		`{"minimum": 1, "maximum": 1.5, "exclusiveMaximum": true}`:          {From: 1, To: 1},
		`{"exclusiveMinimum": 0, "exclusiveMaximum": 2}`:                    {From: 1, To: 1},
		`{"exclusiveMinimum": -0.5, "exclusiveMaximum": 2.5, "maximum": 9}`: {From: 0, To: 2},
		`{"maximum": 0.5}`:          {From: 0, To: 0},
		`{"exclusiveMaximum": 0.5}`: {From: 0, To: 0},
	} {
		var s openapi3.Schema
		testset.Must(t, json.Unmarshal([]byte(text), &s))
		a := &description{draft: newDraft("a")}
		_, reason := a.integer(&s, "n")
		if got := a.file.Values["n"].Integer; got == nil || *got != want {
			t.Errorf("%s: %v (%s), want %v", text, got, reason, want)
		}
	}
}

// TestWholeMultiples of a number, which need not be as small as 1.
func TestWholeMultiples(t *testing.T) {
	for text, want := range map[string]any{
		`{"maximum": 3, "multipleOf": 5}`:                        int64(0),
		`{"maximum": -3, "multipleOf": 5}`:                       int64(-5),
		`{"exclusiveMinimum": 5, "multipleOf": 5}`:               int64(10),
		`{"minimum": 1, "maximum": 4, "multipleOf": 5}`:          nil,
		`{"minimum": 2, "multipleOf": 0.5}`:                      int64(2),
		`{"exclusiveMinimum": 1, "maximum": 9, "multipleOf": 3}`: int64(3),
	} {
		var s openapi3.Schema
		testset.Must(t, json.Unmarshal([]byte(text), &s))
		a := &description{draft: newDraft("a")}
		if got, reason := a.integer(&s, "n"); got != want {
			t.Errorf("%s: %v (%s), want %v", text, got, reason, want)
		}
	}
}

// TestAddressesHaveTheLengthOfTheirSchema: "@example.org" alone has 12 characters.
func TestAddressesHaveTheLengthOfTheirSchema(t *testing.T) {
	for text, want := range map[string]int{
		`{"format": "email"}`:                                    12,
		`{"format": "email", "maxLength": 20}`:                   8,
		`{"format": "email", "minLength": 40}`:                   28,
		`{"format": "email", "maxLength": 12}`:                   0,
		`{"format": "email", "minLength": 200}`:                  0,
		`{"format": "email", "minLength": 18446744073709551615}`: 0,
	} {
		var s openapi3.Schema
		testset.Must(t, json.Unmarshal([]byte(text), &s))
		a := &description{draft: newDraft("a")}
		_, reason := a.text(&s, "n")
		got := 0
		if v := a.file.Values["n"].Text; v != nil {
			got = v.Length
		}
		if got != want {
			t.Errorf("%s: a name of %d characters (%s), want %d", text, got, reason, want)
		}
	}
}

// TestPasswordsOfServersAreNotShown: neither those of the target nor those of the servers that are not it.
func TestPasswordsOfServersAreNotShown(t *testing.T) {
	c := converted(t, "a.json", `{"openapi":"3.0.0","info":{"title":"a","version":"1"},
		"servers":[{"url":"http://me:geheim@h"},{"url":"http://me:geheim@other"}],
		"paths":{"/a":{"get":{"responses":{"200":{"description":"a"}}}}}}`, Options{})
	text, err := c.YAML("a.yaml")
	testset.Must(t, err)
	if strings.Contains(string(text), "geheim") || !strings.Contains(string(text), "http://me:***@other") {
		t.Errorf("the scenario is\n%s", text)
	}
}

func TestNoNumberLiesBetweenEqualBounds(t *testing.T) {
	var s openapi3.Schema
	testset.Must(t, json.Unmarshal([]byte(`{"minimum": 1, "exclusiveMaximum": 1}`), &s))
	if got, reason := number(&s, "share"); got != nil || !strings.Contains(reason, "no number between") {
		t.Errorf("%v (%s)", got, reason)
	}
}

// TestBoundsOfNumbers: if there are an included and an excluded bound, the tighter one counts.
func TestBoundsOfNumbers(t *testing.T) {
	for text, want := range map[string][2]float64{
		`{}`:              {1, 1000},
		`{"minimum": 5}`:  {5, 1004},
		`{"maximum": 5}`:  {1, 5},
		`{"maximum": -5}`: {-5, -5},
		`{"minimum": 2, "maximum": 5, "exclusiveMinimum": true, "exclusiveMaximum": true}`: {3, 4},
		`{"exclusiveMinimum": 2, "exclusiveMaximum": 5}`:                                   {3, 4},
		`{"minimum": 2, "maximum": 5, "exclusiveMinimum": 0, "exclusiveMaximum": 9}`:       {2, 5},
	} {
		var s openapi3.Schema
		testset.Must(t, json.Unmarshal([]byte(text), &s))
		if low, high := bounds(&s, 1); low != want[0] || high != want[1] {
			t.Errorf("%s: from %g to %g, want %g", text, low, high, want)
		}
	}
}

// TestNotesHaveOneOrder: the schemes of one requirement are a map.
func TestNotesHaveOneOrder(t *testing.T) {
	want := strings.Split("abcdefghijkl", "")
	c := converted(t, "a.json", `{"openapi":"3.0.0","info":{"title":"A","version":"1"},"security":[{"`+
		strings.Join(want, `":[],"`)+`":[]}],"paths":{"/a":{"get":{"responses":{"200":{"description":"ok"}}}}}}`,
		Options{})
	var got []string
	for _, n := range c.NotConverted {
		if scheme, is := strings.CutPrefix(n.Where, "security "); is {
			got = append(got, scheme)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

// TestAPartAloneIsTheSchema: some generators wrap a reference into allOf to add a description.
func TestAPartAloneIsTheSchema(t *testing.T) {
	const document = `{"openapi":"3.0.0","info":{"title":"A","version":"1"},"paths":{"/a":{"get":{"parameters":[` +
		`{"in":"query","name":"size","required":true,"schema":{"description":"D","allOf":[` +
		`{"$ref":"#/components/schemas/S"}]}}],"responses":{"200":{"description":"ok"}}}}},` +
		`"components":{"schemas":{"S":{"type":"integer","minimum":7,"maximum":7}}}}`
	c := converted(t, "a.json", document, Options{})
	wantStep(t, &c, "GET /a?size=${size}||", "")
}

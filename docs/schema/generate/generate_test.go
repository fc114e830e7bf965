package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// sources is the folder of package lab, as seen from this one.
var sources = filepath.Join("..", "..", "..", "lab")

func TestSchemasAreWhatTheTypesSay(t *testing.T) {
	comments, err := readComments(sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			want, err := schemaOf(d, comments)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join("..", fileName(d)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("docs/schema/%s is not what the types of lab say: type make generate", fileName(d))
			}
		})
	}
}

// TestTheSchemaOfStudiesHasTheKindsOfClaims, in their order, and the keys that each kind needs.
func TestTheSchemaOfStudiesHasTheKindsOfClaims(t *testing.T) {
	schema, err := os.ReadFile(filepath.Join("..", "study.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds, rules []string
	for _, test := range lab.ClaimTests() {
		var needs []string
		if test.Against {
			needs = append(needs, `"against"`)
		}
		if test.Exponent { // along a factor
			needs = append(needs, `"factor"`)
		}
		if test.Range {
			needs = append(needs, `"low"`, `"high"`)
		}
		kinds = append(kinds, fmt.Sprintf("%q", test.Kind))
		rules = append(rules, fmt.Sprintf(
			`          {"if": {"properties": {"kind": {"const": %q}}}, "then": {"required": [%s]}}`, test.Kind,
			strings.Join(needs, ", ")))
	}
	for _, want := range []string{`"kind": {"enum": [` + strings.Join(kinds, ", ") + "]}",
		"\"allOf\": [\n" + strings.Join(rules, ",\n") + "\n"} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("docs/schema/study.schema.json is not what lab.ClaimTests says, it lacks\n%s", want)
		}
	}
}

// TestTheScriptHasTheTypesOfTheLab: document.ts is up to date with the types of package lab. Otherwise a
// renamed field would leave a plot empty.
func TestTheScriptHasTheTypesOfTheLab(t *testing.T) {
	comments, err := readComments(sources)
	if err != nil {
		t.Fatal(err)
	}
	want, err := scriptTypes(comments)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "..", "report", "web", "src", "document.ts"))
	if err != nil || string(got) != want {
		t.Errorf("report/web/src/document.ts is not what the types of lab say (%v): type make generate", err)
	}
	for _, line := range []string{"  low: Figure | null;", "  metrics: Array<Metric>;",
		"  values: Array<Figure> | null;", `  verdict: "slower" | "faster" | "equivalent" | "undecided";`,
		"  traffic?: Record<string, Figure>;"} {
		if !strings.Contains(want, line) {
			t.Errorf("the types lack the line %q", line)
		}
	}
}

// TestTheScriptSaysWhatMayBeNull: nil bytes, lists and pointers are null in JSON, unless they are left out.
func TestTheScriptSaysWhatMayBeNull(t *testing.T) {
	type sample struct {
		Key    []byte   `json:"key"`
		Roots  []byte   `json:"roots,omitempty"`
		Rates  []int    `json:"rates"`
		Lowest *float64 `json:"lowest,omitempty"`
	}
	s := &script{known: map[string]bool{}}
	s.of(reflect.TypeFor[sample]())
	const want = `
export interface sample {
  key: string | null;
  roots?: string;
  rates: Array<number> | null;
  lowest?: Figure;
}
`
	if got := s.text.String(); got != want || s.err != nil {
		t.Errorf("the types are %s\nwant %s (%v)", got, want, s.err)
	}
}

func TestWriteWritesAllSchemas(t *testing.T) {
	folder := t.TempDir()
	types := filepath.Join(folder, "document.ts")
	if err := write(sources, folder, types); err != nil {
		t.Fatal(err)
	}
	for _, d := range documents() {
		if _, err := os.Stat(filepath.Join(folder, fileName(d))); err != nil {
			t.Error(err)
		}
	}
	if err := write(t.TempDir(), folder, types); err == nil || !strings.Contains(err.Error(), "-lab") {
		t.Errorf("error without sources = %v", err)
	}
}

// TestACommentOverSeveralFieldsDescribesAll: a field without a comment has the last one above it, if that
// names the field.
func TestACommentOverSeveralFieldsDescribesAll(t *testing.T) {
	folder := t.TempDir()
	const source = `package lab

// Sample is a sample.
type Sample struct {
	// Low and High are its ends.
	Low, Unnamed float64
	High         float64
	N            int // trials
	Lower, Other float64
}
`
	if err := os.WriteFile(filepath.Join(folder, "sample.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readComments(folder)
	want := map[string]string{"Sample": "Sample is a sample.", "Sample.Low": "Low and High are its ends.",
		"Sample.Unnamed": "Low and High are its ends.", "Sample.High": "Low and High are its ends.",
		"Sample.N": "trials"}
	if err != nil || !maps.Equal(got.about, want) {
		t.Errorf("the comments are %q, want %q: %v", got.about, want, err)
	}
}

func TestBuild(t *testing.T) {
	type word string
	type extra struct {
		Tip float64 `json:"tip,omitempty"`
	}
	type inner struct {
		N int `json:"n"`
	}
	type sample struct {
		inner
		Word   word               `json:"word"`
		Shares map[string]float64 `json:"shares,omitempty"`
		Low    *float64           `json:"low"`
		At     time.Time          `json:"at"`
		Secret string             `json:"-"`
		Extra  extra              `json:"extra"`
	}
	known := comments{about: map[string]string{"sample.Low": "Low is low."},
		constants: map[string][]string{"word": {"yes", "no"}}}
	got, err := schemaOf(document{"sample", "Sample", reflect.TypeFor[sample]()}, known)
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(got)), " ")
	for _, want := range []string{
		`"n": { "type": "integer", "minimum": 0 }`,
		`"word": { "$ref": "#/$defs/word" }`,
		`"word": { "type": "string", "enum": [ "yes", "no" ] }`,
		`"shares": { "type": "object", "additionalProperties": { "type": "number" } }`,
		`"low": { "description": "Low is low.", "anyOf": [ { "type": "number" }, { "type": "null" } ] }`,
		`"at": { "type": "string", "format": "date-time" }`,
		`"required": [ "n", "word", "low", "at", "extra" ], "additionalProperties": false`,
		`"extra": { "type": "object", "properties": { "tip": { "type": "number" } }, "additionalProperties": false } }`,
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("schema lacks %s:\n%s", want, got)
		}
	}
	if strings.Contains(flat, "ecret") {
		t.Error("a field that is not marshalled is in the schema")
	}
}

func TestTypesWithoutASchemaAreRefused(t *testing.T) {
	type nameless struct{ A int }
	type channel struct {
		C chan int `json:"c"`
	}
	for _, kind := range []reflect.Type{reflect.TypeFor[nameless](), reflect.TypeFor[channel]()} {
		if _, err := schemaOf(document{"x", "x", kind}, comments{}); err == nil {
			t.Errorf("%s got a schema", kind)
		}
	}
}

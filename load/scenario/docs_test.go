package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/yamlfile"
)

// jsonOf converts YAML to JSON, as editors do to validate it against the schema.
func jsonOf(t *testing.T, text []byte) []byte {
	t.Helper()
	var document any
	testset.Must(t, yaml.Unmarshal(text, &document))
	out, err := json.Marshal(document)
	testset.Must(t, err)
	return out
}

// TestExampleOfTheDocument: the tests play the example that docs/scenarios.md shows.
func TestExampleOfTheDocument(t *testing.T) {
	document, err := os.ReadFile(filepath.FromSlash("../../docs/scenarios.md"))
	testset.Must(t, err)
	for block, name := range map[string]string{"yaml": "shop.yaml", "csv": "customers.csv"} {
		want := fixture(t, name)
		_, rest, _ := strings.Cut(string(document), "```"+block+"\n")
		if got, _, _ := strings.Cut(rest, "```"); got != string(want) {
			t.Errorf("docs/scenarios.md shows another %s:\n%s", name, got)
		}
	}
	_, values, _ := strings.Cut(string(document), "| value | example | what |")
	values, _, _ = strings.Cut(values, "\n\n")
	examples := regexp.MustCompile("`(\\{.*?\\})`").FindAllStringSubmatch(values, -1)
	if len(examples) != reflect.TypeFor[Value]().NumField() {
		t.Errorf("%d examples of values, want one for each kind", len(examples))
	}
	for _, example := range examples {
		text := "schema: cleave-scenario/1\nname: x\nvalues: {a: " + example[1] +
			"}\nflows: [{name: x, steps: [{request: 'GET /${a}'}]}]"
		f, err := Parse("x.yaml", []byte(text))
		if err != nil {
			t.Error(err)
		} else if _, err := f.Compile(""); err != nil {
			t.Error(err)
		}
	}
}

func TestSchemaAcceptsExamples(t *testing.T) {
	if err := schema.Validate("scenario", jsonOf(t, fixture(t, "shop.yaml"))); err != nil {
		t.Error(err)
	}
	written, err := yaml.Marshal(parsed(t, "shop.yaml"))
	testset.Must(t, err)
	if err := schema.Validate("scenario", jsonOf(t, written)); err != nil {
		t.Error(err)
	}
}

// TestSchemaRefusesWhatParseRefuses changes the example in one place.
func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	shop := string(fixture(t, "shop.yaml"))
	cases := []struct{ name, old, new string }{
		{"version", "cleave-scenario/1", "cleave-scenario/2"},
		{"unknown key", "seed: 7", "seeds: 7"},
		{"negative seed", "seed: 7", "seed: -7"},
		{"unknown key of a step", "extract:", "extracts:"},
		{"name of a value", "  key: {uuid", "  9key: {uuid"},
		{"two kinds of value", "{uuid: {}}", "{uuid: {}, name: {}}"},
		{"settings of a UUID", "{uuid: {}}", "{uuid: {version: 4}}"},
		{"no kind of value", "{uuid: {}}", "{}"},
		{"exponent", "exponent: 0.9", "exponent: -0.9"},
		{"missing exponent", ", exponent: 0.9", ""},
		{"two files", "csv: customers.csv", "csv: customers.csv, jsonl: customers.csv"},
		{"order", "order: random", "order: reverse"},
		{"weight", "weight: 4", "weight: -4"},
		{"weight of zero", "weight: 4", "weight: 0"},
		{"request", "POST /login", "POST login"},
		{"two requests", "request: POST /login", "request: POST /login\n        grpc: a.B/C"},
		{"two bodies", "request: POST /login", "request: POST /login\n        body: a"},
		{"two sources", "{header: Location}", "{header: Location, json: id}"},
		{"time span", "think: 250ms", "think: 250 ms"},
		{"nested text", "status: accepted", "status: [accepted]"},
		{"no steps", "steps:\n      - name: item", "steps: []\n    more:\n      - name: item"},
	}
	for _, c := range cases {
		text := strings.Replace(shop, c.old, c.new, 1)
		if text == shop {
			t.Fatalf("%s: the example has no %q", c.name, c.old)
		}
		if err := schema.Validate("scenario", jsonOf(t, []byte(text))); err == nil {
			t.Errorf("%s: passes the schema", c.name)
		}
		f, err := Parse("x.yaml", []byte(text))
		if err == nil {
			_, err = f.Compile("testdata")
		}
		if err == nil {
			t.Errorf("%s: passes Parse and Compile", c.name)
		}
	}
}

// TestSchemaKnowsEveryKey compares the keys of the types with those of the schema and of the document.
func TestSchemaKnowsEveryKey(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../docs/schema/scenario.schema.json"))
	testset.Must(t, err)
	document, err := os.ReadFile(filepath.FromSlash("../../docs/scenarios.md"))
	testset.Must(t, err)
	var tree any
	testset.Must(t, json.Unmarshal(text, &tree))
	types := map[string]reflect.Type{}
	for _, of := range []reflect.Type{
		reflect.TypeFor[File](), reflect.TypeFor[Load](), reflect.TypeFor[Ramp](), reflect.TypeFor[Stairs](),
		reflect.TypeFor[Spike](),
		reflect.TypeFor[Value](), reflect.TypeFor[Range](), reflect.TypeFor[Zipf](), reflect.TypeFor[Text](),
		reflect.TypeFor[Data](),
		reflect.TypeFor[Flow](), reflect.TypeFor[Step](), reflect.TypeFor[Expect](), reflect.TypeFor[Extraction](),
	} {
		known, _ := yamlfile.Keys(of)
		var keys []string
		for key := range known {
			keys = append(keys, key)
			if !regexp.MustCompile("[`{,.\\] ]" + key + "[`:\\[]").Match(document) {
				t.Errorf("docs/scenarios.md does not mention %q of %s", key, of.Name())
			}
		}
		slices.Sort(keys)
		types[strings.Join(keys, " ")] = of
	}
	for _, keys := range propertiesIn(tree) {
		delete(types, keys)
	}
	for keys, of := range types {
		t.Errorf("no object of the schema has the keys of %s: %s", of.Name(), keys)
	}
}

// propertiesIn returns the keys of all objects that a schema describes.
func propertiesIn(tree any) []string {
	var all []string
	switch at := tree.(type) {
	case map[string]any:
		if properties, isObject := at["properties"].(map[string]any); isObject {
			var keys []string
			for key := range properties {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			all = append(all, strings.Join(keys, " "))
		}
		for _, inner := range at {
			all = append(all, propertiesIn(inner)...)
		}
	case []any:
		for _, inner := range at {
			all = append(all, propertiesIn(inner)...)
		}
	}
	return all
}

package scenario

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/internal/testset"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fixture returns a file of testdata.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	testset.Must(t, err)
	return data
}

// parsed reads a scenario of testdata.
func parsed(t testing.TB, name string) *File {
	t.Helper()
	f, err := Parse(name, fixture(t, name))
	testset.Must(t, err)
	return f
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := Parse(filepath.Join("testdata", "mistakes.yaml"), fixture(t, "mistakes.yaml"))
	if err == nil {
		t.Fatal("no error")
	}
	got := err.Error() + "\n"
	if *update {
		testset.Must(t, os.WriteFile(filepath.Join("testdata", "mistakes.txt"), []byte(got), 0o644))
	}
	if want := fixture(t, "mistakes.txt"); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	const head = "schema: cleave-scenario/1\nname: x\n"
	cases := []struct{ name, text, want string }{
		{"empty", "", "empty"},
		{"comment only", "# nothing", "empty"},
		{"no YAML", head + "flows: [", "this is no YAML"},
		{"a list", "- a", "expected keys with values"},
		{"two documents", head + "flows: []\n---\na: b", "more than one document"},
		{"alias", head + "values: &a {x: {uuid: {}}}\ndata: *a", "anchors and aliases"},
		{"deep", head + "flows: " + strings.Repeat("[", 50) + strings.Repeat("]", 50), "nested deeper"},
		{"too many values", head + "flows: [" + strings.Repeat("1,", maxNodes) + "]", "more than 200000 values"},
		{"too large", head + "#" + strings.Repeat("x", MaxBytes), "at most 4194304 are read"},
		{"key twice", head + "name: y\nflows: []", `"name" twice`},
		{"missing keys", "seed: 1", `needs the key "flows"`},
		{"number as a list", head + "seed: [1]\nflows: []", "expected a whole number from 0 on"},
		{"text for a number", head + "seed: '1'\nflows: []", "expected a whole number from 0 on"},
		{"infinite weight", head + "flows: [{name: a, weight: .inf, steps: [{request: GET /}]}]",
			"expected a number"},
		{"empty text", head + "flows: [{name: a, steps: [{request: }]}]", "is empty, expected a text"},
		{"list for a text", head + "flows: [{name: a, steps: [{request: GET /, expect: {json: {a: [1]}}}]}]",
			"in quotes"},
		{"infinity in JSON", head + "flows: [{name: a, steps: [{request: GET /, json: {a: .inf}}]}]",
			"JSON cannot hold"},
		{"digits lost", head + "flows: [{name: a, steps: [{request: GET /, json: +99999999999999999999}]}]",
			"JSON cannot hold"},
		{"key that is a list", head + "flows: [{name: a, steps: [{request: GET /, json: {[a]: b}}]}]",
			"expected a text"},
		{"settings for nothing", head + "values: {a: {uuid: {version: 7}}}\nflows: []", "takes nothing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
				t.Errorf("error %v, want one of x.yaml with %q", err, c.want)
			}
		})
	}
}

func TestOneMistakeIsNamedOnce(t *testing.T) {
	_, err := Parse("x.yaml", []byte("name: x\nflows: [{name: x, steps: [{request: GET /}]}]"))
	if want := `x.yaml:1: the scenario needs the key "schema"`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestRoundTrip(t *testing.T) {
	original := parsed(t, "shop.yaml")
	original.Flows[0].Steps[0].JSON.(map[string]any)["large"] = int64(1<<53 + 1)
	original.Values["id"] = Value{UUID: &struct{}{}}
	want := compiled(t, original, "testdata")
	asJSON, err := json.Marshal(original)
	testset.Must(t, err)
	var again File
	testset.Must(t, json.Unmarshal(asJSON, &again))
	asYAML, err := yaml.Marshal(again)
	testset.Must(t, err)
	last, err := Parse("again.yaml", asYAML)
	if err != nil {
		t.Fatalf("%v\n%s", err, asYAML)
	}
	for name, f := range map[string]*File{"JSON": &again, "YAML": last} {
		plan := compiled(t, f, "testdata")
		if got, want := requests(plan, 20), requests(want, 20); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: requests %q, want %q", name, got, want)
		}
	}
	original.origin = position{}
	last.origin = position{}
	if !reflect.DeepEqual(original.Flows[0].Steps[1], last.Flows[0].Steps[1]) {
		t.Errorf("got\n%+v\nwant\n%+v", last.Flows[0], original.Flows[0])
	}
}

func TestJSONWithUnknownKeys(t *testing.T) {
	if err := json.Unmarshal([]byte(`{"schema":"cleave-scenario/1","flow":[]}`), new(File)); err == nil {
		t.Error("no error")
	}
}

// requests returns the first steps of some flows.
func requests(plan *Plan, n int) []string {
	p := plan.Player(Origin{Host: "h"})
	s := new(Session)
	var all []string
	for range n {
		p.Begin(s)
		all = append(all, string(s.HTTP1()))
	}
	return all
}

package convert

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/scenario"
)

var update = flag.Bool("update", false, "write the golden files anew")

// environment matches references to variables of the environment, which have values before a scenario is
// compiled.
var environment = regexp.MustCompile(`\$\{env:\w+\}`)

// compile writes a conversion as its user would and reads it back.
func compile(t testing.TB, c *Conversion) *scenario.Plan {
	t.Helper()
	plan, err := compiled(t, c, c.Beside)
	testset.Must(t, err)
	return plan
}

// converted converts a document and checks that the scenario is a valid one.
func converted(t testing.TB, name, text string, options Options) Conversion {
	t.Helper()
	c, err := convert(name, []byte(text), options)
	testset.Must(t, err)
	compile(t, &c)
	return c
}

// wantStep fails unless the first step of a conversion is this one: request, content type and body. It wants
// the note, too, if that is not empty.
func wantStep(t *testing.T, c *Conversion, want, note string) {
	t.Helper()
	step := c.File.Flows[0].Steps[0]
	if got := step.Request + "|" + step.Headers["Content-Type"] + "|" + step.Body; got != want {
		t.Errorf("step %q, want %q", got, want)
	}
	if note != "" {
		wantNote(t, c, note)
	}
}

// wantRefusal fails unless a document is refused with a text in the error, which it returns.
func wantRefusal(t *testing.T, name, text string, options Options, want string) string {
	t.Helper()
	_, err := convert(name, []byte(text), options)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %.60s: error %v, want %q", name, text, err, want)
		return ""
	}
	return err.Error()
}

// compiled writes a conversion with these data files, reads it back and compiles it.
func compiled(t testing.TB, c *Conversion, beside map[string][]byte) (*scenario.Plan, error) {
	t.Helper()
	text, err := c.YAML("input")
	if err != nil {
		return nil, err
	}
	folder := t.TempDir()
	for name, data := range beside {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	file, err := scenario.Parse("converted.yaml", environment.ReplaceAll(text, []byte("value")))
	if err != nil {
		return nil, fmt.Errorf("the scenario cannot be parsed: %w\n%s", err, text)
	}
	plan, err := file.Compile(folder)
	if err != nil {
		err = fmt.Errorf("the scenario cannot be compiled: %w\n%s", err, text)
	}
	return plan, err
}

func TestFixturesBecomeScenarios(t *testing.T) {
	for _, name := range []string{"shop.har", "shop.jmx", "mix.jmx", "shop.openapi.yaml", "shop.swagger.json",
		"shop.curl", "shop.postman.json", "shop.access.log", "shop.k6.js"} {
		t.Run(name, func(t *testing.T) {
			c, err := ReadFile(filepath.Join("testdata", name), Options{})
			testset.Must(t, err)
			compile(t, &c)
			text, err := c.YAML(name)
			testset.Must(t, err)
			for _, file := range sortedKeys(c.Beside) {
				text = append(text, "\n# "+file+"\n"+string(c.Beside[file])...)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				testset.Must(t, os.WriteFile(golden, text, 0o644))
			}
			want, err := os.ReadFile(golden)
			testset.Must(t, err)
			if string(want) != string(text) {
				t.Errorf("differs from %s (go test -update writes it):\n%s", golden, text)
			}
		})
	}
}

// TestConversionIsRepeatable checks that the result does not depend on the order of maps.
func TestConversionIsRepeatable(t *testing.T) {
	for _, name := range []string{"shop.har", "shop.jmx", "shop.openapi.yaml"} {
		first := ""
		for range 20 {
			if text := rendered(t, name, read(t, name)); first == "" {
				first = text
			} else if text != first {
				t.Fatalf("%s: two conversions differ:\n%s\n%s", name, first, text)
			}
		}
	}
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	testset.Must(t, err)
	return data
}

// rendered returns the whole conversion as text, or its error.
func rendered(t testing.TB, name string, data []byte) string {
	t.Helper()
	c, err := convert(name, data, Options{beside: os.DirFS("testdata")})
	if err != nil {
		return err.Error()
	}
	text, err := c.YAML(name)
	testset.Must(t, err)
	for _, file := range sortedKeys(c.Beside) {
		text = append(text, c.Beside[file]...)
	}
	return string(text)
}

func TestFormatIsGuessed(t *testing.T) {
	cases := map[string]string{ // name of a copy: the fixture
		"recording.HAR": "shop.har", "a.json": "shop.har", "plan.xml": "shop.jmx", "b.json": "shop.swagger.json",
		"api.yml": "shop.openapi.yaml", "c.txt": "shop.curl", "d.json": "shop.postman.json",
		"e.gz": "shop.access.log", "f.ts": "shop.k6.js",
	}
	want := map[string]string{"shop.har": HAR, "shop.jmx": JMX, "shop.swagger.json": OpenAPI,
		"shop.openapi.yaml": OpenAPI, "shop.curl": Curl, "shop.postman.json": Postman, "shop.access.log": Log,
		"shop.k6.js": K6}
	for name, fixture := range cases {
		data := read(t, fixture)
		if _, err := convert(name, data, Options{beside: os.DirFS("testdata")}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if format := Recognize(name, data); format != want[fixture] {
			t.Errorf("%s: format %s, want %s", name, format, want[fixture])
		}
	}
}

// TestADocumentOfBlanksHasNoFormat: a form feed is a blank, too.
func TestADocumentOfBlanksHasNoFormat(t *testing.T) {
	for _, text := range []string{"", "\n", "\f\nhello", "\u0085"} {
		if format := Recognize("a", []byte(text)); format != "" {
			t.Errorf("%q: format %s", text, format)
		}
	}
}

// TestNamesAreNoTemplates: the names of steps and flows are shown as they are.
func TestNamesAreNoTemplates(t *testing.T) {
	const name = "Load ${id}"
	page := entryOf("http://shop.example/", "text/html")
	for _, c := range []struct{ file, text, flow, step string }{
		{"a.jmx", plan(group("G", 1, sampler(name, "/a", ""))), "", name},
		{"a.json", strings.Replace(collectionOf(strings.Replace(item(`"http://s/"`), "One", name, 1)), `"C"`,
			`"`+name+`"`, 1), name, name},
		{"a.har", strings.Replace(recordingOf(page), "Shop", name, 1), name, ""},
		{"openapi.json", `{"openapi":"3.0.0","info":{"title":"a","version":"1"},"paths":{"/${id}":{"get":{` +
			`"parameters":[{"in":"path","name":"id","required":true,"example":7}],` +
			`"responses":{"200":{"description":"a"}}}}}}`, "", "GET /${id}"},
	} {
		got := converted(t, c.file, c.text, Options{})
		flow := got.File.Flows[0]
		if c.flow != "" && flow.Name != c.flow || c.step != "" && flow.Steps[0].Name != c.step {
			t.Errorf("%s: flow %q, step %q, want %q, %q", c.file, flow.Name, flow.Steps[0].Name, c.flow, c.step)
		}
	}
}

// TestManyNamesAndNotes: every name is another one, and a large document does not take minutes.
func TestManyNamesAndNotes(t *testing.T) {
	d := newDraft("a")
	begun := time.Now()
	for i, want := range []string{"x", "x_3", "x_2", "x_4", "x_3_2"} {
		if got := d.name([]string{"x", "x_3", "x", "x", "x_3"}[i]); got != want {
			t.Errorf("name %d is %s, want %s", i+1, got, want)
		}
	}
	for i := range 200_000 {
		d.name("y")
		d.note(strconv.Itoa(i), "an element", "disabled")
		d.lose(strconv.Itoa(i%1000), "an element", "disabled")
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("%d names and notes took %v", i+1, time.Since(begun))
		}
	}
	if len(d.notes) != 200_000 || !strings.HasSuffix(d.reasons(), "and 199988 more") {
		t.Errorf("%d notes, %.500s", len(d.notes), d.reasons())
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("<a>", 300) + strings.Repeat("</a>", 300)
	cases := []struct{ name, data, reason string }{
		{"notes.txt", "hello", "neither a HAR"},
		{"a.har", "{", "read the recording"},
		{"a.har", `{"log":{"entries":[]}}`, "no entries"},
		{"a.har", `{"log":{"entries":[{"request":{"method":"GET","url":"ws://a/"}}]}}`,
			"no request of the recording can be played:\n- entry 1: GET ws://a/: websockets"},
		{"a.jmx", "<html/>", "its root is <html>"},
		{"a.jmx", "<jmeterTestPlan/>", "it is empty"},
		{"a.jmx", "<jmeterTestPlan><hashTree>", "unexpected EOF"},
		{"a.jmx", "<jmeterTestPlan>" + deep + "</jmeterTestPlan>", "nested deeper than 200"},
		{"a.jmx", `<!DOCTYPE a [<!ENTITY b "c">]><jmeterTestPlan/>`, "document types are not allowed"},
		{"a.jmx", "<jmeterTestPlan><hashTree><TestPlan>&b;</TestPlan></hashTree></jmeterTestPlan>",
			"invalid character entity"},
		{"a.jmx", `<jmeterTestPlan><hashTree><TestPlan/><hashTree/></hashTree></jmeterTestPlan>`,
			"no enabled thread group"},
		{"a.yaml", "openapi: 3.0.0\npaths: {/a: {$ref: 'http://127.0.0.1:1/b.yaml'}}",
			"disallowed external reference"},
		{"a.yaml", "openapi: 3.0.0\npaths: {/a: {$ref: 'other.yaml#/a'}}", "disallowed external reference"},
		{"a.yaml", "openapi: 4.0.0", "openapi 4.0.0: versions 3"},
		{"a.yaml", "swagger: '1.2'", "swagger 1.2: versions 2"},
		{"a.yaml", "openapi: 3.0.0\npaths: {}", "no operation can be converted"},
		{"a.jmx", strings.Repeat(" ", maxDocument+1), "more than 16777216 bytes"},
	}
	for _, c := range cases {
		wantRefusal(t, c.name, c.data, Options{}, c.reason)
	}
}

// TestNotesCannotEscapeTheirComment checks that names of the input do not become YAML of the scenario.
func TestNotesCannotEscapeTheirComment(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		data := strings.Replace(string(read(t, "shop.jmx")), `testname="Fast"`,
			`testname="Fast`+end+`flows: []`+end+`"`, 1)
		converted(t, "shop.jmx", data, Options{beside: os.DirFS("testdata")})
	}
}

// TestNotesAreSafeForTerminals checks that notes contain no control sequences.
func TestNotesAreSafeForTerminals(t *testing.T) {
	n := Note{Where: "a\x1b[31m", What: "b\u202ec", Why: "d\a"}
	if got, want := n.String(), "a [31m: b c: d"; got != want {
		t.Errorf("note %q, want %q", got, want)
	}
}

package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/yamlfile"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example returns the text of a file in testdata.
func example(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parsed(t testing.TB, text string) Model {
	t.Helper()
	m, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func written(t testing.TB, m Model) string {
	t.Helper()
	var out bytes.Buffer
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestParse(t *testing.T) {
	m := parsed(t, example(t, "shop.yaml"))
	order := m.Operations[0].Call.Calls[0]
	reserve := order.Calls[0]
	if m.Units[0].Replicas != 1 || order.Count != 1 || reserve.Count != 2.5 || !reserve.Parallel ||
		reserve.Hop.Wait.Mean != 60*time.Microsecond ||
		reserve.CPU.Quantiles["p99.9"] != 400*time.Microsecond {
		t.Errorf("%+v", m)
	}
	if got := strings.Join(m.Components(), " "); got != "front orders inventory mail" {
		t.Errorf("components %s", got)
	}
	if m.UnitOf("mail") != 0 || m.UnitOf("post") != -1 {
		t.Error("UnitOf finds the wrong unit")
	}
	var calls []string
	m.Operations[0].Call.Executions(func(c *Call, times float64) {
		calls = append(calls, fmt.Sprint(c.Component, " ", times))
	})
	if got := strings.Join(calls, ", "); got != "front 1, orders 1, inventory 2.5, mail 0.5" {
		t.Errorf("executions %s", got)
	}
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	m := parsed(t, example(t, "shop.yaml"))
	text := written(t, m)
	if again := written(t, parsed(t, text)); again != text {
		t.Errorf("read again, it changed:\n%s\n%s", text, again)
	}
	golden := filepath.Join("testdata", "written.yaml")
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := example(t, "written.yaml"); text != want {
		t.Errorf("it is written as\n%s\nwant\n%s", text, want)
	}
}

// TestEveryMistakeIsNamed: all mistakes are reported at once, each at its line.
func TestEveryMistakeIsNamed(t *testing.T) {
	_, err := Parse("mistakes.yaml", []byte(example(t, "mistakes.yaml")))
	var problems yamlfile.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%v, want problems", err)
	}
	golden := filepath.Join("testdata", "mistakes.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := example(t, "mistakes.txt"); err.Error()+"\n" != want {
		t.Errorf("it says\n%v\nwant\n%s", err, want)
	}
}

// TestHugeModelsAreRefused: a few lines must not ask for endless work.
func TestHugeModelsAreRefused(t *testing.T) {
	call := "{component: a, call: a, source: guess}"
	for range 20 {
		call = "{component: a, call: a, count: 1000, source: guess, calls: [" + call + "]}"
	}
	text := "schema: cleave-model/1\nname: x\nunits: [{name: a, components: [a]}]\noperations:\n" +
		"  - {name: o, weight: 1, source: guess, call: {component: a, call: a, source: guess, calls: [" + call +
		"]}}\n"
	const want = "x.yaml:5: operations[0] makes 2.0010010010010014e+60 calls, at most 1e+06 are allowed"
	if _, err := Parse("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func jsonOf(t *testing.T, text string) []byte {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// TestSchemaRefusesWhatParseRefuses changes the example in one place.
func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	whole := example(t, "shop.yaml")
	for _, text := range []string{whole, written(t, parsed(t, whole))} {
		if err := schema.Validate("model", jsonOf(t, text)); err != nil {
			t.Error(err)
		}
	}
	for name, change := range map[string][2]string{
		"dropped spans":         {"about:", "dropped_spans: -1\nabout:"},
		"version":               {"cleave-model/1", "cleave-model/2"},
		"unknown key":           {"about:", "abaut:"},
		"no components":         {"[front, orders, inventory, mail]", "[]"},
		"weight":                {"weight: 9", "weight: -9"},
		"source":                {"source: trace", "source: wish"},
		"time span":             {"mean: 2ms", "mean: 2 ms"},
		"negative time":         {"mean: 2ms", "mean: -2ms"},
		"quantile":              {"p99: 5ms", "q99: 5ms"},
		"count":                 {"count: 2.5", "count: 0"},
		"bytes":                 {"in_bytes: 210", "in_bytes: -210"},
		"statements":            {"statements: 3", "statements: -3"},
		"unknown key of a call": {"parallel: true", "paralel: true"},
		"rate":                  {"rate: 40", "rate: 0"},
		"no n":                  {"source: meter, samples: 1200}, cpu", "source: meter}, cpu"},
		"no operations":         {"operations:", "operations: []\nothers:"},
	} {
		text := strings.Replace(whole, change[0], change[1], 1)
		if text == whole {
			t.Fatalf("%s: the example has no %q", name, change[0])
		}
		if err := schema.Validate("model", jsonOf(t, text)); err == nil {
			t.Errorf("%s: passes the schema", name)
		}
		if _, err := Parse("x.yaml", []byte(text)); err == nil {
			t.Errorf("%s: passes Parse", name)
		}
	}
}

func TestPoints(t *testing.T) {
	ms := time.Millisecond
	table := Quantiles{"min": 1 * ms, "p50": 1 * ms, "max": 3 * ms}
	for _, c := range []struct {
		of                       Distribution
		want                     []Point
		wantMean, wantMeanSquare float64
	}{
		{Distribution{Mean: 2 * ms}, []Point{{0, 2e-3}}, 2e-3, 4e-6},
		// The mean of the table is 1.5 ms, so all values are doubled.
		{Distribution{Mean: 3 * ms, Quantiles: table}, []Point{{0, 2e-3}, {0.5, 2e-3}, {1, 6e-3}}, 3e-3,
			(4e-6 + (4e-6+12e-6+36e-6)/3) / 2},
		{Distribution{Mean: 2 * ms, Quantiles: Quantiles{"p25": 1 * ms, "p75": 3 * ms}},
			[]Point{{0.25, 1e-3}, {0.75, 3e-3}}, 2e-3, (1e-6+9e-6)/4 + (1e-6+3e-6+9e-6)/6},
		{Distribution{}, []Point{{0, 0}}, 0, 0},
	} {
		got := c.of.Points()
		if !slices.EqualFunc(got, c.want, func(a, b Point) bool {
			return a.Share == b.Share && math.Abs(a.Seconds-b.Seconds) < 1e-12
		}) {
			t.Errorf("%v has the points %v, want %v", c.of, got, c.want)
		}
		mean, square := Moments(got)
		if math.Abs(mean-c.wantMean) > 1e-12 || math.Abs(square-c.wantMeanSquare) > 1e-15 {
			t.Errorf("%v has the moments %g and %g, want %g and %g", c.of, mean, square, c.wantMean,
				c.wantMeanSquare)
		}
	}
	if mean, square := Moments(nil); mean != 0 || square != 0 {
		t.Errorf("no points have the moments %g and %g", mean, square)
	}
}

func TestFormatTime(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "-", 999: "999 ns", 1500: "1.5 us", 12345: "12.3 us",
		999_900: "1 ms", 100 * time.Millisecond: "100 ms", 999_960 * time.Microsecond: "1 s", time.Hour: "3600 s"} {
		if got := formatTime(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}

func TestSummarise(t *testing.T) {
	var values []float64
	for i := range 101 {
		values = append(values, float64(100-i)/1000)
	}
	d := Summarise(values, Trace)
	if d.Mean != 50*time.Millisecond || d.N != 101 || d.Quantiles["p25"] != 25*time.Millisecond ||
		d.Quantiles["max"] != 100*time.Millisecond || d.Quantiles["min"] != 0 {
		t.Errorf("%+v", d)
	}
	if few := Summarise(values[:3], Trace); few.Quantiles != nil || few.Mean != 99*time.Millisecond {
		t.Errorf("%+v", few)
	}
}

// FuzzParse: every mistake has a message. An accepted model is the same after writing and reading it
// again, and small enough to work with.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"shop.yaml", "mistakes.yaml"} {
		f.Add(example(f, name))
	}
	const head = "schema: cleave-model/1\nname: x\nunits: [{name: u, components: [a]}]\noperations:\n" +
		"  - {name: o, weight: 1, source: guess, call: {component: a, call: a, source: guess, "
	for _, rest := range []string{"", "count: 1e308",
		"cpu: {mean: 1ns, source: guess, quantiles: {p1: 0s, max: 1h}}",
		"cpu: {mean: 1ns, source: guess, quantiles: {p0x1p-2: 0s, p1e-300: 1ns, pInf: 1h}}",
		"hop: {}", "visits: [null]",
		"calls: [{component: a, call: b, count: 1e-300, source: trace, samples: 1}]"} {
		f.Add(head + rest + "}}\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse("x.yaml", []byte(text))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
			return
		}
		first := written(t, m)
		second, err := Parse("y.yaml", []byte(first))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first)
		}
		if again := written(t, second); again != first {
			t.Errorf("read again, it changed:\n%s\n%s", first, again)
		}
		for _, o := range m.Operations {
			o.Call.Executions(func(c *Call, times float64) {
				if !(times >= 0 && times <= maxCalls) {
					t.Errorf("%s is made %g times", c.Name, times)
				}
				for _, p := range c.CPU.Points() {
					if !(p.Seconds >= 0 && !math.IsInf(p.Seconds, 0)) {
						t.Errorf("%s takes %g s at %g", c.Name, p.Seconds, p.Share)
					}
				}
			})
		}
	})
}

// TestTheSchemaAndThePageKnowEveryKey compares the keys of the types with both.
func TestTheSchemaAndThePageKnowEveryKey(t *testing.T) {
	texts := map[string]string{}
	for _, path := range []string{"../docs/schema/model.schema.json", "../docs/modelling.md"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(data)
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[Model](), reflect.TypeFor[Unit](), reflect.TypeFor[Store](), reflect.TypeFor[Operation](),
		reflect.TypeFor[Call](), reflect.TypeFor[Visit](), reflect.TypeFor[Hop](),
		reflect.TypeFor[Measurement](), reflect.TypeFor[Distribution](),
	} {
		known, _ := yamlfile.Keys(of)
		for key := range known {
			for path, text := range texts {
				if !regexp.MustCompile(`(?m)(?:^|[ {"])` + key + `"?:(?: |$)`).MatchString(text) {
					t.Errorf("%s does not mention %q of %s", path, key, of.Name())
				}
			}
		}
	}
	_, page, _ := strings.Cut(texts["../docs/modelling.md"], "```yaml\n")
	page, _, _ = strings.Cut(page, "```")
	if m := parsed(t, page); m.Name == "" {
		t.Error("the example of the page has no name")
	}
	if err := schema.Validate("model", jsonOf(t, page)); err != nil {
		t.Error(err)
	}
}

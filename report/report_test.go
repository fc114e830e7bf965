package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/analysis"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// fixture reads an analysis from testdata. three-variants.json is small and made
// for these tests: it has every verdict, a variant that broke a rule, a twin, and
// figures without intervals. Its times are those of Table 1 of the study rego2021.
// analysis.json is a complete analysis.
func fixture(t *testing.T, name string) lab.Analysis {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	testset.Must(t, err)
	var a lab.Analysis
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return a
}

// fixtures returns analyses that every format must be able to show, by situation.
func fixtures(t *testing.T) map[string]lab.Analysis {
	t.Helper()
	return map[string]lab.Analysis{
		"whole":              fixture(t, "analysis.json"),
		"small":              fixture(t, "three-variants.json"),
		"loaded":             fixture(t, "shop-under-load.json"),
		"hostile":            hostile(t),
		"hostile under load": hostileLoaded(t),
		"empty":              analysis.Analyse(analysis.Input{}),
		"lonely":             lonely(t),
	}
}

// venom is a hostile text: markup, the ends of a script and an attribute, a
// template action, terminal escapes and a mark that reverses text.
const venom = "<img src=x onerror=alert(1)></script><script>alert(2)</script>" +
	"\"'><svg/onload=alert(3)>{{.}}\x1b[31m\u202e\x07"

// hostile returns the small analysis with venom at the end of every text, map keys
// included, so that names still refer to each other.
func hostile(t *testing.T) lab.Analysis {
	t.Helper()
	a := fixture(t, "three-variants.json")
	poison(reflect.ValueOf(&a).Elem())
	return a
}

// hostileLoaded returns the system under load with venom in every text but the names by
// which plots are chosen.
func hostileLoaded(t *testing.T) lab.Analysis {
	t.Helper()
	a := fixture(t, "shop-under-load.json")
	poison(reflect.ValueOf(&a).Elem())
	cure := func(texts ...*string) {
		for _, text := range texts {
			*text = strings.TrimSuffix(*text, venom)
		}
	}
	for i := range a.Metrics {
		cure(&a.Metrics[i].Name, &a.Metrics[i].Unit)
	}
	for i := range a.Results {
		cure(&a.Results[i].Metric)
	}
	for i := range a.Comparisons {
		cure(&a.Comparisons[i].Metric)
	}
	for i := range a.Curves {
		cure(&a.Curves[i].Metric)
	}
	for i := range a.Spectra {
		cure(&a.Spectra[i].Quantity)
	}
	for i := range a.Waterfalls {
		cure(&a.Waterfalls[i].Metric)
	}
	return a
}

// poison appends venom to every non-empty text in v.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.String() != "" {
			v.SetString(v.String() + venom)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			poison(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Interface:
		if text, ok := v.Interface().(string); ok {
			v.Set(reflect.ValueOf(text + venom))
		}
	case reflect.Map:
		poisonMap(v)
	}
}

// poisonMap appends venom to the keys and values of a map.
func poisonMap(m reflect.Value) {
	if m.IsNil() {
		return
	}
	poisoned := reflect.MakeMap(m.Type())
	for _, key := range m.MapKeys() {
		newKey := reflect.New(key.Type()).Elem()
		value := reflect.New(m.Type().Elem()).Elem()
		newKey.Set(key)
		value.Set(m.MapIndex(key))
		poison(newKey)
		poison(value)
		poisoned.SetMapIndex(newKey, value)
	}
	m.Set(poisoned)
}

// lonely returns an analysis of one variant at one point with one trial: without
// intervals, comparisons and trends.
func lonely(t *testing.T) lab.Analysis {
	t.Helper()
	a := fixture(t, "three-variants.json")
	a.Blocks = 1
	a.Variants = a.Variants[:1]
	a.Points = a.Points[:1]
	a.Comparisons = a.Comparisons[:0]
	a.Averages = a.Averages[:0]
	a.Trends = a.Trends[:0]
	a.Claims = a.Claims[:0]
	a.Published = a.Published[:0]
	a.NoiseFloor = map[string]lab.Ratio{}
	a.Results = a.Results[:1]
	r := &a.Results[0]
	r.N = 1
	r.Low = nil
	r.High = nil
	r.Values = r.Values[:1]
	r.Blocks = r.Blocks[:1]
	a.Ladder = a.Ladder[:1]
	a.Ladder[0].ToBaseline = nil
	a.Ladder[0].ToNext = nil
	return a
}

// golden compares a text with a file of testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testset.Must(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./report -update", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at the change with: go test ./report -update && git diff "+
			"report/testdata\ngot:\n%s", name, got)
	}
}

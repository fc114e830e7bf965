package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestJSONReadsBackAsTheSameAnalysis(t *testing.T) {
	for _, name := range []string{"analysis.json", "three-variants.json"} {
		a := fixture(t, name)
		var out bytes.Buffer
		testset.Must(t, JSON(&out, a))
		var back lab.Analysis
		testset.Must(t, json.Unmarshal(out.Bytes(), &back))
		if !reflect.DeepEqual(a, back) {
			t.Errorf("%s: the analysis changed on its way through JSON", name)
		}
	}
}

func TestJSONIsSafeToPrint(t *testing.T) {
	a := hostile(t)
	a.Notes = append(a.Notes, "a terminal's \u009b31m introducer")
	var out bytes.Buffer
	testset.Must(t, JSON(&out, a))
	for _, r := range out.String() {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Fatalf("the document holds %U", r)
		}
	}
	var back lab.Analysis
	testset.Must(t, json.Unmarshal(out.Bytes(), &back))
	if !reflect.DeepEqual(a, back) {
		t.Error("escaping changed the analysis")
	}
}

func TestJSONRefusesWhatItCannotSay(t *testing.T) {
	if err := JSON(&bytes.Buffer{}, lab.Analysis{Study: "s", Margin: math.NaN()}); err == nil ||
		!strings.Contains(err.Error(), `"s"`) {
		t.Errorf("error %v, want one that names the study", err)
	}
}

func TestCSVHasOneRowPerValue(t *testing.T) {
	a := fixture(t, "analysis.json")
	var out bytes.Buffer
	testset.Must(t, CSV(&out, a))
	rows, err := csv.NewReader(&out).ReadAll()
	testset.Must(t, err)
	values := 0
	for _, r := range a.Results {
		values += len(r.Values)
	}
	if len(rows) != values+1 || values == 0 {
		t.Fatalf("%d rows, want a header and %d", len(rows), values)
	}
	head := rows[0]
	first := rows[1]
	last := len(rows[0]) - 1
	if head[0] != "study" || head[last] != "value" || first[2] != a.Results[0].Variant {
		t.Errorf("unexpected first rows: %q, %q", head, first)
	}
	if got, err := strconv.ParseFloat(first[last], 64); err != nil || got != a.Results[0].Values[0] {
		t.Errorf("first value %q (%v), want exactly %v", first[last], err, a.Results[0].Values[0])
	}
}

func TestCSVHoldsNoFormulas(t *testing.T) {
	a := fixture(t, "three-variants.json")
	for i, start := range []string{"=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1"} {
		a.Results = a.Results[:1]
		a.Results[0].Variant = start
		a.Study = start
		a.Results[0].Metric = start
		a.Results[0].Unit = start
		a.Results[0].Point = lab.Point{Name: start, Levels: map[string]float64{start: -float64(i)}}
		var out bytes.Buffer
		testset.Must(t, CSV(&out, a))
		rows, err := csv.NewReader(&out).ReadAll()
		testset.Must(t, err)
		for _, row := range rows {
			for _, field := range row {
				_, notNumber := strconv.ParseFloat(field, 64)
				if notNumber != nil && field != "" && strings.ContainsAny(strings.TrimSpace(field)[:1], "=+-@\t\r") {
					t.Errorf("%q: field %q is a formula", start, field)
				}
			}
		}
	}
}

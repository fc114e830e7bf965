package published

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// schema versions the files of this package.
const schema = "cleave-published/1"

// parse reads and checks one file. It reports every mistake.
func parse(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var s Study
	if err := decoder.Decode(&s); err != nil {
		return err
	}
	return s.check()
}

func TestAllFilesAreComplete(t *testing.T) {
	for _, name := range Names() {
		data, err := files.ReadFile(name + suffix)
		if err == nil {
			err = parse(data)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load("nobody1999"); err == nil || !strings.Contains(err.Error(), "rego2021") {
		t.Errorf("error = %v, want one that lists the studies", err)
	}
}

// TestMistakesAreFound makes the mistakes that the check of files is there for.
func TestMistakesAreFound(t *testing.T) {
	data, err := files.ReadFile("rego2021.json")
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	tests := []struct{ name, old, with, says string }{
		{"another schema", schema, "cleave-published/0", "schema"},
		{"unknown field", `"study": `, `"studie": `, "unknown field"},
		{"unknown quantity", `"quantity": "run"`, `"quantity": "walk"`, `"walk"`},
		{"unknown metric", `"metric": "elapsed"`, `"metric": "speed"`, `"speed"`},
		{"unknown point", `"point": "s1"`, `"point": "s0"`, `"s0"`},
		{"unknown status", `"status": "raw"`, `"status": "cooked"`, `"cooked"`},
		{"unknown unit of a run", `"unit": "ms"`, `"unit": "furlong"`, `"furlong"`},
		{"same id twice", `"s0-002"`, `"s0-001"`, "s0-001"},
		{"run without number", `, "run": 1}}`, `}}`, "lacks"},
		{"missing with a value", `"status": "raw"`, `"missing": true, "status": "raw"`,
			"one that is missing has none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bad := strings.Replace(good, test.old, test.with, 1)
			if bad == good {
				t.Fatalf("%q does not occur in the file", test.old)
			}
			if err := parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error = %v, want one that says %q", err, test.says)
			}
		})
	}
}

// check finds every mistake in the file.
func (s *Study) check() error {
	var problems []error
	if s.Schema != schema {
		problems = append(problems, fmt.Errorf("schema is %q, want %q", s.Schema, schema))
	}
	if s.Study == "" || len(s.Figures) == 0 {
		problems = append(problems, errors.New("study and figures must be given"))
	}
	seen := map[string]bool{}
	for _, f := range s.Figures {
		if seen[f.ID] || f.ID == "" {
			problems = append(problems, fmt.Errorf("figure id %q is empty or used twice", f.ID))
		}
		seen[f.ID] = true
		if err := s.checkFigure(f); err != nil {
			problems = append(problems, fmt.Errorf("figure %s: %w", f.ID, err))
		}
	}
	return errors.Join(problems...)
}

// checkFigure returns the first mistake in a figure: an unknown name, a missing value or an incomplete
// mapping.
func (s *Study) checkFigure(f Figure) error {
	if _, ok := s.Statuses[f.Status]; !ok {
		return fmt.Errorf("status %q is not explained in statuses", f.Status)
	}
	if f.Source == "" || f.Unit == "" || f.Missing && f.Value != 0 {
		return errors.New("source, unit and a value must be given; one that is missing has none")
	}
	for _, name := range append(slices.Clone(f.Ours.Points), f.Ours.Point) {
		if _, ok := s.Point(name); name != "" && !ok {
			return fmt.Errorf("point %q is not among the points", name)
		}
	}
	if !s.knowsMetric(f.Ours.Metric) && f.Ours.Quantity != Setting && f.Ours.Quantity != Unmeasured {
		return fmt.Errorf("metric %q is not one of ours", f.Ours.Metric)
	}
	converted := []Quantity{Run, Mean, Slope, Intercept}
	if _, ok := f.UnitFactor(); !ok && slices.Contains(converted, f.Ours.Quantity) {
		return fmt.Errorf("unit %q cannot be turned into one of ours", f.Unit)
	}
	return f.Ours.check()
}

// knowsMetric reports whether figures may be mapped to the metric.
func (s *Study) knowsMetric(name string) bool {
	if len(s.Metrics) > 0 {
		return slices.Contains(s.Metrics, name)
	}
	_, known := lab.MetricNamed(lab.JobMetrics(), name)
	return known
}

// check returns an error if the quantity is unknown or the mapping lacks a part that the quantity needs.
func (m Mapping) check() error {
	atPoint, along := m.Variant != "" && m.Point != "", m.Variant != "" && len(m.Points) > 1
	complete := false
	switch m.Quantity {
	case Run:
		complete = atPoint && m.Run > 0
	case Mean:
		complete = atPoint
	case RatioOfMeans:
		complete = atPoint && m.Against != ""
	case MeanOfRatios:
		complete = along && m.Against != ""
	case Slope, Intercept:
		complete = along && m.Factor != ""
	case Curve:
		complete = m.Variant != ""
	case Setting, Unmeasured:
		complete = true
	default:
		return fmt.Errorf("quantity %q is unknown", m.Quantity)
	}
	if !complete {
		return fmt.Errorf("quantity %q lacks its variant, point, points, factor or run: %+v", m.Quantity, m)
	}
	return nil
}

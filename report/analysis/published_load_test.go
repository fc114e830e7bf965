package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/studies/published"
)

// costa returns the made-up experiment under the names of the second study, beside the
// figures that it published.
func costa(t *testing.T) Input {
	t.Helper()
	in := shopUnderLoad()
	figures, err := published.Load("costa2022")
	testset.Must(t, err)
	in.Published = figures
	names := map[string]string{"monolith": "monolith-ha", "monolith.twin": "monolith-ha.twin",
		"at-20": "rpm-1200"}
	renamed := func(name string) string {
		if other, is := names[name]; is {
			return other
		}
		return name
	}
	s := &in.Plan.Study
	s.Baseline = "monolith-ha"
	s.Absent = []lab.AbsentVariant{{Name: "async-dfs", Reason: "no such file system"}}
	for i := range s.Variants {
		s.Variants[i].Name = renamed(s.Variants[i].Name)
		s.Variants[i].TwinOf = renamed(s.Variants[i].TwinOf)
	}
	for i := range s.Points {
		s.Points[i].Name = renamed(s.Points[i].Name)
	}
	for i := range in.Trials {
		in.Trials[i].Variant = renamed(in.Trials[i].Variant)
		in.Trials[i].Point.Name = renamed(in.Trials[i].Point.Name)
	}
	return in
}

func TestPublishedFiguresOfASystemUnderLoad(t *testing.T) {
	a := Analyse(costa(t))
	if len(a.Published) != 24 {
		t.Fatalf("%d figures, want 24", len(a.Published))
	}
	mean := func(metric, variant, point string) float64 {
		for _, r := range a.Results {
			if r.Metric == metric && r.Variant == variant && r.Point.Name == point {
				return r.Mean
			}
		}
		t.Fatalf("no result of %s of %s at %s", metric, variant, point)
		return 0
	}
	for id, c := range map[string]struct {
		measured float64 // 0: none
		missing  bool
		says     string
	}{
		"s1-001": {60 * mean("capacity", "monolith-ha", "capacity"), false, ""},
		"s1-003": {mean("capacity", "sync", "capacity") / mean("capacity", "monolith-ha", "capacity"), true, ""},
		"s1-004": {1000 * mean("completion_time_p50", "monolith-ha", "rpm-1200"), true,
			"the text prints no number; measured here at rpm-1200"},
		"s1-006": {0, true, "an image without numbers; here CPU time of shop and backing services per order: "},
		"s1-013": {0, true, "async-dfs: untestable here: no such file system"},
		"s1-016": {mean("statements_per_order", "async", "rpm-1200") / mean("statements_per_order", "monolith-ha",
			"rpm-1200"), false, ""},
		"s1-021": {0, false, "a setting of the study"},
	} {
		for _, f := range a.Published {
			if f.ID != id {
				continue
			}
			got := 0.0
			if f.Measured != nil {
				got = *f.Measured
			}
			if math.Abs(got-c.measured) > 1e-9*c.measured || f.Missing != c.missing ||
				!strings.Contains(f.Reason, c.says) {
				t.Errorf("%s: measured %g (%q), missing %t; want %g with %q, %t", id, got, f.Reason, f.Missing,
					c.measured, c.says, c.missing)
			}
			if f.PublishedPerOperation != nil {
				t.Errorf("%s has a time per operation: %g", id, *f.PublishedPerOperation)
			}
		}
	}
}

// TestResponseTimesAreNoTimesPerOperation: dividing them by the levels of their points would mean nothing.
func TestResponseTimesAreNoTimesPerOperation(t *testing.T) {
	in := loaded()
	var err error
	in.Published, err = published.Load("mendonca2024")
	testset.Must(t, err)
	for _, f := range Analyse(in).Published {
		if f.PublishedPerOperation != nil {
			t.Errorf("%s has a time per operation: %g", f.ID, *f.PublishedPerOperation)
		}
	}
}

// TestAPublishedLineIsComparedWithThatThroughItsPoints: also if the study asks for another line of the same
// variant along the same factor before it. Without such a line, the remark names the points.
func TestAPublishedLineIsComparedWithThatThroughItsPoints(t *testing.T) {
	in := table1(t)
	trends := in.Plan.Study.Trends
	in.Plan.Study.Trends = append([]lab.Trend{{Factor: "workers",
		Points: []string{"s1", "s2", "s3"}}}, trends...)
	slope := func() lab.PublishedFigure {
		all := Analyse(in).Published
		return all[slices.IndexFunc(all, func(f lab.PublishedFigure) bool { return f.ID == "s0-191" })]
	}
	if f := slope(); f.Measured == nil || math.Abs(*f.Measured-f.Value) > 0.01 || f.Reason != "" {
		t.Errorf("of the line y1: %+v, want %g", f, f.Value)
	}
	in.Plan.Study.Trends = in.Plan.Study.Trends[:1]
	if f := slope(); f.Measured == nil ||
		f.Reason != "fitted through s1, s2, s3; the study has s1, s2, s3, s4, s5" {
		t.Errorf("of a shorter line: %+v", f)
	}
}

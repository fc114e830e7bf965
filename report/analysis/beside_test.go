package analysis

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// reported reads an analysis from the test data of reports.
func reported(t *testing.T, name string) lab.Analysis {
	t.Helper()
	data, err := os.ReadFile("../testdata/" + name)
	testset.Must(t, err)
	var a lab.Analysis
	testset.Must(t, json.Unmarshal(data, &a))
	return a
}

// figureOf compares two variants and returns their first figure.
func figureOf(t *testing.T, a lab.Analysis, names ...string) (SideBySide, SideFigure) {
	t.Helper()
	b, err := CompareVariants(a, [2]string(names), "")
	if err != nil || len(b.Figures) == 0 {
		t.Fatalf("%v: %d figures, %v", names, len(b.Figures), err)
	}
	return b, b.Figures[0]
}

func TestVariantsThatARunComparesAreShownAsInItsReport(t *testing.T) {
	a := reported(t, "three-variants.json")
	for _, names := range [][]string{{"goroutines", "http-json"}, {"http-json", "goroutines"}} {
		b, f := figureOf(t, a, names...)
		c := a.Comparisons[slices.IndexFunc(a.Comparisons, func(c lab.Comparison) bool {
			return c.Metric == f.Metric.Name && c.Point.Name == f.Point && c.Variant == "http-json" &&
				c.Baseline == "goroutines"
		})]
		if b.Names != [2]string{"goroutines", "http-json"} || *f.Ratio != c.Ratio || f.Words != c.Words ||
			f.Verdict != c.Verdict || !strings.Contains(b.Note, "of the report") {
			t.Errorf("%v: %v, %+v; want %+v", names, b.Names, f, c)
		}
	}
}

func TestVariantsThatARunDoesNotCompareHaveRatiosByBlock(t *testing.T) {
	a := reported(t, "shop-under-load.json")
	b, f := figureOf(t, a, "sync", "async")
	if f.Ratio == nil || f.Ratio.Low == nil || f.Verdict != "" || !strings.Contains(b.Note, "does not compare") {
		t.Errorf("the first figure is %+v, %q", f, b.Note)
	}
	_, back := figureOf(t, a, "async", "sync")
	if product := back.Ratio.Ratio * f.Ratio.Ratio; product < 0.999 || product > 1.001 {
		t.Errorf("there and back are %g", product)
	}
	a.Trials.Spared = 1
	if b, f := figureOf(t, a, "sync", "async"); f.Ratio.Low != nil ||
		!strings.Contains(b.Note, "without intervals") {
		t.Errorf("of a run that ended early: %+v, %q", f.Ratio, b.Note)
	}
	for _, names := range [][2]string{{"sync", "none"}, {"sync", "monolith.twin"}} {
		if _, err := CompareVariants(a, names, ""); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v", names, err)
		}
	}
}

func TestAVariantThatBrokeARuleHasNoRatio(t *testing.T) {
	twin := reported(t, "shop-under-load.json")
	broken := twin.Audit["monolith.twin"]
	broken.Verdict = lab.AuditInvalid
	twin.Audit["monolith.twin"] = broken
	twin.Audit["sync"] = broken
	b, both := figureOf(t, twin, "monolith", "sync")
	if both.Words != "monolith and sync broke a rule of the system" ||
		b.Drawn.Audit["monolith"].Verdict != lab.AuditInvalid {
		t.Errorf("of two that broke a rule: %q, drawn with %+v", both.Words, b.Drawn.Audit)
	}
	_, f := figureOf(t, reported(t, "three-variants.json"), "goroutines", "shared-memory")
	if f.Ratio != nil || f.Each[0] == nil || f.Each[1] == nil || !strings.Contains(f.Words, "broke a rule") {
		t.Errorf("the first figure is %+v", f)
	}
}

func TestPlotsOfTwoVariantsAreOfOnePoint(t *testing.T) {
	a := reported(t, "shop-under-load.json")
	for _, point := range []string{"", "at-80"} {
		b, err := CompareVariants(a, [2]string{"monolith", "sync"}, point)
		testset.Must(t, err)
		at := b.Drawn.Points[0].Name
		if point != "" && at != point || len(b.Drawn.Spectra) != 6 {
			t.Errorf("at %q: drawn are %d spectra at %s", point, len(b.Drawn.Spectra), at)
		}
		for _, s := range b.Drawn.Spectra {
			if s.Point.Name != at || s.Variant == "async" {
				t.Errorf("at %q: drawn is %s of %s at %s", point, s.Quantity, s.Variant, s.Point.Name)
			}
		}
	}
}

func TestTwoTrialsHaveNoIntervals(t *testing.T) {
	played := func(elapsed float64, seconds int) lab.Trial {
		trial := lab.Trial{ElapsedSeconds: elapsed, Metered: lab.Metered{Total: lab.Usage{
			Unavailable: map[string]string{"cpu_seconds": "no"}}}}
		for second := range seconds {
			slow := float64(second)
			trial.Course = append(trial.Course, lab.Slice{End: slow + 1, OK: 10, Median: &slow})
		}
		return trial
	}
	short := played(2, 3)
	long := played(3, 2*mostPoints+1)
	long.Unmeasured = map[string]string{"cpu": "too short"}
	b := CompareTrials([2]lab.Trial{short, long}, [2]string{"A", "B"},
		lab.JobMetrics())
	at := slices.IndexFunc(b.Figures, func(f SideFigure) bool { return f.Metric.Name == "elapsed" })
	if f := b.Figures[at]; f.Ratio.Ratio != 1.5 || f.Ratio.Low != nil || f.Verdict != "" {
		t.Errorf("elapsed times are %+v", f)
	}
	at = slices.IndexFunc(b.Figures, func(f SideFigure) bool { return f.Metric.Name == "cpu" })
	if f := b.Figures[at]; f.Each != [2]*lab.Estimate{} || f.Ratio != nil || f.Words != "B: too short" {
		t.Errorf("what was not measured is %+v", f)
	}
	if len(b.Drawn.Courses) != 2 {
		t.Fatalf("%d courses are drawn", len(b.Drawn.Courses))
	}
	brief, thin := b.Drawn.Courses[0], b.Drawn.Courses[1]
	if len(brief.End) != 3 || brief.Variant != "A" || brief.Rate[2] != 10 {
		t.Errorf("a short course is %+v", brief)
	}
	if n := len(thin.End); n > mostPoints || len(thin.Rate) != n || len(thin.P99) != n || thin.End[0] != 3 ||
		*thin.Median[0] != 2 || thin.P99[0] != nil || thin.Rate[0] != 10 || thin.End[n-1] != 2*mostPoints+1 {
		t.Errorf("a long course has %d points, the first ends at %g", n, thin.End[0])
	}
}

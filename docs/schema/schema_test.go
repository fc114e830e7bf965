package schema

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// folder is a result folder whose documents are checked as well:
//
//	go test ./docs/schema -folder $PWD/results/rego2021/latest
var folder = flag.String("folder", "", "result `folder` to check")

// value returns a pointer to a number.
func value(x float64) *float64 { return &x }

// studyOfTwo returns a small study of a variant and its twin, with a trend, a claim and a note.
func studyOfTwo() lab.Study {
	return lab.Study{
		Schema: lab.StudySchema, Name: "two", Title: "Two", Question: "Which?", Source: "nowhere", System: "big",
		Baseline: "a",
		Variants: []lab.Variant{
			{Name: "a", System: "big", Architecture: "threads", Deployment: "process",
				Knobs: map[string]string{"batch": "1"}},
			{Name: "a-twin", System: "big", Architecture: "threads", Deployment: "process", TwinOf: "a",
				Points: []string{"s1"}},
		},
		Points: []lab.Point{{Name: "s1", Levels: map[string]float64{"workers": 10}}},
		Trends: []lab.Trend{{Factor: "workers", Points: []string{"s1"}}},
		Design: lab.Design{Blocks: 6, Seed: 1, Scale: 0.1, Margin: 0.05, Confidence: 0.95, MaxRepeats: 2,
			TrialTimeout: 60},
		Claims: []lab.Claim{{ID: "c1", Text: "a is slow", Source: "table 1", Kind: lab.ClaimSlower, Metric: "cpu",
			Variant: "a"}},
		Notes: []string{"a note"},
	}
}

// trialOfTwo returns one good trial.
func trialOfTwo() lab.Trial {
	usage := lab.Usage{Units: 2, CPUSeconds: 0.5,
		Unavailable: map[string]string{"read_bytes": "permission denied"}}
	return lab.Trial{
		Schema: lab.TrialSchema, Number: 1, Attempt: 1, Block: 1, Variant: "a", Point: studyOfTwo().Points[0],
		Seed:    7,
		Started: time.Unix(1_700_000_000, 0).UTC(), Valid: true, Units: 2, Operations: 100, ElapsedSeconds: 0.1,
		LifetimeSeconds: 0.2,
		Metered:         lab.Metered{Total: usage, Roles: map[string]lab.Usage{"worker": usage}, OwnShare: 0.003},
		Conditions: lab.Conditions{CalibrationBefore: 0.011, CalibrationAfter: 0.011,
			PressureShares: map[string]float64{"cpu": 0.5}},
		Audit: lab.Audit{Verdict: lab.AuditValid, Counts: map[string]int64{"pings": 100}},
	}
}

// environmentOfTwo returns an environment with a fact of each kind and one without a value.
func environmentOfTwo() lab.Environment {
	return lab.Environment{
		"cpu_model":    {Value: "Example"},
		"virtualised":  {Value: false},
		"memory_total": {Value: int64(1 << 30), Unit: "B"},
		"rapl":         {Unavailable: "no energy counters"},
	}
}

// analysisOfTwo returns an analysis with one element in most of its lists. Only its form is right: it names a
// variant b that studyOfTwo does not have.
func analysisOfTwo() lab.Analysis {
	study := studyOfTwo()
	ratio := lab.Ratio{Ratio: 2, Low: value(1.5), High: value(2.5), N: 6}
	return lab.Analysis{
		Schema: lab.AnalysisSchema, Study: study.Name, Title: study.Title, Profile: "quick", Seed: 1, Scale: 0.1,
		Blocks:     6,
		Confidence: 0.95, Margin: 0.05, Operation: "round trip", Baseline: "a",
		Answer: lab.Conclusion{Sentence: "b is slower", Point: "s1",
			Headline: &lab.Headline{Title: "CPU time", Baseline: "a", Bars: []lab.Bar{{Label: "b", Metric: "cpu",
				Point: "s1", Variant: "b", Baseline: "a", Begin: 1, Ratio: ratio, Verdict: lab.Slower}}},
			Findings: []lab.Finding{{Text: "b needs more memory", Section: "usage"}},
			Withheld: []string{"c is struck out"}, Sure: []string{"6 blocks"}, NotTested: []string{"another host"}},
		Environment: environmentOfTwo(),
		Metrics:     lab.JobMetrics(), Variants: study.Variants, Points: study.Points,
		Trials: lab.TrialCounts{Planned: 2, Valid: 1,
			Invalid: []lab.InvalidTrial{{Trial: 2, Attempt: 1, Variant: "a", Point: "s1", Reason: "steal"}}},
		NoiseFloor: map[string]lab.Ratio{"cpu": {Ratio: 1.01, N: 1}}, Margins: map[string]float64{"cpu": 0.05},
		Results: []lab.Result{{Variant: "a", Point: study.Points[0], Metric: "cpu", Unit: "s", N: 1, Mean: 2,
			Low:  value(1),
			High: value(3), Values: []float64{2}, Blocks: []int{1}}},
		Comparisons: []lab.Comparison{{Metric: "cpu", Point: study.Points[0], Variant: "b", Baseline: "a",
			Ratio:        ratio,
			RatioOfMeans: &ratio, P: value(0.01), Verdict: lab.Slower, Words: "2 times", Family: 1}},
		Averages: []lab.Average{{Metric: "cpu", Variant: "b", Baseline: "a", Points: []string{"s1"}, Arithmetic: 2,
			Mean: &ratio}},
		Trends: []lab.TrendLine{{Metric: "cpu", Unit: "s", Variant: "a", Factor: "workers",
			Points: []string{"s1"}, X: []float64{10}, Y: []float64{2}, Intercept: -1}},
		Ladder: []lab.Rung{{Variant: "a", Point: "s1", Summary: "threads", CPU: 1e-6, Elapsed: 1e-6,
			ToBaseline: &ratio}},
		Claims: []lab.Judgement{{ID: "c1", Text: "a is slow", Source: "table 1", Verdict: lab.ClaimUndecided,
			Reason: "too few blocks"}},
		Objective: "p99<100ms",
		Curves: []lab.Curve{{Variant: "a", Metric: "goodput", Unit: "1/s",
			Points: []lab.CurvePoint{{Point: "s1", Offered: 9, Median: 8, Values: []float64{8}}}}},
		Spectra: []lab.Spectrum{{Variant: "a", Point: study.Points[0], Quantity: lab.ResponseTime,
			Median: []lab.Quantile{{Share: 0.5, Value: 1}}, Trials: [][]lab.Quantile{{{Share: 0.5, Value: 1}}}}},
		Usages: []lab.RoleUsage{{Variant: "a", Point: study.Points[0], Role: "worker", CPUPerOperation: 1e-3,
			CPUShare: 0.2, PeakMemory: 1 << 20}},
		Paths: []lab.TrialPath{{Variant: "a", Point: study.Points[0], Trial: 1,
			Kinds: []lab.SegmentTime{{Kind: lab.SegmentBusiness, Seconds: 1}},
			Path: lab.Path{Share: 0.5, Operation: "o1", Seconds: 1, Sampled: 1,
				Segments: []lab.Segment{{Seconds: 1, Unit: "worker", Kind: lab.SegmentBusiness, Name: "work"}}}}},
		Rehearsed: []lab.RehearsedFigure{{What: "CPU", Metric: "cpu", Unit: "s", Point: study.Points[0],
			Ratio: &lab.Estimate{Value: 2}, Withheld: "nobody measured it"}},
		Waterfalls: []lab.Waterfall{{Metric: "cpu", Point: study.Points[0], From: "a", To: "b", Whole: ratio,
			Verdict: lab.Slower, Words: "2 times",
			Steps: []lab.Step{{Knob: "data", Change: "shared -> databases", Before: "a", Variant: "b", Ratio: ratio,
				Verdict: lab.Slower}}}},
		Published: []lab.PublishedFigure{{ID: "t1", Source: "table 1", Metric: "cpu", Variant: "A", Unit: "s",
			Value: 3, Status: "confirmed"}},
		Audit: map[string]lab.AuditSum{"a": {Verdict: lab.AuditValid, Trials: 1,
			Counts: map[string]int64{"pings": 100}}},
		Conditions: lab.ConditionSummary{CalibrationMedian: 0.011}, Notes: []string{"a note"},
	}
}

// samples returns good documents by the names of their schemas: plan, trial, environment and analysis.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	plan := lab.Plan{Schema: lab.PlanSchema, Created: time.Unix(1_700_000_000, 0).UTC(), Profile: "quick",
		Study:  studyOfTwo(),
		Trials: []lab.PlannedTrial{{Number: 1, Block: 1, Variant: "a", Point: "s1", Seed: 1<<64 - 1}}}
	all := make(map[string][]byte)
	for name, document := range map[string]any{
		"plan": plan, "trial": trialOfTwo(), "environment": environmentOfTwo(), "analysis": analysisOfTwo(),
	} {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}

func TestGoodDocumentsPass(t *testing.T) {
	for name, text := range samples(t) {
		if err := Validate(name, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestWrongDocumentsFail(t *testing.T) {
	cases := []struct{ name, schema, good, wrong string }{
		{"unknown version", "plan", `"cleave-plan/1"`, `"cleave-plan/9"`},
		{"member that nobody knows", "plan", `"profile":`, `"surprise":1,"profile":`},
		{"missing member", "trial", `"valid":true,`, ``},
		{"text for a number", "trial", `"elapsed_seconds":0.1`, `"elapsed_seconds":"0.1"`},
		{"negative time", "trial", `"elapsed_seconds":0.1`, `"elapsed_seconds":-0.1`},
		{"a level that is no number", "trial", `"workers":10`, `"workers":"ten"`},
		{"a point without a name", "trial", `"name":"s1",`, ``},
		{"time without a date", "trial", `"2023-11-14T22:13:20Z"`, `"22:13"`},
		{"verdict that does not exist", "trial", `"verdict":"valid"`, `"verdict":"fine"`},
		{"fact with value and reason", "environment", `"value":"Example"`, `"value":"Example","unavailable":"no"`},
		{"fact with neither", "environment", `"value":"Example"`, ``},
		{"empty list as null", "analysis", `"ladder":[`, `"ladder":null,"x":[`},
		{"claim verdict that does not exist", "analysis", `"verdict":"undecided"`, `"verdict":"maybe"`},
		{"not JSON", "analysis", `{`, ``},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			good := string(samples(t)[c.schema])
			if !strings.Contains(good, c.good) {
				t.Fatalf("the sample has no %s: %s", c.good, good)
			}
			if err := Validate(c.schema, []byte(strings.Replace(good, c.good, c.wrong, 1))); err == nil {
				t.Error("passes")
			}
		})
	}
}

func TestUnknownSchema(t *testing.T) {
	if err := Validate("nonsense", []byte("{}")); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error = %v, want one that names the schema", err)
	}
}

// TestResultFolder checks the documents of a real run, when one is given.
func TestResultFolder(t *testing.T) {
	if *folder == "" {
		t.Skip("no -folder given")
	}
	checked := 0
	// With the slash, WalkDir follows the link "latest".
	err := filepath.WalkDir(*folder+"/", func(path string, entry fs.DirEntry, err error) error {
		name, isJSON := strings.CutSuffix(filepath.Base(path), ".json")
		if err != nil || !isJSON {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checked++
		if err := Validate(name, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if checked == 0 {
		t.Errorf("no JSON documents in %s", *folder)
	}
}

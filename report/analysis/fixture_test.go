package analysis

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/studies/published"
)

var update = flag.Bool("update", false, "write report/testdata/analysis.json anew")

// fixture is the analysis that tests of reports show.
const fixture = "../testdata/analysis.json"

// table1 returns an experiment whose trials are the runs of Table 1 of Rego 2021:
// run k is block k. The study published only elapsed times; CPU times, memory and
// context switches are made up in fixed proportion to them. uds.twin is uds with
// fixed differences of up to 1 %; uds-persistent is made up, and ran only at s1.
func table1(t *testing.T) Input {
	t.Helper()
	study, err := published.Load("rego2021")
	testset.Must(t, err)
	in := Input{
		Plan: lab.Plan{Schema: lab.PlanSchema, Profile: "full", Study: regoStudy(study)},
		Environment: lab.Environment{"processors": {Value: 16},
			"energy": {Unavailable: "no energy counters in a table"}},
		System:    lab.SystemInfo{Name: "big", Operation: "round trip"},
		Published: study,
	}
	for _, f := range study.Figures {
		if f.Ours.Quantity != published.Run {
			continue
		}
		seconds, _ := f.Seconds()
		point, _ := study.Point(f.Ours.Point)
		in.play(f.Ours.Variant, point, f.Ours.Run, f.Value*seconds)
		if f.Ours.Variant == "uds" {
			pattern := []float64{1.004, 0.993, 1.008, 0.998, 1.001}
			off := pattern[(f.Ours.Run+len(in.Trials))%len(pattern)]
			in.play("uds.twin", point, f.Ours.Run, f.Value*seconds*off)
			if point.Name == "s1" {
				in.play("uds-persistent", point, f.Ours.Run, f.Value*seconds*off*off*0.31)
			}
		}
	}
	return in
}

// play adds a planned and valid trial of the given length in seconds.
func (in *Input) play(variant string, point lab.Point, block int, seconds float64) {
	cores := map[string]float64{"threads": 14, "http": 1.9}[variant]
	if cores == 0 {
		cores = 1.1
	}
	count := int64(published.Operations(point))
	number := len(in.Trials) + 1
	in.Plan.Trials = append(in.Plan.Trials, lab.PlannedTrial{Number: number, Block: block, Variant: variant,
		Point: point.Name})
	in.Trials = append(in.Trials, lab.Trial{
		Schema: lab.TrialSchema, Number: number, Attempt: 1, Block: block, Variant: variant, Point: point,
		Valid:   true,
		Started: time.Date(2021, 6, 1, 0, 0, number, 0, time.UTC), Units: 101, Operations: count,
		ElapsedSeconds: seconds, LifetimeSeconds: seconds + 0.4,
		Metered: lab.Metered{
			Total: lab.Usage{CPUSeconds: seconds * cores, PeakMemoryBytes: int64(4e8 * cores),
				VoluntaryContextSwitches: int64(float64(count) * cores)},
			OwnShare: 0.01,
		},
		Conditions: lab.Conditions{CalibrationBefore: 0.1, CalibrationAfter: 0.101, OthersShare: 0.02,
			Unavailable: map[string]string{"steal_share": "not a virtual machine"}},
		Audit: lab.Audit{Verdict: lab.AuditValid, Counts: map[string]int64{"pings": count, "pongs": count},
			Figures: map[string]float64{"fairness": 0.98}},
	})
}

// regoStudy returns the study of a published table. Long because it lists the variants and claims.
func regoStudy(study *published.Study) lab.Study {
	workers := []string{"s1", "s2", "s3", "s4", "s5"}
	pings := []string{"s1", "s6", "s7", "s8", "s9"}
	s := lab.Study{
		Schema: lab.StudySchema, Name: "rego2021",
		Title:  "The Big benchmark: threads against one process per worker",
		System: "big", Baseline: "threads", Points: study.Points,
		Variants: []lab.Variant{
			{Name: "threads", System: "big", Architecture: "threads", Summary: "goroutines and channels"},
			{Name: "http", System: "big", Architecture: "http", Summary: "a process per worker, HTTP and JSON"},
			{Name: "uds", System: "big", Architecture: "uds",
				Summary: "a process per worker, one Unix-socket connection per message"},
			{Name: "uds.twin", System: "big", Architecture: "uds", TwinOf: "uds"},
			{Name: "uds-persistent", System: "big", Architecture: "uds-persistent", Points: []string{"s1"},
				Summary: "kept connections"},
		},
		Trends: []lab.Trend{{Factor: "workers", Points: workers}, {Factor: "pings", Points: pings}},
		Design: lab.Design{Blocks: 5, Seed: 2021, Scale: 1, Margin: 0.05, Confidence: 0.95,
			NoiseFloor: []string{"uds"}},
		Notes: []string{"The trials of this document are the runs of a published table; what the table lacks is " +
			"made up."},
	}
	claim := func(id string, kind lab.ClaimKind, variant, against string) lab.Claim {
		return lab.Claim{ID: id, Text: "Claim " + id + ".", Source: "Table 2", Kind: kind, Variant: variant,
			Against: against}
	}
	linear := func(variant, factor string, points []string) lab.Claim {
		c := claim(variant+"-linear-in-"+factor, lab.ClaimLinear, variant, "")
		c.Factor = factor
		c.Points = points
		c.Low = 0.9
		c.High = 1.1
		c.Published = 1
		return c
	}
	grows := func(variant, factor string, points []string) lab.Claim {
		c := claim(variant+"-ratio-grows-with-"+factor, lab.ClaimGrows, variant, "threads")
		c.Factor = factor
		c.Points = points
		return c
	}
	factor := claim("second-faster-by-factor", lab.ClaimFactor, "http", "uds")
	factor.Low = 2.93
	factor.High = 3.55
	factor.Published = 3.237
	s.Claims = []lab.Claim{
		claim("threads-faster-than-first", lab.ClaimSlower, "http", "threads"),
		claim("threads-faster-than-second", lab.ClaimSlower, "uds", "threads"),
		claim("second-faster-than-first", lab.ClaimSlower, "http", "uds"),
		claim("first-faster-than-second", lab.ClaimSlower, "uds", "http"),
		factor,
		linear("threads", "workers", workers), linear("http", "workers", workers),
		linear("uds", "workers", workers),
		linear("threads", "pings", pings), linear("http", "pings", pings), linear("uds", "pings", pings),
		grows("http", "workers", workers), grows("uds", "workers", workers), grows("http", "pings", pings),
		grows("uds", "pings", pings),
		claim("keeping-connections-helps", lab.ClaimSlower, "uds", "uds-persistent"),
		claim("shared-memory-is-best", lab.ClaimSlower, "uds", "shm"),
	}
	return s
}

// encode encodes an analysis as JSON, which fails if a number is not finite.
func encode(t *testing.T, a lab.Analysis) []byte {
	t.Helper()
	data, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		t.Fatalf("the analysis does not encode: %v", err)
	}
	return append(data, '\n')
}

func TestFixtureIsUpToDate(t *testing.T) {
	data := encode(t, Analyse(table1(t)))
	if *update {
		testset.Must(t, os.WriteFile(fixture, data, 0o644))
	}
	stored, err := os.ReadFile(fixture)
	testset.Must(t, err)
	var have, want lab.Analysis
	testset.Must(t, json.Unmarshal(stored, &have))
	testset.Must(t, json.Unmarshal(data, &want))
	if !slices.Equal(answerTexts(have.Answer), answerTexts(want.Answer)) ||
		len(have.Published) != len(want.Published) {
		t.Errorf("%s is stale: run go test ./report/analysis -update", fixture)
	}
}

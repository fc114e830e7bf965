package analysis

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
	"github.com/cleave-lab/cleave/studies/published"
)

func comparisonOf(t *testing.T, a lab.Analysis, metric, point, variant, baseline string) lab.Comparison {
	t.Helper()
	i := slices.IndexFunc(a.Comparisons, func(c lab.Comparison) bool {
		return c.Metric == metric && c.Point.Name == point && c.Variant == variant && c.Baseline == baseline
	})
	if i < 0 {
		t.Fatalf("no comparison of %s: %s over %s at %s", metric, variant, baseline, point)
	}
	return a.Comparisons[i]
}

func claimOf(t *testing.T, a lab.Analysis, id string) lab.Judgement {
	t.Helper()
	i := slices.IndexFunc(a.Claims, func(c lab.Judgement) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no claim %s", id)
	}
	return a.Claims[i]
}

func near(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is missing, want %g", what, want)
		return
	}
	if !(math.Abs(*got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s = %.12g, want %.12g", what, *got, want)
	}
}

// TestEveryPublishedFigureIsReproduced analyses the published runs as trials:
// the measured figures must be the recomputed ones.
func TestEveryPublishedFigureIsReproduced(t *testing.T) {
	a := Analyse(table1(t))
	if len(a.Published) != 204 {
		t.Fatalf("%d published figures, want 204", len(a.Published))
	}
	for _, f := range a.Published {
		if f.Unit == "count" {
			if f.Measured != nil || f.Reason == "" {
				t.Errorf("%s: a setting was measured, or without a reason: %+v", f.ID, f)
			}
			continue
		}
		want := f.Value
		if f.Recomputed != nil {
			want = *f.Recomputed
		}
		near(t, f.ID+" ("+f.Metric+")", f.Measured, want, 2e-5)
		if f.Reason != "" {
			t.Errorf("%s: reason %q at full scale", f.ID, f.Reason)
		}
		if time := strings.HasPrefix(f.Unit, "ms") ||
			f.Unit == "s"; time && !strings.Contains(f.Metric, "intercept") {
			if f.PublishedPerOperation == nil {
				t.Errorf("%s: no published time per operation", f.ID)
				continue
			}
			near(t, f.ID+" per operation", f.MeasuredPerOperation, *f.PublishedPerOperation*want/f.Value, 2e-5)
		}
	}
}

func TestComparisonsMeetTheGoldenFile(t *testing.T) {
	data, err := os.ReadFile("../../stats/testdata/golden.json")
	testset.Must(t, err)
	var golden struct {
		Cases []struct {
			Set, A, B string
			Ratio     float64    `json:"ratio_of_means"`
			KJ        [2]float64 `json:"kalibera_jones_ci95"`
			Geometric float64    `json:"log_welch_geomean_ratio"`
			Paired    [2]float64 `json:"paired_log_t_ci95_by_run_index"`
		}
		Averages map[string]float64 `json:"averages_of_R_microservices"`
	}
	testset.Must(t, json.Unmarshal(data, &golden))
	a := Analyse(table1(t))
	name := map[string]string{"variant 0": "threads", "variant 1": "http", "variant 2": "uds"}
	for _, c := range golden.Cases {
		// The golden file compares two variants alone.
		two := table1(t).only(func(trial lab.Trial) bool {
			return trial.Point.Name == c.Set && (trial.Variant == name[c.A] || trial.Variant == name[c.B])
		})
		got := comparisonOf(t, Analyse(two), "elapsed", c.Set, name[c.A], name[c.B])
		near(t, c.Set+" ratio", &got.Ratio.Ratio, c.Geometric, 1e-9)
		near(t, c.Set+" low", got.Low, c.Paired[0], 1e-9)
		near(t, c.Set+" high", got.High, c.Paired[1], 1e-9)
		near(t, c.Set+" ratio of means", &got.RatioOfMeans.Ratio, c.Ratio, 1e-9)
		near(t, c.Set+" ratio of means low", got.RatioOfMeans.Low, c.KJ[0], 1e-9)
		near(t, c.Set+" ratio of means high", got.RatioOfMeans.High, c.KJ[1], 1e-9)
		if all := comparisonOf(t, a, "elapsed", c.Set, name[c.A], name[c.B]); all.N != 5 ||
			all.Verdict != lab.Slower || *all.HolmLow > *all.Low || *all.HolmHigh < *all.High || all.Family < 27 {
			t.Errorf("%s: n %d, verdict %s, [%g, %g] within [%g, %g] of the family of %d", c.Set, all.N, all.Verdict,
				*all.Low, *all.High, *all.HolmLow, *all.HolmHigh, all.Family)
		}
	}
	i := slices.IndexFunc(a.Averages, func(x lab.Average) bool {
		return x.Metric == "elapsed" && x.Baseline == "uds" && x.Variant == "http"
	})
	x := a.Averages[i]
	near(t, "arithmetic", &x.Arithmetic, golden.Averages["arithmetic"], 1e-9)
	// The golden file divides arithmetic means, the analysis geometric means.
	near(t, "geometric of ratios of means", &x.Geometric, golden.Averages["geometric"], 1e-3)
	near(t, "of sums", &x.OfSums, golden.Averages["ratio_of_sums"], 1e-9)
	if x.Homogeneous || len(x.Points) != 9 || x.Mean.N != 5 {
		t.Errorf("average = %+v, want nine points that differ", x)
	}
}

func TestClaimsOnThePublishedData(t *testing.T) {
	want := map[string]lab.ClaimVerdict{
		"threads-faster-than-first":     lab.ClaimSupported,
		"threads-faster-than-second":    lab.ClaimSupported,
		"second-faster-than-first":      lab.ClaimSupported,
		"first-faster-than-second":      lab.ClaimContradicted,
		"second-faster-by-factor":       lab.ClaimSupported,
		"threads-linear-in-workers":     lab.ClaimContradicted, // exponent 0.75
		"http-linear-in-workers":        lab.ClaimSupported,    // 1.06
		"uds-linear-in-workers":         lab.ClaimContradicted, // 1.17
		"threads-linear-in-pings":       lab.ClaimUndecided,    // 0.91 beside 0.9
		"http-linear-in-pings":          lab.ClaimSupported,    // 1.01
		"uds-linear-in-pings":           lab.ClaimUndecided,    // 1.13 beside 1.1
		"http-ratio-grows-with-workers": lab.ClaimSupported,
		"uds-ratio-grows-with-workers":  lab.ClaimSupported,
		"http-ratio-grows-with-pings":   lab.ClaimSupported,
		"uds-ratio-grows-with-pings":    lab.ClaimSupported,
		"keeping-connections-helps":     lab.ClaimSupported,
		"shared-memory-is-best":         lab.ClaimUntestable,
	}
	a := Analyse(table1(t))
	if len(a.Claims) != len(want) {
		t.Errorf("%d claims, want %d", len(a.Claims), len(want))
	}
	for _, c := range a.Claims {
		if c.Verdict != want[c.ID] {
			t.Errorf("%s is %s, want %s: %s", c.ID, c.Verdict, want[c.ID], c.Reason)
		}
		if c.Reason == "" {
			t.Errorf("%s: no reason", c.ID)
		}
		if numbers := c.Measured != nil && c.Low != nil &&
			c.High != nil; numbers != (c.Verdict != lab.ClaimUntestable) {
			t.Errorf("%s is %s with numbers: %t", c.ID, c.Verdict, numbers)
		}
	}
	near(t, "exponent of uds in workers", claimOf(t, a, "uds-linear-in-workers").Measured, 1.172, 1e-3)
	near(t, "published factor", claimOf(t, a, "second-faster-by-factor").Published, 3.237, 0)
}

func TestTrendsWarn(t *testing.T) {
	a := Analyse(table1(t))
	if len(a.Trends) != 2*2*3 {
		t.Fatalf("%d trends, want 2 metrics x 2 factors x 3 variants that ran everywhere", len(a.Trends))
	}
	for _, line := range a.Trends {
		negative := line.Intercept < 0
		warned := slices.ContainsFunc(line.Warnings, func(w string) bool {
			return strings.Contains(w, "fixed cost")
		})
		if negative != warned {
			t.Errorf("%s along %s: intercept %g, warnings %q", line.Variant, line.Factor, line.Intercept,
				line.Warnings)
		}
		if line.Variant == "uds" && line.Factor == "workers" &&
			!slices.ContainsFunc(line.Warnings, func(w string) bool {
				return strings.Contains(w, "faster than its factor")
			}) {
			t.Errorf("exponent %g gives no warning: %q", line.Exponent, line.Warnings)
		}
	}
}

func TestLadder(t *testing.T) {
	a := Analyse(table1(t))
	var names []string
	for i, r := range a.Ladder {
		names = append(names, r.Variant)
		if r.Point != "s1" {
			t.Errorf("rung %s at %s, want s1, where all four ran", r.Variant, r.Point)
		}
		if last := i == len(a.Ladder)-1; (r.ToNext == nil) != last {
			t.Errorf("rung %s: ratio to the next %v", r.Variant, r.ToNext)
		}
	}
	if want := []string{"http", "uds", "uds-persistent", "threads"}; !slices.Equal(names, want) {
		t.Errorf("ladder = %v, want %v", names, want)
	}
	if baseline := a.Ladder[3]; baseline.ToBaseline != nil {
		t.Errorf("the baseline is compared with itself: %v", baseline.ToBaseline)
	}
}

// TestTheOthersNarrowAComparison: together with the other variants and a twin, a pair
// has more degrees of freedom than the four of its own blocks.
func TestTheOthersNarrowAComparison(t *testing.T) {
	in := table1(t)
	played := map[string]bool{}
	for _, trial := range in.Trials {
		if trial.Point.Name == "s1" {
			played[trial.Variant] = true
		}
	}
	c := comparisonOf(t, Analyse(in), "elapsed", "s1", "http", "uds")
	if want := float64(4 * (len(played) - 1)); c.Spread != string(stats.OfTable) || c.Degrees == nil ||
		*c.Degrees != want || want < 8 {
		t.Errorf("spread of the %s with %v degrees of freedom, want the table's %g: 4 blocks by all variants "+
			"but one", c.Spread, *c.Degrees, want)
	}
}

func TestTwinsTestForBiasOnly(t *testing.T) {
	in := table1(t)
	a := Analyse(in)
	floor, ok := a.NoiseFloor["elapsed"]
	if !ok || floor.Low == nil || *floor.Low > 1 || *floor.High < 1 || floor.N != 5 {
		t.Fatalf("A/A = %+v, want an interval around 1 over 5 blocks", floor)
	}
	if a.Margins["elapsed"] != 0.05 || len(a.Biases) > 0 {
		t.Errorf("margin = %g, biases %v, want the design's 0.05 without bias", a.Margins["elapsed"], a.Biases)
	}
	for _, r := range a.Results {
		if r.Variant == "uds.twin" {
			t.Fatal("the twin is among the results")
		}
	}
	for _, c := range a.Comparisons {
		if c.Variant == "uds.twin" || c.Baseline == "uds.twin" {
			t.Fatal("the twin is among the comparisons")
		}
	}
	// A twin that is only noisy is no bias, and does not change the margin.
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Variant == "uds.twin" && trial.Block%2 == 0 {
			trial.ElapsedSeconds *= 30
		}
	}
	noisy := Analyse(in)
	if noisy.Margins["elapsed"] != 0.05 || len(noisy.Biases) > 0 {
		t.Errorf("margin = %g, biases %v under a twin that is 30 times slower every other time",
			noisy.Margins["elapsed"], noisy.Biases)
	}
}

func TestATwinThatIsSlowerEveryTimeIsABias(t *testing.T) {
	a := Analyse(table1(t).shift("uds.twin", "s1", 5, 5, 5, 5, 5))
	if len(a.Biases) == 0 || a.Biases[0].Variant != "uds" || a.Biases[0].Point != "s1" ||
		a.Biases[0].Family == 0 || a.Margins["elapsed"] < 4 {
		t.Fatalf("biases %+v, margin %g: want one of uds at s1, and a margin of what it reaches", a.Biases,
			a.Margins["elapsed"])
	}
	if c := comparisonOf(t, a, "elapsed", "s1", "http", "uds"); c.Verdict != lab.Undecided ||
		!strings.Contains(c.Words, "within the bias of") {
		t.Errorf("3.7x under a bias of 5x is %s: %s", c.Verdict, c.Words)
	}
	if sure := strings.Join(a.Answer.Sure, " "); !strings.Contains(sure, ": a bias, so that differences below") {
		t.Errorf("the answer does not mention it: %s", sure)
	}
	if !slices.ContainsFunc(a.Notes, func(note string) bool {
		return strings.HasPrefix(note, "uds was measured at 5")
	}) {
		t.Errorf("no note of it: %q", a.Notes)
	}
}

// TestTrialsThatDoNotCountStrikeOut: trials under a profiler and trials that were too short are compared with
// none, but what they break is broken.
func TestTrialsThatDoNotCountStrikeOut(t *testing.T) {
	for what, change := range map[string]func(in *Input, broken *lab.Trial){
		"profiled": func(_ *Input, broken *lab.Trial) { broken.Profiled = true },
		"shorter":  func(in *Input, _ *lab.Trial) { in.Trials[len(in.Trials)-1].Lengthened = 2 },
	} {
		in := table1(t)
		i := slices.IndexFunc(in.Trials, func(trial lab.Trial) bool { return trial.Variant == "uds" })
		in.Trials[i].Audit = lab.Audit{Verdict: lab.AuditInvalid, Problems: []string{"3 pongs lost"}}
		in.Trials = append(in.Trials, in.Trials[slices.IndexFunc(in.Trials, func(trial lab.Trial) bool {
			return trial.Variant != "uds" && trial.Point.Name == in.Trials[i].Point.Name
		})])
		change(&in, &in.Trials[i])
		if a := Analyse(in); a.Audit["uds"].Verdict != lab.AuditInvalid || !a.StruckOut("uds") ||
			slices.ContainsFunc(a.Comparisons, func(c lab.Comparison) bool { return c.Variant == "uds" }) {
			t.Errorf("%s: the audit of uds is %+v", what, a.Audit["uds"])
		}
	}
}

func TestAVariantThatBreaksAnInvariantIsStruckOut(t *testing.T) {
	for _, breaker := range []string{"uds", "uds.twin"} {
		t.Run(breaker, func(t *testing.T) {
			in := table1(t)
			i := slices.IndexFunc(in.Trials, func(trial lab.Trial) bool {
				return trial.Variant == breaker && trial.Block == 2
			})
			in.Trials[i].Valid = false
			in.Trials[i].Reason = "audit invalid"
			in.Trials[i].Audit = lab.Audit{Verdict: lab.AuditInvalid, Problems: []string{"3 pongs lost"}}
			again := in.Trials[i]
			again.Attempt = 2
			in.Trials = append(in.Trials, again)
			a := Analyse(in)
			for _, c := range a.Comparisons {
				if c.Variant == "uds" || c.Baseline == "uds" {
					t.Fatalf("uds is still compared: %s over %s", c.Variant, c.Baseline)
				}
			}
			for _, id := range []string{"threads-faster-than-second", "second-faster-by-factor",
				"uds-linear-in-workers"} {
				if c := claimOf(t, a, id); c.Verdict != lab.ClaimUntestable ||
					!strings.Contains(c.Reason, "3 pongs lost") {
					t.Errorf("%s is %s: %s", id, c.Verdict, c.Reason)
				}
			}
			if slices.ContainsFunc(a.Ladder, func(r lab.Rung) bool { return r.Variant == "uds" }) {
				t.Error("uds is on the ladder")
			}
			// The same problem of two attempts at a trial is listed once.
			if sum := a.Audit[breaker]; sum.Verdict != lab.AuditInvalid || len(sum.Problems) != 1 {
				t.Errorf("audit of %s = %+v", breaker, sum)
			}
			if said := strings.Join(a.Answer.Withheld, " "); !strings.Contains(said, "uds is struck out") {
				t.Errorf("the answer does not say it: %s", said)
			}
			if len(a.Trials.Invalid) != 2 || a.Trials.Valid != a.Trials.Planned-1 {
				t.Errorf("trials = %+v", a.Trials)
			}
			if claimOf(t, a, "threads-faster-than-first").Verdict != lab.ClaimSupported {
				t.Error("a claim on other variants fell with it")
			}
			f := a.Published[slices.IndexFunc(a.Published,
				func(f lab.PublishedFigure) bool { return strings.Contains(f.Variant, "second") })]
			if f.Measured != nil || !strings.Contains(f.Reason, "struck out") {
				t.Errorf("published figure of a struck variant: %+v", f)
			}
		})
	}
}

func TestAScaledRunIsComparedPerOperation(t *testing.T) {
	const scale = 0.01
	in := table1(t)
	in.Plan.Study.Design.Scale = scale
	in.Plan.Study.Points = slices.Clone(in.Plan.Study.Points)
	for i, p := range in.Plan.Study.Points {
		in.Plan.Study.Points[i] = scaledPoint(p, scale)
	}
	for i := range in.Trials {
		trial := &in.Trials[i]
		trial.Point = scaledPoint(trial.Point, scale)
		trial.Operations /= 100
		trial.ElapsedSeconds *= scale
	}
	a := Analyse(in)
	for _, f := range a.Published {
		time := f.Unit == "s" || strings.HasPrefix(f.Unit, "ms")
		if says := strings.Contains(f.Reason, "scale 0.01"); says != time {
			t.Errorf("%s (%s): reason %q", f.ID, f.Unit, f.Reason)
		}
		if f.PublishedPerOperation != nil {
			near(t, f.ID+" per operation", f.MeasuredPerOperation, *f.PublishedPerOperation, 2e-3)
		}
	}
	if a.Scale != scale {
		t.Errorf("scale = %g", a.Scale)
	}
}

func scaledPoint(p lab.Point, scale float64) lab.Point {
	levels := map[string]float64{}
	for name, level := range p.Levels {
		levels[name] = level
	}
	levels["pings"] *= scale
	return lab.Point{Name: p.Name, Levels: levels}
}

func TestDocumentIsTakenFromThePlan(t *testing.T) {
	in := table1(t)
	a := Analyse(in)
	if a.Schema != lab.AnalysisSchema || a.Study != "rego2021" || a.Operation != "round trip" ||
		a.Baseline != "threads" || a.Blocks != 5 {
		t.Errorf("head = %s, %s, %s, %s, %d", a.Schema, a.Study, a.Operation, a.Baseline, a.Blocks)
	}
	if n := len(a.Answer.Findings); n < 3 || n > 7 {
		t.Errorf("%d findings, want 3 to 7", n)
	}
	wrong := func(n string) bool { return strings.Contains(n, "y3 intercept -16404 should be -16407.5") }
	if !slices.ContainsFunc(a.Notes, wrong) {
		t.Error("the notes do not say where the study's own arithmetic is wrong")
	}
	if sum := a.Audit["http"]; sum.Verdict != lab.AuditValid || sum.Trials != 45 ||
		sum.Figures["fairness"] != 0.98 || sum.Counts["pings"] != 5*145_000_000 {
		t.Errorf("audit of http = %+v", sum)
	}
	if c := a.Conditions; math.Abs(c.CalibrationMedian-0.1005) > 1e-12 ||
		math.Abs(c.CalibrationSpread-0.001/0.1005) > 1e-9 || c.MaxStealShare != 0 || c.MeterShareMax != 0.01 {
		t.Errorf("conditions = %+v", c)
	}
	// Every family holds the comparisons of one metric.
	for _, c := range a.Comparisons {
		if c.Family != 29 {
			t.Fatalf("family of %d, want 9 + 9 + 9 of three pairs and 2 of uds-persistent", c.Family)
		}
	}
	if in.Published.Figures[0].Ours.Quantity != published.Run {
		t.Error("the first figure is no run")
	}
}

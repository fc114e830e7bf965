package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// shift multiplies the elapsed time of a variant at a point, block by block.
func (in Input) shift(variant, point string, factors ...float64) Input {
	in.Trials = slices.Clone(in.Trials)
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Variant == variant && trial.Point.Name == point {
			trial.ElapsedSeconds *= factors[(trial.Block-1)%len(factors)]
		}
	}
	return in
}

func TestSlowerEverywhereIsMoreThanSlowerSomewhere(t *testing.T) {
	wide := table1(t).shift("http", "s3", 0.1, 1, 0.1, 1, 0.1)
	c := claimOf(t, Analyse(wide), "second-faster-than-first")
	if c.Verdict != lab.ClaimUndecided || !strings.Contains(c.Reason, "at s3") ||
		strings.Contains(c.Reason, "at s1") {
		t.Errorf("with one point that is not clear of 1 the claim is %s: %s", c.Verdict, c.Reason)
	}
	// At s3 the first approach takes as long as the second, to 0.1 %.
	equal := table1(t)
	for i := range equal.Trials {
		if trial := &equal.Trials[i]; trial.Point.Name == "s3" &&
			(trial.Variant == "http" || trial.Variant == "uds") {
			trial.ElapsedSeconds = 100 + float64(trial.Block) +
				map[string]float64{"http": 0.1 * float64(trial.Block%2)}[trial.Variant]
		}
	}
	c = claimOf(t, Analyse(equal), "second-faster-than-first")
	if c.Verdict != lab.ClaimContradicted || !strings.Contains(c.Reason, "at s3 (equivalent") {
		t.Errorf("with one point where both are equal the claim is %s: %s", c.Verdict, c.Reason)
	}
}

func TestBiasOfAnotherVariantDoesNotBlurAComparison(t *testing.T) {
	in := table1(t).shift("uds.twin", "s1", 3, 3, 3, 3, 3)
	biased := Analyse(in)
	if c := comparisonOf(t, biased, "elapsed", "s2", "uds", "threads"); c.Margin < 1 {
		t.Errorf("margin of a variant whose twin differs is %g, want its bias", c.Margin)
	}
	persistent := comparisonOf(t, biased, "elapsed", "s1", "uds-persistent", "threads")
	if persistent.Margin < 1 {
		t.Errorf("margin of two variants without twins is %g, want the largest bias", persistent.Margin)
	}
	in.Plan.Study.Variants = append(in.Plan.Study.Variants, lab.Variant{Name: "http.twin", TwinOf: "http"})
	for _, trial := range in.Trials {
		if trial.Variant == "http" {
			trial.Variant = "http.twin"
			in.Trials = append(in.Trials, trial)
		}
	}
	if c := comparisonOf(t, Analyse(in), "elapsed", "s2", "http",
		"threads"); c.Margin != in.Plan.Study.Design.Margin {
		t.Errorf("margin of a variant whose twin is alike is %g, want the study's %g", c.Margin,
			in.Plan.Study.Design.Margin)
	}
}

func TestAnExponentTakesBlocksWithAllPoints(t *testing.T) {
	in := table1(t).only(func(trial lab.Trial) bool {
		return !(trial.Variant == "uds" && trial.Point.Name == "s3" && trial.Block == 2)
	})
	if c := claimOf(t, Analyse(in), "uds-linear-in-workers"); !strings.Contains(c.Reason, "(4 blocks)") {
		t.Errorf("reason = %s, want 4 blocks", c.Reason)
	}
}

func TestTheLaterOfTwoValidAttemptsCounts(t *testing.T) {
	in := table1(t)
	again := in.Trials[0]
	again.Attempt = 2
	again.ElapsedSeconds = 77
	in.Trials = append(in.Trials, again)
	a := Analyse(in)
	if a.Trials.Valid != a.Trials.Planned {
		t.Errorf("%d of %d trials count", a.Trials.Valid, a.Trials.Planned)
	}
	i := slices.IndexFunc(a.Results, func(r lab.Result) bool {
		return r.Variant == again.Variant && r.Point.Name == again.Point.Name
	})
	if got := a.Results[i].Values[again.Block-1]; got != 77 {
		t.Errorf("value = %g, want that of the second attempt", got)
	}
}

// TestTheLadderStandsAtTheFirstOfEqualPoints: the ladder is shown at the point where most variants ran. If as
// many ran at several points, it is the first of these.
func TestTheLadderStandsAtTheFirstOfEqualPoints(t *testing.T) {
	a := Analyse(table1(t).only(func(trial lab.Trial) bool { return trial.Variant != "uds-persistent" }))
	if a.Ladder[0].Point != "s1" {
		t.Errorf("the ladder stands at %s, want s1", a.Ladder[0].Point)
	}
}

func TestNoTimePerOperationWhereOperationsDoNotGoWithTheFactor(t *testing.T) {
	in := table1(t)
	for i := range in.Trials {
		if in.Trials[i].Point.Name == "s4" {
			in.Trials[i].Operations *= 2
		}
	}
	for _, f := range Analyse(in).Published {
		if strings.Contains(f.Metric, "slope") && strings.Contains(f.Point, "s4") && f.MeasuredPerOperation != nil {
			t.Errorf("%s: %g per operation, though s4 did twice the operations", f.ID, *f.MeasuredPerOperation)
		}
	}
}

// TestAHugeBlockNumberTakesNoTime: the record of a trial may be a stranger's.
func TestAHugeBlockNumberTakesNoTime(t *testing.T) {
	in := table1(t)
	in.Trials[0].Block = 1 << 60
	if a := Analyse(in); a.Trials.Valid != len(in.Trials) {
		t.Errorf("%d trials count, want all %d", a.Trials.Valid, len(in.Trials))
	}
}

func TestZeroHasNoRatioAndIsNotedOnce(t *testing.T) {
	a := Analyse(table1(t).shift("http", "s2", 0, 1, 1, 1, 1))
	if c := comparisonOf(t, a, "elapsed", "s2", "http", "uds"); c.N != 4 {
		t.Errorf("n = %d, want the 4 blocks with a ratio", c.N)
	}
	count := 0
	for _, note := range a.Notes {
		if strings.HasPrefix(note, "elapsed: 1 of ") && strings.Contains(note, "zero or less") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("the zero is noted %d times", count)
	}
}

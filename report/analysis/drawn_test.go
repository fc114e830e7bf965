package analysis

import (
	"math"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestFiguresThatPlotsShow: the script of the page computes no figures, so sums, shares and ratios to a mean
// must be in the document.
func TestFiguresThatPlotsShow(t *testing.T) {
	a := Analyse(shopUnderLoad())
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9+5e-4*math.Abs(want) {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	if len(a.UsageSums) == 0 || len(a.Pictures) == 0 || len(a.Paths) == 0 {
		t.Fatalf("%d sums, %d pictures and %d paths, want some of each", len(a.UsageSums), len(a.Pictures),
			len(a.Paths))
	}
	byRole := map[string]float64{}
	for _, sum := range a.UsageSums {
		var cpu, memory float64
		for _, u := range a.Usages {
			if u.Variant == sum.Variant && u.Point.Name == sum.Point.Name && u.Role != lab.RoleGenerator {
				cpu, memory = cpu+u.CPUPerOperation, memory+u.PeakMemory
				byRole[u.Role] += u.CPUPerOperation
			}
		}
		near("CPU of "+sum.Variant, sum.CPUPerOperation, cpu)
		near("memory of "+sum.Variant, sum.PeakMemory, memory)
	}
	if len(a.Roles) != len(byRole) || !slices.IsSortedFunc(a.Roles, func(x, y string) int {
		return int(math.Copysign(1, byRole[y]-byRole[x]))
	}) {
		t.Errorf("roles %q, want all of %v, the largest first", a.Roles, byRole)
	}
	for _, p := range a.Pictures {
		var shares float64
		for _, part := range p.Parts {
			shares += part.CPUShare
			if part.Name == lab.RoleGenerator && part.CPUShare != 0 {
				t.Errorf("the generator has %g of the CPU of %s", part.CPUShare, p.Variant)
			}
		}
		near("shares of "+p.Variant, shares, 1)
	}
	for _, p := range a.Paths {
		var seconds float64
		for _, k := range p.Kinds {
			seconds += k.Seconds
		}
		near("kinds of a path of "+p.Variant, seconds, p.Seconds)
	}
	for _, r := range a.Results {
		for i, value := range r.Values {
			if r.Mean > 0 {
				near(r.Metric+" of "+r.Variant, r.ToMean[i], value/r.Mean)
			}
		}
	}
}

func TestKindsOfAPath(t *testing.T) {
	got := kindTimes([]lab.Segment{{Kind: "zeal", Seconds: 1}, {Kind: lab.SegmentDatabase, Seconds: 2},
		{Kind: "art", Seconds: 3}, {Kind: lab.SegmentBusiness, Seconds: 4},
		{Kind: lab.SegmentDatabase, Seconds: 5}})
	want := []lab.SegmentTime{{Kind: lab.SegmentBusiness, Seconds: 4}, {Kind: lab.SegmentDatabase, Seconds: 7},
		{Kind: "art", Seconds: 3}, {Kind: "zeal", Seconds: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: known kinds in their order, then others by name", got, want)
	}
}

func TestComparisonsAtRatesThatOneSideDidNotHold(t *testing.T) {
	point := lab.Point{Name: "p"}
	other := lab.Point{Name: "q"}
	comparisons := []lab.Comparison{{Variant: "a", Baseline: "b", Point: point},
		{Variant: "b", Baseline: "a", Point: point}, {Variant: "a", Baseline: "b", Point: other},
		{Variant: "a", Baseline: "c", Point: point}}
	markPiledUp(comparisons, []lab.Curve{
		{Variant: "b", Points: []lab.CurvePoint{{Point: "p"}, {Point: "q", Held: true}}},
		{Variant: "b", Points: []lab.CurvePoint{{Point: "p", Held: true}}}, // of another metric
		{Variant: "a", Points: []lab.CurvePoint{{Point: "p", Held: true}}}})
	for i, want := range []bool{true, true, false, false} {
		if comparisons[i].PiledUp != want {
			t.Errorf("%+v: piled up is %t", comparisons[i], !want)
		}
	}
}

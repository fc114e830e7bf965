package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// closedLoop returns an experiment with a point for each number of users. The throughput of variant one
// follows the law with a contention of 5 % and a coherency of 0.2 %; that of two grows faster than its users.
func closedLoop(blocks int, users ...float64) Input {
	var points []lab.Point
	for _, n := range users {
		points = append(points, at(fmt.Sprintf("u%g", n), lab.FactorUsers, n))
	}
	in := underLoad(points...)
	for block := range blocks {
		for i, p := range points {
			n := p.Levels[lab.FactorUsers]
			// Each block is 2 % faster than the one before, and trials vary by up to 2 %.
			off := 1 + 0.02*float64(block) + 0.01*float64((7*block+3*i)%5-2)
			in.trial("one", p, block+1, map[string]float64{
				"completed_rate": off * 100 * n / (1 + 0.05*(n-1) + 0.002*n*(n-1))})
			in.trial("two", p, block+1, map[string]float64{"completed_rate": off * math.Pow(n, 1.3)})
		}
	}
	return in
}

func TestScalabilityLawsAreFittedAlongUsers(t *testing.T) {
	in := closedLoop(6, 1, 2, 4, 32, 16, 8)
	// Variant two loses a trial of its last block, and with it the whole block.
	in.Trials = in.Trials[:len(in.Trials)-1]
	fits := Analyse(in).ScalingFits
	if len(fits) != 2 {
		t.Fatalf("there are %d fits, want one of each variant: %+v", len(fits), fits)
	}
	one, two := fits[0], fits[1]
	if one.Variant != "one" || one.Factor != lab.FactorUsers || one.Metric != "completed_rate" ||
		one.Blocks != 6 || fmt.Sprint(one.X) != "[1 2 4 8 16 32]" || one.Refused != "" {
		t.Fatalf("the fit is %+v", one)
	}
	for name, e := range map[string]struct {
		*lab.Estimate
		truth float64
	}{"contention": {one.Sigma, 0.05}, "coherency": {one.Kappa, 0.002}, "peak": {one.Peak, math.Sqrt(475)}} {
		if e.Estimate == nil || math.Abs(e.Value/e.truth-1) > 0.2 || !(*e.Low <= e.Value && e.Value <= *e.High) {
			t.Errorf("%s is %+v, want about %g", name, e.Estimate, e.truth)
		}
	}
	last := one.Curve[len(one.Curve)-1]
	if last.Level != 64 || !last.Beyond || one.Curve[0].Level != 1 || one.Curve[0].Beyond {
		t.Errorf("the curve goes from %+v to %+v", one.Curve[0], last)
	}
	if !slices.ContainsFunc(one.Curve, func(p lab.ScalingPoint) bool { return p.Level == 32 && !p.Beyond }) {
		t.Error("the curve does not meet the largest level")
	}
	if !strings.Contains(one.Words, "highest at 2") || !strings.Contains(one.Words, "Extrapolated to 64") {
		t.Errorf("it says %q", one.Words)
	}
	if two.Blocks != 5 || !strings.Contains(two.Refused, "negative") || two.Sigma != nil || two.Curve != nil ||
		!strings.Contains(two.Words, "No scalability law for two along users") {
		t.Errorf("what grows faster than its users gives %+v", two)
	}
	var findings []string
	for _, f := range Analyse(in).Answer.Findings {
		if f.Section == "scalability" {
			findings = append(findings, f.Text)
		}
	}
	if len(findings) != 1 || findings[0] != one.Words {
		t.Errorf("findings are %q", findings)
	}
}

// TestPointsWithoutAScalabilityLaw: an offered rate limits a throughput, and two levels are no row.
func TestPointsWithoutAScalabilityLaw(t *testing.T) {
	rows := func(change func(p *lab.Point)) int {
		in := closedLoop(5, 1, 2, 4, 8, 16, 32)
		for i := range in.Plan.Study.Points {
			p := &in.Plan.Study.Points[i]
			p.Levels = map[string]float64{lab.FactorUsers: p.Levels[lab.FactorUsers]}
			change(p)
		}
		return len(Analyse(in).ScalingFits)
	}
	if n := rows(func(*lab.Point) {}); n != 2 {
		t.Errorf("unchanged there are %d fits, want 2", n)
	}
	if n := rows(func(p *lab.Point) { p.Levels[lab.FactorRate] = 10 }); n != 0 {
		t.Errorf("at an offered rate there are %d fits", n)
	}
	// Another factor leaves rows of two points.
	pairs := func(p *lab.Point) { p.Levels["case"] = math.Mod(math.Log2(p.Levels[lab.FactorUsers]), 3) }
	if n := rows(pairs); n != 0 {
		t.Errorf("of rows of two there are %d fits", n)
	}
	few := Analyse(closedLoop(5, 1, 10, 100)).ScalingFits
	if len(few) != 2 || !strings.Contains(few[0].Refused, "3 levels, and the law needs 6") {
		t.Errorf("of three levels there is %+v", few)
	}
}

// TestTrendsAreAxes: along a trend that the study names, other levels may differ, too.
func TestTrendsAreAxes(t *testing.T) {
	in := closedLoop(5, 1, 2, 4, 8, 16, 32)
	var names []string
	for i, p := range in.Plan.Study.Points {
		in.Plan.Study.Points[i].Levels = map[string]float64{lab.FactorCores: p.Levels[lab.FactorUsers],
			lab.FactorUsers: 8 * p.Levels[lab.FactorUsers]}
		names = append(names, p.Name)
	}
	if fits := Analyse(in).ScalingFits; len(fits) != 0 {
		t.Errorf("two factors at once are %d axes", len(fits))
	}
	in.Plan.Study.Trends = []lab.Trend{{Factor: lab.FactorCores, Points: names}, {Factor: "case", Points: names}}
	if fits := Analyse(in).ScalingFits; len(fits) != 2 || fits[0].Factor != lab.FactorCores {
		t.Errorf("along the trend there is %+v", fits)
	}
}

// TestVariantsWithOtherReplicasAreARow: if variants differ in the replicas of one unit alone, the law is
// fitted along their number, and refused as along any factor.
func TestVariantsWithOtherReplicasAreARow(t *testing.T) {
	replicas := []int{8, 1, 2, 6, 3, 4} // in no order
	fits := func(point lab.Point, count int, change func(v *lab.Variant, n int)) []lab.ScalingFit {
		in := underLoad(point)
		in.Plan.Study.Variants = nil
		for _, n := range replicas[:count] {
			v := lab.Variant{Name: fmt.Sprintf("cart-%d", n), Replicas: map[string]int{"cart": n, "web": 1}}
			change(&v, n)
			in.Plan.Study.Variants = append(in.Plan.Study.Variants, v)
			for block := range 6 {
				off := 1 + 0.01*float64((7*block+3*n)%5-2)
				in.trial(v.Name, point, block+1, map[string]float64{
					"completed_rate": off * 100 * float64(n) / (1 + 0.2*float64(n-1))})
			}
		}
		return Analyse(in).ScalingFits
	}
	same := func(*lab.Variant, int) {}
	users := at("u8", lab.FactorUsers, 8)
	all := fits(users, 6, func(v *lab.Variant, n int) {
		if n == 1 {
			v.Replicas = nil // means the same: one replica of each unit
		}
	})
	if len(all) != 1 || all[0].Factor != "cart.replicas" || all[0].Refused != "" ||
		fmt.Sprint(all[0].X, all[0].Variants) != "[1 2 3 4 6 8] [cart-1 cart-2 cart-3 cart-4 cart-6 cart-8]" ||
		all[0].From() != "cart-1 to cart-8 at u8" || math.Abs(all[0].Sigma.Value-0.2) > 0.02 ||
		!strings.Contains(all[0].Words, "Along cart.replicas (cart-1 to cart-8 at u8) the system has contention ") {
		t.Fatalf("six variants give %+v", all)
	}
	if few := fits(users, 3, same); len(few) != 1 || !strings.Contains(few[0].Refused, "the law needs 6") {
		t.Errorf("three variants give %+v", few)
	}
	if none := fits(at("r8", lab.FactorRate, 8), 6, same); len(none) != 0 {
		t.Errorf("at an offered rate there is %+v", none)
	}
	for name, change := range map[string]func(v *lab.Variant, n int){
		"other replicas": func(v *lab.Variant, n int) { v.Replicas["web"] = n },
		"other knobs":    func(v *lab.Variant, n int) { v.Knobs = map[string]string{"k": fmt.Sprint(n)} },
		"another system": func(v *lab.Variant, n int) { v.External = &lab.ExternalSystem{Port: n} },
	} {
		if none := fits(users, 6, change); len(none) != 0 {
			t.Errorf("with %s there is %+v", name, none)
		}
	}
}

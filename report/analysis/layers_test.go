package analysis

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// profiledShop returns the shop under load with profiles of the monolith and of the services in the first
// three blocks at one rate. Libraries take 60 % of the CPU time of the monolith and 80 % of that of the
// services. Profiled trials take twice the CPU time.
func profiledShop() Input {
	in := shopUnderLoad()
	in.Plan.Study.Metrics = append(in.Plan.Study.Metrics, lab.ProfiledMetric())
	for _, variant := range []string{"monolith", "sync"} {
		for _, timed := range slices.Clone(in.Trials) {
			if timed.Variant != variant || timed.Point.Name != "at-80" || timed.Block > 3 || timed.Profiled {
				continue
			}
			library := map[string]float64{"monolith": 6, "sync": 8}[variant]
			more := timed
			more.Number = len(in.Trials) + 1
			more.Profiled = true
			more.Measures = map[string]float64{"cpu_per_operation": 2 * timed.Measures["cpu_per_operation"],
				"completion_time_p99": 99}
			more.Layers = []lab.RoleLayers{
				{Role: "shop", Runtime: "java", Samples: 100,
					Seconds: map[lab.Layer]float64{lab.LayerHTTP: library, lab.LayerKernel: 1}},
				{Role: "database", Seconds: map[lab.Layer]float64{lab.LayerUnseen: 9 - library}},
			}
			in.Trials = append(in.Trials, more)
			in.Plan.Trials = append(in.Plan.Trials, lab.PlannedTrial{Number: more.Number, Block: more.Block,
				Variant: variant, Point: "at-80", Profiled: true})
		}
	}
	return in
}

func TestProfiledTrialsAreInNoComparison(t *testing.T) {
	in := profiledShop()
	without := in // made-up figures differ in their last digits when they are made again
	without.Trials = slices.DeleteFunc(slices.Clone(in.Trials), func(t lab.Trial) bool { return t.Profiled })
	without.Plan.Trials = slices.DeleteFunc(slices.Clone(in.Plan.Trials),
		func(t lab.PlannedTrial) bool { return t.Profiled })
	plain := Analyse(without)
	profiled := Analyse(in)
	timed := func(a lab.Analysis) []lab.Result {
		return slices.DeleteFunc(slices.Clone(a.Results),
			func(r lab.Result) bool { return r.Metric == lab.ProfiledMetric().Name })
	}
	for what, differ := range map[string]bool{
		"results": !reflect.DeepEqual(timed(plain), timed(profiled)),
		"counts":  !reflect.DeepEqual(plain.Trials, profiled.Trials),
		"audits":  !reflect.DeepEqual(plain.Audit, profiled.Audit),
	} {
		if differ {
			t.Errorf("%s differ from those without profiled trials", what)
		}
	}
	if len(plain.Layers) != 0 || len(profiled.Layers) != 2 {
		t.Fatalf("layers of %d and %d variants, want none and two", len(plain.Layers), len(profiled.Layers))
	}
}

func TestLayersAreSharesOfTheTimedCost(t *testing.T) {
	a := Analyse(profiledShop())
	l := a.Layers[0]
	mean := 0.0
	for _, r := range a.Results {
		if r.Variant == "monolith" && r.Point.Name == "at-80" && r.Metric == "cpu_per_operation" {
			mean = r.Mean
		}
	}
	near := func(what string, got, want float64) {
		if math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	near("the timed cost", l.CPUPerOperation, mean)
	near("libraries", l.Libraries, 0.6*mean)
	near("the kernel", l.Layers[1].PerOperation, 0.1*mean)
	if l.Variant != "monolith" || l.Trials != 3 || l.Samples != 300 || len(l.Layers) != 3 || len(l.Roles) != 3 ||
		!slices.Equal(l.Runtimes, []string{"java"}) {
		t.Errorf("layers %+v", l)
	}
	if l.ProfiledCPUPerOperation < 1.8*mean {
		t.Errorf("under the profiler an order takes %g s, want about %g", l.ProfiledCPUPerOperation, 2*mean)
	}
}

// TestProfilesInAnyOrderAndWithGaps: the records come in any order, one of them has no CPU time and counts in
// no mean, and the first one lacks a role and the cost of an operation.
func TestProfilesInAnyOrderAndWithGaps(t *testing.T) {
	in := profiledShop()
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Profiled && trial.Variant == "monolith" {
			switch trial.Block {
			case 1:
				trial.Layers = trial.Layers[:1]
				trial.Layers[0].Seconds = map[lab.Layer]float64{lab.LayerHTTP: 6, lab.LayerKernel: 4}
				delete(trial.Measures, "cpu_per_operation")
			case 2:
				trial.Layers = []lab.RoleLayers{{Role: "shop"}}
				trial.Measures["cpu_per_operation"] = 1000
			default:
				trial.Measures["cpu_per_operation"] = 7
			}
		}
	}
	slices.Reverse(in.Trials)
	a := Analyse(in)
	l := a.Layers[0]
	if l.Variant != "monolith" || math.Abs(l.Libraries/l.CPUPerOperation-0.6) > 1e-9 {
		t.Errorf("libraries take %g of %g s, want 60 %%", l.Libraries, l.CPUPerOperation)
	}
	if l.Trials != 2 || l.ProfiledCPUPerOperation != 7 {
		t.Errorf("%d trials with a mean of %g s, want two, one of which measured 7 s", l.Trials,
			l.ProfiledCPUPerOperation)
	}
	if !slices.ContainsFunc(l.Roles, func(r lab.RoleLayerTime) bool { return r.Role == "database" }) {
		t.Errorf("roles %+v, want the database among them", l.Roles)
	}
	for _, r := range a.Results {
		if r.Metric == lab.ProfiledMetric().Name && !slices.IsSorted(r.Blocks) {
			t.Errorf("the blocks of %s are %v, want them in order", r.Variant, r.Blocks)
		}
	}
}

// TestInstructionsAreThoseOfAnOperation: the counts per second of CPU time are scaled to the CPU time of an
// operation. Trials without counts are ignored.
func TestInstructionsAreThoseOfAnOperation(t *testing.T) {
	in := profiledShop()
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Profiled && trial.Variant == "monolith" && trial.Block < 3 {
			trial.Measures["cpu_per_operation"] = 0.002
			trial.Layers[0].Instructions = 20e9
			trial.Layers[0].Cycles = 10e9 // in 10 s
		}
	}
	for _, l := range Analyse(in).Layers {
		want := lab.LayerShare{}
		if l.Variant == "monolith" {
			want.Instructions = 4e6
			want.Cycles = 2e6
		}
		if math.Abs(l.Instructions-want.Instructions) > 1 || math.Abs(l.Cycles-want.Cycles) > 1 {
			t.Errorf("%s takes %g instructions and %g cycles, want %g and %g", l.Variant, l.Instructions, l.Cycles,
				want.Instructions, want.Cycles)
		}
	}
}

// TestLibrariesAreCompared: by block, each by its share in the timed cost of that block.
func TestLibrariesAreCompared(t *testing.T) {
	a := Analyse(profiledShop())
	libraries := comparisonOf(t, a, lab.ProfiledMetric().Name, "at-80", "sync", "monolith")
	all := comparisonOf(t, a, "cpu_per_operation", "at-80", "sync", "monolith")
	if libraries.N != 3 || libraries.Low == nil || all.N != 6 ||
		math.Abs(libraries.Ratio.Ratio/all.Ratio.Ratio/(8.0/6)-1) > 0.1 {
		t.Errorf("libraries %.3f of %d blocks, all %.3f of %d: want the former about 8/6 of the latter",
			libraries.Ratio.Ratio, libraries.N, all.Ratio.Ratio, all.N)
	}
}

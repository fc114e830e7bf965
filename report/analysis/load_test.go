package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// underLoad returns a study of two variants and a twin under load, without trials.
func underLoad(points ...lab.Point) Input {
	metrics := []lab.Metric{
		{Name: "completion_time_p99", Title: "time", Unit: "s", Better: lab.LowerIsBetter, Kind: lab.KindTime,
			Quantity: lab.CompletionTime, Quantile: 0.99, Source: lab.FromSystem},
		{Name: "completed_rate", Title: "rate", Unit: "1/s", Better: lab.HigherIsBetter, Kind: lab.KindRate,
			Quantity: lab.CompletedRate, Source: lab.FromSystem},
		{Name: "capacity", Title: "capacity", Unit: "1/s", Better: lab.HigherIsBetter, Kind: lab.KindRate,
			Quantity: lab.Capacity, Source: lab.FromGenerator},
		{Name: "cpu_per_operation", Title: "CPU", Unit: "s", Better: lab.LowerIsBetter, Kind: lab.KindCost,
			Quantity: lab.CPU, Per: lab.PerOperation, Source: lab.FromMeter},
	}
	variants := []lab.Variant{{Name: "one"}, {Name: "two"}, {Name: "one.twin", TwinOf: "one"}}
	return Input{Plan: lab.Plan{Study: lab.Study{Baseline: "one", Variants: variants, Points: points,
		Metrics: metrics,
		Design:  lab.Design{Blocks: 3, Confidence: 0.95, Margin: 0.05}}}}
}

// at returns a point with one level.
func at(name, factor string, level float64) lab.Point {
	return lab.Point{Name: name, Levels: map[string]float64{factor: level}}
}

// trial adds a valid trial and returns it, so that the test can change it.
func (in *Input) trial(variant string, point lab.Point, block int, measures map[string]float64) *lab.Trial {
	in.Trials = append(in.Trials, lab.Trial{Number: len(in.Trials) + 1, Attempt: 1, Block: block,
		Variant: variant, Point: point, Valid: true,
		Measures: measures, Audit: lab.Audit{Verdict: lab.AuditValid, Figures: map[string]float64{}}})
	return &in.Trials[len(in.Trials)-1]
}

func TestCurvesFollowTheOfferedRate(t *testing.T) {
	fast := at("fast", lab.FactorRate, 100)
	slow := at("slow", lab.FactorPerMinute, 600)
	closed := at("closed", "users", 5)
	in := underLoad(fast, slow, closed)
	for block, seconds := range []float64{0.3, 0.1, 0.2} {
		in.trial("one", fast, block+1, map[string]float64{"completion_time_p99": seconds, "capacity": 120})
		in.trial("one", slow, block+1, map[string]float64{"completion_time_p99": seconds / 10})
		in.trial("one.twin", fast, block+1, map[string]float64{"completion_time_p99": seconds})
		in.trial("two", closed, block+1, map[string]float64{"completion_time_p99": seconds})
	}
	in.trial("two", fast, 1, map[string]float64{"completion_time_p99": 9}).Audit.Verdict = lab.AuditInvalid
	curves := Analyse(in).Curves
	if len(curves) != 1 || curves[0].Variant != "one" || curves[0].Metric != "completion_time_p99" ||
		curves[0].Unit != "s" {
		t.Fatalf("curves %+v, want the one of variant one: no twin, no capacity, no variant that broke an "+
			"invariant, no closed loop", curves)
	}
	points := curves[0].Points
	if len(points) != 2 || points[0].Point != "slow" || points[0].Offered != 10 || points[0].Median != 0.02 ||
		points[1].Offered != 100 || points[1].Median != 0.2 ||
		!slices.Equal(points[1].Values, []float64{0.3, 0.1, 0.2}) {
		t.Errorf("points %+v, want slow at 10/s before fast at 100/s with their medians", points)
	}
}

func TestOfferedRateComesFromTheAuditsWhereNoFactorSetsIt(t *testing.T) {
	point := at("own", "customers", 10)
	in := underLoad(point)
	in.trial("one", point, 1, map[string]float64{"completed_rate": 6}).Audit.Figures[lab.FigureOffered] = 7
	curves := Analyse(in).Curves
	if len(curves) != 1 || curves[0].Points[0].Offered != 7 {
		t.Errorf("curves %+v, want one at 7/s", curves)
	}
}

func TestHeld(t *testing.T) {
	type figures = map[string]float64
	e := &experiment{study: underLoad().Plan.Study}
	for _, c := range []struct {
		name     string
		figures  figures
		measures figures
		want     bool
	}{
		{"nothing known", figures{}, nil, true},
		{"achieved", figures{lab.FigureOffered: 100, lab.FigureAchieved: 99.5}, nil, true},
		{"not achieved", figures{lab.FigureOffered: 100, lab.FigureAchieved: 98}, nil, false},
		{"the audit knows better", figures{lab.FigureOffered: 100, lab.FigureAchieved: 98, lab.FigureHeld: 1}, nil,
			true},
		{"the audit says no", figures{lab.FigureOffered: 100, lab.FigureAchieved: 100, lab.FigureHeld: 0}, nil,
			false},
		{"begun but piled up", figures{lab.FigureOffered: 100, lab.FigureAchieved: 100},
			figures{"completed_rate": 90}, false},
		{"begun and completed", figures{lab.FigureOffered: 100, lab.FigureAchieved: 100},
			figures{"completed_rate": 97}, true},
		{"completed late, as the audit knows", figures{lab.FigureOffered: 100, lab.FigureHeld: 1},
			figures{"completed_rate": 90}, true},
	} {
		if got := e.held(lab.Trial{Audit: lab.Audit{Figures: c.figures}, Measures: c.measures}); got != c.want {
			t.Errorf("%s: held is %t, want %t", c.name, got, c.want)
		}
	}
	good := lab.Trial{}
	bad := lab.Trial{Audit: lab.Audit{Figures: figures{lab.FigureHeld: 0}}}
	if allOf([]lab.Trial{good, good, bad}, e.held) || !allOf([]lab.Trial{good, good}, e.held) {
		t.Error("a point is held where all of its trials held")
	}
}

func TestSpectraAreMediansOverTrials(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	for block, value := range []float64{0.0312345, 0.01, 0.02} {
		quantiles := []lab.Quantile{{Share: 0.5, Value: value}}
		if block == 0 {
			quantiles = append(quantiles, lab.Quantile{Share: 0.99, Value: 7})
		}
		in.trial("one", point, block+1, nil).Spectra = map[string][]lab.Quantile{lab.ResponseTime: quantiles}
	}
	spectra := Analyse(in).Spectra
	if len(spectra) != 1 || len(spectra[0].Trials) != 3 {
		t.Fatalf("spectra %+v, want one of three trials", spectra)
	}
	if first := spectra[0].Trials[0]; len(first) != 2 || first[0].Value != 0.03123 {
		t.Errorf("first trial %+v, want 0.03123 in four digits", first)
	}
	if want := []lab.Quantile{{Share: 0.5, Value: 0.02}}; !slices.Equal(spectra[0].Median, want) {
		t.Errorf("median %+v, want %+v: one trial of three says nothing of the 99th percentile", spectra[0].Median,
			want)
	}
}

func TestSignificant(t *testing.T) {
	for value, want := range map[float64]float64{0: 0, 0.00123456: 0.001235, 98764: 98760, -1.23456: -1.235,
		5e-320: 5e-320} {
		if got := significant(value); got != want {
			t.Errorf("significant(%v) = %v, want %v", value, got, want)
		}
	}
}

func TestUsagesAddUpToTheCostOfAnOperation(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	trial := in.trial("one", point, 1, map[string]float64{"cpu_per_operation": 0.004})
	trial.Metered = lab.Metered{WindowSeconds: 10, Roles: map[string]lab.Usage{
		lab.RoleGenerator: {CPUSeconds: 2, PeakMemoryBytes: 5}, "orders": {CPUSeconds: 3, PeakMemoryBytes: 7},
		"database": {CPUSeconds: 1, Unavailable: map[string]string{"peak_memory_bytes": "no"}},
	}}
	var roles []string
	var sum float64
	for _, u := range Analyse(in).Usages {
		roles = append(roles, u.Role)
		if u.Role != lab.RoleGenerator {
			sum += u.CPUPerOperation
		}
		if u.Role == "orders" && (u.CPUShare != 0.3 || u.PeakMemory != 7) ||
			u.Role == "database" && u.PeakMemory != 0 {
			t.Errorf("%+v: want 30 %% of a processor, 7 bytes of the orders and none of the database", u)
		}
	}
	if !slices.Equal(roles, []string{"database", "orders", lab.RoleGenerator}) || math.Abs(sum-0.004) > 1e-15 {
		t.Errorf("roles %v cost %v per operation, want 0.004 over database and orders, the generator last", roles,
			sum)
	}
	job := table1(t)
	job.Trials[0].Metered.Roles = map[string]lab.Usage{"worker": {CPUSeconds: 1}}
	if usages := Analyse(job).Usages; usages != nil {
		t.Errorf("a job has %d usages, want none", len(usages))
	}
}

func TestUsageByThePlatformIsSummedByRole(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	for i, millicores := range []float64{100, 200, 600} {
		trial := in.trial("one", point, i+1, map[string]float64{"cpu_per_operation": 0.004})
		trial.Metered.Roles = map[string]lab.Usage{"front": {CPUSeconds: 1}, "other": {CPUSeconds: 1}}
		for _, unit := range []string{"front-1", "front-2"} {
			trial.Metered.Platform = append(trial.Metered.Platform,
				lab.PlatformUsage{Unit: unit, Role: "front", Source: "metrics-server", Samples: 3,
					WindowSeconds: 10, Millicores: millicores, MostMillicores: 2 * millicores,
					GroupMillicores: millicores + 1, LagSeconds: 12})
		}
	}
	usages := Analyse(in).Usages
	want := lab.PlatformUsage{Role: "front", Source: "metrics-server", Samples: 18, WindowSeconds: 10,
		Millicores: 400, MostMillicores: 800,
		GroupMillicores: 402, LagSeconds: 12}
	if p := usages[0].Platform; usages[0].Role != "front" || p == nil || *p != want {
		t.Errorf("front is %+v (%+v), want %+v", usages[0], p, want)
	}
	if usages[1].Platform != nil {
		t.Errorf("the platform reported nothing of %s, and it has %+v", usages[1].Role, usages[1].Platform)
	}
}

func TestUsageOfAForeignSystemIsByProcess(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	in.Plan.Study.Variants[0].External = &lab.ExternalSystem{}
	trial := in.trial("one", point, 1, map[string]float64{"cpu_per_operation": 0.004})
	trial.Metered = lab.Metered{WindowSeconds: 10,
		Roles: map[string]lab.Usage{lab.RoleGenerator: {CPUSeconds: 2}, "system": {CPUSeconds: 16}}}
	for n := range 16 {
		trial.Metered.Processes = append(trial.Metered.Processes,
			lab.ProcessUsage{Name: fmt.Sprintf("service-%02d", n), CPUSeconds: 1, PeakMemoryBytes: 7})
	}
	trial.Metered.Processes[3] = lab.ProcessUsage{Name: "dear", CPUSeconds: 1.5, PeakMemoryBytes: 9,
		ReceivedBytes: 300, SentBytes: 100}
	trial.Metered.Processes[4].CPUSeconds = 0.5
	usages := Analyse(in).Usages
	var sum float64
	for _, u := range usages[:len(usages)-1] {
		sum += u.CPUPerOperation
	}
	if first := usages[0]; first.Role != "dear" || first.CPUShare != 0.15 || first.PeakMemory != 9 ||
		math.Abs(first.NetworkPerOperation-0.1) > 1e-12 {
		t.Errorf("the dearest is %+v, want dear with 15 %% of a processor, 9 bytes, and 0.1 bytes of network per "+
			"operation", first)
	}
	if len(usages) != mostProcesses+2 || usages[mostProcesses].Role != "4 others" ||
		usages[mostProcesses].PeakMemory != 28 || math.Abs(sum-0.004) > 1e-15 {
		t.Errorf("%d usages that cost %v per operation, want 12, 4 others and the generator, together 0.004: %+v",
			len(usages), sum, usages)
	}
}

func TestCoursesAreRatesAndTimesBySecond(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	median := 0.00123456
	in.trial("one", point, 1, nil).Course = []lab.Slice{{End: 1, OK: 10, Median: &median}, {End: 1.5, OK: 10},
		{End: 1.6, OK: 10}}
	in.trial("two", point, 1, nil)
	found := Analyse(in).Courses
	if len(found) != 1 || found[0].Variant != "one" || !slices.Equal(found[0].End, []float64{1, 1.5}) ||
		!slices.Equal(found[0].Rate, []float64{10, 20}) {
		t.Fatalf("%+v, want one course of 10 and 20 right answers per second", found)
	}
	if c := found[0]; *c.Median[0] != 0.001235 || c.Median[1] != nil || c.P99[0] != nil {
		t.Errorf("%+v, want a median of 1.235 ms and no other times", c)
	}
}

func TestOutcomesAreByOperation(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	for block, median := range []float64{1, 4, 2} {
		in.trial("one", point, block+1, nil).ByOperation = []lab.OperationOutcome{{Name: "buy", Sent: 10, OK: 9,
			Errors: map[string]int64{"timeout": 1}, Median: median, P99: 7, Longest: 8}, {Name: "never"}}
	}
	late := in.trial("one", point, 4, nil)
	late.Late = true
	late.ByOperation = []lab.OperationOutcome{{Name: "buy", Sent: 10, OK: 9,
		Errors: map[string]int64{"timeout": 1}, Median: 50, P99: 60, Longest: 70}}
	found := Analyse(in).Operations
	if len(found) != 2 || found[0].Sent != 40 || found[0].Wrong != 0.1 || found[0].Errors["timeout"] != 4 ||
		found[0].Median != 2 || found[0].Longest != 8 {
		t.Errorf("%+v, want 40 of buy, 4 of them timed out, with a median of 2 s without the late trial", found)
	}
	if len(found) == 2 && (found[1].Name != "never" || found[1].Sent != 0 || found[1].Median != 0) {
		t.Errorf("%+v, want an operation that was never sent", found[1])
	}
}

func TestUsagesWithoutACostAreDividedByTheTrialsOwnCount(t *testing.T) {
	trial := lab.Trial{Operations: 50,
		Metered: lab.Metered{Roles: map[string]lab.Usage{"orders": {CPUSeconds: 1}}}}
	if got := (&experiment{}).roleUsage("one", lab.Point{}, "orders",
		[]lab.Trial{trial}).CPUPerOperation; got != 0.02 {
		t.Errorf("CPU per operation %v, want 0.02", got)
	}
}

func TestPathsAreThoseOfTheMedianTrial(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	path := func(share, seconds float64) lab.Path {
		return lab.Path{Share: share, Seconds: seconds,
			Segments: []lab.Segment{{Seconds: seconds, Kind: lab.SegmentDatabase}}}
	}
	for block, seconds := range []float64{4, 1, 3, 2} {
		in.trial("one", point, block%3+1, nil).Block = block + 1
		in.Trials[len(in.Trials)-1].Paths = []lab.Path{path(0.99, seconds), path(lab.PathMean, seconds/2),
			{Share: 0.5}}
	}
	paths := Analyse(in).Paths
	if len(paths) != 2 || paths[0].Share != lab.PathMean || paths[0].Seconds != 1 || paths[1].Share != 0.99 ||
		paths[1].Seconds != 2 || paths[1].Trial != 4 {
		t.Errorf("paths %+v, want the mean and the 99th percentile of trial 4, and none without segments", paths)
	}
}

func TestNotesSayWhatBoundsALoad(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	in.Environment = lab.Environment{processors: {Value: float64(2)}}
	trial := in.trial("one", point, 1, map[string]float64{"completed_rate": 8})
	trial.Audit.Figures[lab.FigureOffered] = 10
	trial.Metered = lab.Metered{WindowSeconds: 10,
		Roles: map[string]lab.Usage{lab.RoleGenerator: {CPUSeconds: 2}, "orders": {CPUSeconds: 3}}}
	limited := in.trial("two", point, 1, nil)
	limited.Valid = false
	limited.Audit.Verdict = lab.AuditUnknown
	limited.Audit.Figures[lab.FigureLimited] = 1
	again := in.trial("two", point, 1, nil)
	*again = *limited
	again.Attempt++
	notes := strings.Join(Analyse(in).Notes, "\n")
	for _, want := range []string{"generator, not the system, was the limit in 2 attempts (two at p)",
		"not held: one at p (10/s)",
		"share the 2 processors of one host", "from 20 % of one processor"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
	late := in.trial("two", point, 2, map[string]float64{"completed_rate": 8})
	late.Late = true
	late.Unmeasured = map[string]string{"completion_time_p99": "it sent late"}
	const lacks = "sent late in 1 trial, which may have moved times there; these are left out, and the rest " +
		"counts: completion_time_p99 of two at p."
	if notes := strings.Join(Analyse(in).Notes, "\n"); !strings.Contains(notes, lacks) {
		t.Errorf("no note says what a late trial lacks:\n%s", notes)
	}
	for _, shared := range []bool{true, false} {
		in.Trials[0].Clocks = lab.NewClocks([]lab.ClockReading{{Unit: lab.RoleGenerator, Shared: true},
			{Unit: "orders", Shared: shared}, {Unit: "front"}}, nil)
		notes := strings.Join(Analyse(in).Notes, "\n")
		if strings.Contains(notes, "one host") != shared {
			t.Errorf("the orders run on the host of the generator: %t; the notes are\n%s", shared, notes)
		}
	}
	in.Trials[0].Clocks = lab.NewClocks([]lab.ClockReading{{Unit: lab.RoleGenerator, Shared: true}}, nil)
	if notes := strings.Join(Analyse(in).Notes, "\n"); !strings.Contains(notes, "one host") {
		t.Errorf("the system's host is unknown, yet no note says that the generator may share it:\n%s", notes)
	}
	in.Trials[0].Clocks = nil
	in.Trials[0].Metered.Roles = map[string]lab.Usage{lab.RoleGenerator: {CPUSeconds: 2}}
	if notes := strings.Join(Analyse(in).Notes, "\n"); strings.Contains(notes, "one host") {
		t.Errorf("the system ran elsewhere, but shares the host:\n%s", notes)
	}
}

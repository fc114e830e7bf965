package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// kitchen is an experiment that doubles each of three units in turn.
type kitchen struct {
	gain map[string]float64 // throughput with two of a unit / with one
	cpu  map[string]float64 // CPU that a unit uses, as a share of its limit
	path []lab.Segment      // the mean critical path
}

// input returns the experiment at one point, which sets the named factor, such as lab.FactorUsers, to 16.
func (k kitchen) input(level string) Input {
	const seconds, limit = 10.0, 0.2
	s := lab.Study{
		Schema: lab.StudySchema, Name: "bottleneck", System: "kitchen", Baseline: "base",
		Design: lab.Design{Blocks: 6, Margin: 0.05, Confidence: 0.95},
		Points: []lab.Point{{Name: "busy", Levels: map[string]float64{level: 16}}},
		Load:   &lab.Load{Duration: seconds},
		Metrics: []lab.Metric{{Name: "goodput", Title: "meals per second", Unit: "1/s", Better: lab.HigherIsBetter,
			Kind: lab.KindRate, Quantity: "goodput", Source: lab.FromGenerator}},
	}
	limits := map[string]lab.Limits{lab.AllUnits: {CPU: limit}}
	s.Variants = []lab.Variant{{Name: "base", System: "kitchen", Limits: limits}}
	gains := map[string]float64{"base": 1}
	for _, unit := range []string{"cook", "oven", "waiter"} {
		s.Variants = append(s.Variants, lab.Variant{Name: unit + "-x2", System: "kitchen", Limits: limits,
			Replicas: map[string]int{unit: 2}})
		gains[unit+"-x2"] = k.gain[unit]
	}
	in := Input{System: lab.SystemInfo{Name: "kitchen", Operation: "meal"}}
	for block := 1; block <= s.Design.Blocks; block++ {
		for i, v := range s.Variants {
			trial := lab.Trial{
				Number: len(in.Trials) + 1, Attempt: 1, Block: block, Variant: v.Name, Point: s.Points[0], Valid: true,
				Operations: 1000,
				Audit:      lab.Audit{Verdict: lab.AuditValid},
				Measures:   map[string]float64{"goodput": 100 * gains[v.Name] * (1 + 0.01*float64((block+i)%3))},
				Metered:    lab.Metered{WindowSeconds: seconds, Roles: map[string]lab.Usage{}},
			}
			for unit, share := range k.cpu {
				trial.Metered.Roles[unit] = lab.Usage{Units: 1, CPUSeconds: share * limit * seconds}
			}
			if len(k.path) > 0 {
				trial.Paths = []lab.Path{{Share: lab.PathMean, Seconds: 1, Segments: k.path}}
			}
			in.Trials = append(in.Trials, trial)
		}
	}
	in.Plan = lab.Plan{Schema: lab.PlanSchema, Profile: "full", Study: s}
	return in
}

func bottleneckOf(t *testing.T, in Input) lab.Bottleneck {
	t.Helper()
	a := Analyse(in)
	if len(a.Bottlenecks) != 1 {
		t.Fatalf("%d bottlenecks, want 1", len(a.Bottlenecks))
	}
	if a.Answer.Sentence != a.Bottlenecks[0].Answer[0] {
		t.Errorf("the report begins with %q, want %q", a.Answer.Sentence, a.Bottlenecks[0].Answer[0])
	}
	return a.Bottlenecks[0]
}

// TestTheAnswerOfAStudyThatScalesUnitsBeginsWithTheBottleneck: also if the study has claims.
func TestTheAnswerOfAStudyThatScalesUnitsBeginsWithTheBottleneck(t *testing.T) {
	in := kitchen{gain: map[string]float64{"cook": 1.5, "oven": 1, "waiter": 1}}.input(lab.FactorUsers)
	in.Plan.Study.Claims = []lab.Claim{{ID: "more", Kind: "more", Metric: "goodput", Variant: "cook-x2",
		Against: "base"}}
	a := Analyse(in)
	if first := a.Bottlenecks[0].Answer[0]; !strings.HasPrefix(a.Answer.Sentence, first+" ") ||
		!strings.Contains(a.Answer.Sentence, "with cook-x2") {
		t.Errorf("the report begins with %q, want %q and what the variants are", a.Answer.Sentence, first)
	}
}

func wantAnswer(t *testing.T, b lab.Bottleneck, parts ...string) {
	t.Helper()
	all := strings.Join(b.Answer, "\n")
	for _, part := range parts {
		if !strings.Contains(all, part) {
			t.Errorf("the answer does not say %q:\n%s", part, all)
		}
	}
}

// TestSpansOfServicesAreSignals: the time that callers wait outside of the spans of a service counts as
// queueing before it.
func TestSpansOfServicesAreSignals(t *testing.T) {
	in := kitchen{gain: map[string]float64{"cook": 1.5, "oven": 1, "waiter": 1}}.input(lab.FactorUsers)
	part := func(service, operation string, kind lab.SegmentKind, path float64) lab.PartCost {
		at := lab.TracePart{Service: service, Operation: operation, Kind: kind}
		return lab.PartCost{TracePart: at, Path: path}
	}
	for i := range in.Trials {
		batch := lab.TraceBatch{Seconds: 0.1, Parts: []lab.PartCost{
			part("waiter", "GET /", lab.SegmentBusiness, 0.02),
			part("waiter", "GET to cook", lab.SegmentTransport, 0.03),
			part("cook", "GET /meal", lab.SegmentBusiness, 0.05)}}
		in.Trials[i].Traced = &lab.TraceSet{Operations: []lab.TracedOperation{{Service: "waiter", Traces: 5,
			Batches: []lab.TraceBatch{batch}}}}
	}
	b := bottleneckOf(t, in)
	wantAnswer(t, b, "Queueing would have told: it points to cook, which had operations wait 30.0 ms",
		"Critical path would have told: it points to cook, which was 50 % of the critical path")
	for _, d := range b.Doubled {
		if d.Unit == "oven" && (d.Queueing != nil || d.PathShare != nil) {
			t.Errorf("oven has no spans, and these signals: %+v", d)
		}
	}
}

// TestOnlyOneUnitIsScaled: a variant that has less of another unit, or another network, does not scale a
// unit.
func TestOnlyOneUnitIsScaled(t *testing.T) {
	base := lab.Variant{Name: "base", Replicas: map[string]int{"oven": 2}}
	for name, c := range map[string]struct {
		variant lab.Variant
		want    string
	}{
		"more":            {lab.Variant{Replicas: map[string]int{"oven": 3}}, "oven"},
		"one more":        {lab.Variant{Replicas: map[string]int{"oven": 2, "cook": 2}}, "cook"},
		"instead":         {lab.Variant{Replicas: map[string]int{"cook": 2}}, ""},
		"another network": {lab.Variant{Replicas: map[string]int{"oven": 3}, Network: lab.Network{Delay: 1}}, ""},
		"autoscaled": {lab.Variant{Replicas: map[string]int{"oven": 3},
			Autoscale: map[string]lab.Autoscale{"cook": {Max: 2}}}, ""},
	} {
		c.variant.Name = name
		if got := scaledUnit(base, c.variant); got != c.want {
			t.Errorf("%s: %q is scaled, want %q", name, got, c.want)
		}
	}
}

// TestMoreProcessorsScaleAUnit: as more replicas do. With other memory, or another system, it is no scaling.
func TestMoreProcessorsScaleAUnit(t *testing.T) {
	in := kitchen{gain: map[string]float64{"cook": 1.5, "oven": 1, "waiter": 1}}.input(lab.FactorUsers)
	for i, limits := range []lab.Limits{{CPU: 0.2}, {CPU: 0.4}, {CPU: 0.4, Memory: 1 << 20}, {CPU: 0.2}} {
		v := &in.Plan.Study.Variants[i]
		v.Replicas = nil
		if i > 0 {
			v.Limits = map[string]lab.Limits{lab.AllUnits: {CPU: 0.2}, strings.TrimSuffix(v.Name, "-x2"): limits}
		}
	}
	in.Plan.Study.Variants[3].Replicas = map[string]int{"waiter": 2}
	in.Plan.Study.Variants[3].External = &lab.ExternalSystem{Image: "other"}
	b := bottleneckOf(t, in)
	if d := b.Doubled[0]; len(b.Doubled) != 1 || d.Unit != "cook" || d.CPU != 0.4 || d.Replicas != 1 {
		t.Errorf("scaled are %+v, want cook alone", b.Doubled)
	}
	wantAnswer(t, b, "Scale cook: at busy, cook with 0.4 processors gives 1.5")
	if h := Analyse(in).Answer.Headline; h == nil || h.Bars[0].Label != "cook with 0.4 processors" {
		t.Errorf("the headline is %+v, want a bar of cook with 0.4 processors", h)
	}
}

// TestMoreReplicasWithMoreProcessorsScaleAUnit: the answer has both.
func TestMoreReplicasWithMoreProcessorsScaleAUnit(t *testing.T) {
	in := kitchen{gain: map[string]float64{"cook": 1.5, "oven": 1, "waiter": 1}}.input(lab.FactorUsers)
	in.Plan.Study.Variants[1].Limits = map[string]lab.Limits{lab.AllUnits: {CPU: 0.2}, "cook": {CPU: 0.4}}
	wantAnswer(t, bottleneckOf(t, in), "Scale cook: at busy, 2 x cook with 0.4 processors gives 1.5")
}

// TestTwoUnitsThatMakeItWorseAreNamedTogether: what makes it worse comes before its figures.
func TestTwoUnitsThatMakeItWorseAreNamedTogether(t *testing.T) {
	b := bottleneckOf(t, kitchen{gain: map[string]float64{"oven": 1, "cook": 0.9, "waiter": 0.8}}.input(
		lab.FactorUsers))
	wantAnswer(t, b, "It gets worse if cook or waiter is scaled: 2 x cook gives 0.9", "; 2 x waiter gives 0.8",
		"It makes no difference if oven is scaled.")
}

// TestAUnitThatWaitsIsTheBottleneck: the oven limits the throughput and needs hardly any CPU; the waiter uses
// much CPU and limits nothing.
func TestAUnitThatWaitsIsTheBottleneck(t *testing.T) {
	b := bottleneckOf(t, kitchen{
		gain: map[string]float64{"oven": 1.8, "cook": 1.0, "waiter": 0.8},
		cpu:  map[string]float64{"oven": 0.05, "cook": 0.3, "waiter": 0.9},
		path: []lab.Segment{
			{Seconds: 0.6, Unit: "oven", Kind: lab.SegmentBusiness},
			{Seconds: 0.1, Unit: "oven", Kind: lab.SegmentQueueing},
			{Seconds: 0.2, Unit: "cook", Kind: lab.SegmentQueueing},
			{Seconds: 0.1, Unit: "waiter", Kind: lab.SegmentBusiness},
		},
	}.input(lab.FactorUsers))
	var order []string
	for _, d := range b.Doubled {
		order = append(order, d.Unit)
	}
	if want := []string{"oven", "cook", "waiter"}; !slices.Equal(order, want) {
		t.Errorf("in the order %v, want %v", order, want)
	}
	wantAnswer(t, b, "Scale oven: at busy, 2 x oven gives 1.8",
		"It gets worse if waiter is scaled: 2 x waiter gives 0.8",
		"It makes no difference if cook is scaled.",
		"CPU share would have misled: it points to waiter, which used 90 % of the CPU that it may use, and 2 x "+
			"waiter gives 0.8", "oven used 5.0 % of the CPU",
		"Queueing would have misled: it points to cook, which had operations wait 200 ms",
		"Critical path would have told: it points to oven, which was 70 % of the critical path")
}

func TestAUnitThatBurnsCPUIsTheBottleneck(t *testing.T) {
	b := bottleneckOf(t, kitchen{
		gain: map[string]float64{"oven": 1.0, "cook": 1.0, "waiter": 1.9},
		cpu:  map[string]float64{"oven": 0.05, "cook": 0.3, "waiter": 0.98},
	}.input(lab.FactorUsers))
	wantAnswer(t, b, "Scale waiter: at busy", "CPU share would have told: it points to waiter, which used 98 %",
		"Queueing tells nothing: it was not measured", "Critical path tells nothing")
}

func TestIfNoUnitHelpsNoneIsNamed(t *testing.T) {
	b := bottleneckOf(t, kitchen{
		gain: map[string]float64{"oven": 1, "cook": 1, "waiter": 0.8}, cpu: map[string]float64{"waiter": 0.98},
	}.input(lab.FactorUsers))
	wantAnswer(t, b, "No unit is known to be the bottleneck", "It gets worse if waiter is scaled: 2 x waiter",
		"It makes no difference if cook or oven is scaled.",
		"CPU share points to waiter")
	if b.Signals[0].Right != nil {
		t.Error("a signal is judged where nothing is known to be right")
	}
}

func TestAtAnOfferedRateThereIsNoBottleneck(t *testing.T) {
	k := kitchen{gain: map[string]float64{"oven": 1, "cook": 1, "waiter": 1}}
	if a := Analyse(k.input(lab.FactorRate)); len(a.Bottlenecks) != 0 {
		t.Errorf("%d bottlenecks, want none", len(a.Bottlenecks))
	}
	in := k.input(lab.FactorUsers)
	for i := range in.Plan.Study.Variants[1:] {
		in.Plan.Study.Variants[1+i].Replicas["spoon"] = 2
	}
	if a := Analyse(in); len(a.Bottlenecks) != 0 {
		t.Errorf("two units at once: %d bottlenecks, want none", len(a.Bottlenecks))
	}
}

func TestReplicasThatAPlatformAddsAreNamed(t *testing.T) {
	trials := []lab.Trial{
		{Arrivals: []lab.Arrival{{Unit: "milk-2", Asked: 14, Ready: 16},
			{Unit: "milk-10", Asked: 30, Ready: 33.04}}},
		{Arrivals: []lab.Arrival{{Unit: "milk-2", Asked: 16, Ready: 17}, {Unit: "bread-2", Asked: 1, Ready: 2},
			{Unit: "milk-shake-2", Asked: 1, Ready: 2}}},
	}
	want := "milk-2 15 s after the load had begun, ready at 16.5 s (medians; 2 of 2 trials), milk-10 30 s " +
		"after the load had begun, ready at 33.0 s (medians; 1 of 2 trials)"
	if got := added("milk", trials); got != want {
		t.Errorf("added %q, want %q", got, want)
	}
	if got := added("till", trials); got != "no replica" {
		t.Errorf("of a unit that was not scaled it says %q", got)
	}
}

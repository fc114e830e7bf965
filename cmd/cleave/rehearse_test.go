package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
)

// TestTrialsOfNearlyOneRateAreRehearsedOnce: the trials of a system of the user have slightly different
// measured rates. They are rehearsed once, and all are compared with the result.
func TestTrialsOfNearlyOneRateAreRehearsedOnce(t *testing.T) {
	m := model.Model{}
	for _, rate := range []float64{59.1, 181, 60.4, 179, 61} {
		m.Measured = append(m.Measured, model.Measurement{Rate: rate})
	}
	if got := measuredRates(m, ""); !slices.Equal(got, []float64{59.1, 181}) {
		t.Errorf("rates %v, want one of each", got)
	}
	m.Measured = append(m.Measured, model.Measurement{Rate: 900, Users: capacityUsers})
	f := &rehearseFlags{rate: 60, capacity: true}
	s := f.study(lab.SystemInfo{}, m, "a change", nil)
	if len(s.Points) != 3 || s.Points[0].Levels[lab.FactorRate] != 60 || len(s.Variants[0].Points) != 3 {
		t.Errorf("points %+v, want 60/s, 181/s and users", s.Points)
	}
	metric := lab.Metric{Name: "cpu"}
	r := rehearsedChange{found: lab.Analysis{Results: []lab.Result{
		{Variant: asIsVariant, Point: s.Points[0], Metric: metric.Name},
		{Variant: asIsVariant, Point: s.Points[1], Metric: metric.Name},
		{Variant: asIsVariant, Point: s.Points[2], Metric: metric.Name}}}}
	for i, under := range []model.Measurement{{Rate: 59.1}, {Rate: 181}, {Rate: 900, Users: capacityUsers}} {
		if r.result(asIsVariant, under, metric) != &r.found.Results[i] {
			t.Errorf("no result of %+v", under)
		}
	}
}

// TestARehearsedMedianInAGapIsRight: half of the measured operations are short and half are long. A rehearsed
// median in the gap between them is no error of the rehearsal, as it is none of a prediction.
func TestARehearsedMedianInAGapIsRight(t *testing.T) {
	metrics := []lab.Metric{{Name: "p50", Unit: "s", Quantity: lab.ResponseTime, Quantile: 0.5}}
	at := ratePoint(60)
	for rehearsed, want := range map[float64]string{
		0.002: "  median response time as it is at 60/s: -78 % off, beyond the margin of 15 %, but between ",
		0.02:  "  ! median response time as it is at 60/s: +122 % off, beyond the margin of 15 %\n",
	} {
		r := rehearsedChange{study: lab.Study{Metrics: metrics}, found: lab.Analysis{Results: []lab.Result{
			{Variant: asIsVariant, Point: at, Metric: "p50", Unit: "s", Mean: rehearsed}}}}
		r.model.Measured = []model.Measurement{{Rate: 60, Time: model.Distribution{Quantiles: model.Quantiles{
			"p45": time.Millisecond, "p50": 9 * time.Millisecond, "p55": 10 * time.Millisecond}}}}
		var text strings.Builder
		r.writeErrors(&text)
		if trusted := !strings.Contains(text.String(), "trust no figure"); trusted != (rehearsed < 0.01) ||
			!strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// TestARehearsalAnswersByWhatWasMeasured: the first lines of the report, and its document, have each measured
// figure of the system as it is, multiplied by the ratio of both placements. If the model does not have the
// figure, they say so.
func TestARehearsalAnswersByWhatWasMeasured(t *testing.T) {
	folder := createRun(t, t.TempDir(), "rehearse", "../../predict/testdata/small.model.yaml", "--split",
		"stock", "--blocks", "3", "--capacity")
	found, err := analyse(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := folder.Plan()
	if err != nil {
		t.Fatal(err)
	}
	// 0: the model does not have it.
	measured := map[string]float64{"median response time": 0.0062, "CPU per operation": 0.00152, "capacity": 0}
	if len(found.Rehearsed) != len(measured) {
		t.Fatalf("figures %+v, want three", found.Rehearsed)
	}
	for _, f := range found.Rehearsed {
		value, known := measured[f.What]
		if !known || f.Ratio == nil || (f.Changed == nil) != (value == 0) ||
			value > 0 && (f.Measured.Value != value || f.Changed.Value != value*f.Ratio.Value) {
			t.Errorf("%+v, want the ratio times %g", f, value)
		}
	}
	other := found.Rehearsed[0] // at a rate at which the model was measured, but which --rate does not name
	other.What = "figure at another rate"
	other.Point = ratePoint(50)
	found.Rehearsed = append(found.Rehearsed, other)
	found.Rehearsed[0].Measured.Low = &found.Rehearsed[0].Measured.Value
	var text strings.Builder
	rehearsedChange{found: found, study: plan.Study}.writeProducts(&text)
	for _, want := range []string{"what was measured as it is (6.20 ms).", "  An operation would take ",
		"what was measured as it is (1.52 ms, in one trial: no interval).",
		"The capacity is withheld: the model does not say what 64 users got of the system as it is"} {
		if !strings.Contains(text.String(), want) || strings.Contains(text.String(), other.What) {
			t.Errorf("no %q, or a %s, in\n%s", want, other.What, text.String())
		}
	}
}

// TestUnitsOnOtherHostsShareNone: the limits of a rehearsal do not say that units on hosts of the user share
// this one. Private clusters do.
func TestUnitsOnOtherHostsShareNone(t *testing.T) {
	for _, c := range []struct {
		deployment, variable string
		here                 bool
	}{
		{lab.Process, "", true}, {lab.Swarm, "", true}, {lab.Swarm, "127.0.0.1", false}, {lab.SSH, "", false},
	} {
		if c.variable != "" {
			t.Setenv(swarm.Variable, c.variable)
		}
		limits := strings.Join(rehearsalLimits(model.Model{}, c.deployment), "\n")
		if strings.Contains(limits, "all units share this host") != c.here {
			t.Errorf("%s (%q): the limits are\n%s", c.deployment, c.variable, limits)
		}
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/store"
)

func TestPlanSaysWhatItTakes(t *testing.T) {
	plan := planned(t, "compare", "a=http://127.0.0.1:1", "b=http://127.0.0.1:2", "--rate", "10", "--blocks", "2", "-d", "5s", "--warm-up", "1s")
	results := t.TempDir()
	words := func() string {
		var out bytes.Buffer
		if err := planWords(&out, plan, results); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	expect := func(wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			if got := words(); !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	}
	expect("trials    6 in 2 blocks", "variants  a, a.twin, b", "time      36 s of load; start,", "some 100 KiB for each trial")
	folder, err := store.Create(results, plan, lab.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	for i, stop := range []float64{1, 3} { // two on the average
		trial := lab.Trial{Schema: lab.TrialSchema, Number: i + 1, Attempt: 1, Block: 1, Variant: "a", Point: plan.Study.Points[0],
			Phases: []lab.Phase{{Name: lab.PhaseJob, Seconds: 60}, {Name: lab.PhaseStop, Seconds: stop}}}
		if err := folder.Save(trial, nil); err != nil {
			t.Fatal(err)
		}
	}
	expect("time      about 48 s, as far as the trials in "+results+"/compare/latest tell", " KiB, in "+results+"/compare")
}

func TestPlanOfJobsIsToldByJobsOfTheSameSizeOnly(t *testing.T) {
	plan := planned(t, "reproduce", "rego2021", "--quick")
	if got := timeWords(plan, earlier{}); !strings.Contains(got, "only playing shows") {
		t.Errorf("got %q", got)
	}
	results := t.TempDir()
	folder, err := store.Create(results, plan, lab.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	first := plan.Trials[0]
	point, _ := plan.Study.Point(first.Point)
	if err := folder.Save(lab.Trial{Schema: lab.TrialSchema, Number: 1, Attempt: 1, Block: 1, Variant: first.Variant, Point: point, Phases: []lab.Phase{{Name: lab.PhaseJob, Seconds: 2}}}, nil); err != nil {
		t.Fatal(err)
	}
	for scale, trials := range map[float64]int{plan.Study.Design.Scale: 1, 10: 0} {
		s := plan.Study
		s.Design.Scale = scale
		if e, err := lastRun(folder.Dir(), s); err != nil || e.trials != trials {
			t.Errorf("at scale %g: %d trials tell, error %v; want %d", scale, e.trials, err, trials)
		}
	}
}

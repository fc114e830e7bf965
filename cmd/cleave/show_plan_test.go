package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/store"
)

// TestPlanSaysWhatItTakes: a plan shows trials, time and disk space, by an earlier run if there is one.
func TestPlanSaysWhatItTakes(t *testing.T) {
	plan := makePlan(t, "compare", "a=http://127.0.0.1:1", "b=http://127.0.0.1:2", "--rate", "10", "--blocks",
		"2", "-d", "5s", "--warm-up", "1s")
	results := t.TempDir()
	text := func() string {
		var out bytes.Buffer
		if err := writePlan(&out, plan, results); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	expect := func(wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			if got := text(); !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	}
	expect("trials    6 in 2 blocks", "variants  a, a.twin, b", "arrivals  jittered",
		"time      about 45 s: 36 s of load, and start,",
		"some 100 KiB for each trial")
	folder, err := store.Create(results, plan, lab.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	for i, stop := range []float64{1, 3} { // 2 on average
		trial := lab.Trial{Schema: lab.TrialSchema, Number: i + 1, Attempt: 1, Block: 1, Variant: "a",
			Point:  plan.Study.Points[0],
			Phases: []lab.Phase{{Name: lab.PhaseJob, Seconds: 60}, {Name: lab.PhaseStop, Seconds: stop}}}
		if err := folder.Save(trial, nil); err != nil {
			t.Fatal(err)
		}
	}
	// The time outside of the job includes the warm-up, which is before the lead is ready.
	expect("time      about 42 s, estimated from the trials in "+results+"/compare/latest",
		" KiB, in "+results+"/compare")
	if err := os.WriteFile(folder.Path("plan.json"), []byte(`{"schema": "cleave-plan/0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("time      about 45 s: 36 s of load", "some 100 KiB for each trial",
		`not estimated from the last run: `+folder.Path("plan.json")+` has schema "cleave-plan/0"`)
}

// TestComparisonsAreNotInStepWithTheirSystems: open loads of comparisons have jittered
// arrivals by default, and open loads of studies those of the study.
func TestComparisonsAreNotInStepWithTheirSystems(t *testing.T) {
	compare := []string{"compare", "a=http://127.0.0.1:1", "b=http://127.0.0.1:2", "-r", "5"}
	for want, commands := range map[string][][]string{
		lab.JitteredArrivals: {compare, {"explain", "shop"}, {"bottleneck", "shop"}},
		"constant":           {append(compare, "--arrivals", "constant")},
		"":                   {{"reproduce", "fama2021"}},
	} {
		for _, command := range commands {
			if got := makePlan(t, command...).Study.Load.Arrivals; got != want {
				t.Errorf("%v: arrivals %q, want %q", command, got, want)
			}
		}
	}
}

// TestPlannedTimeOfJobs: the time of jobs is only known from an earlier run, or from the study itself.
func TestPlannedTimeOfJobs(t *testing.T) {
	for command, want := range map[string]string{
		"reproduce rego2021 --quick":                                   "about 95 s on two processors",
		"reproduce rego2021 --quick --points s1":                       "unknown before a run",
		"reproduce rego2021 --quick --until decided":                   "unknown before a run",
		"reproduce rego2021":                                           "unknown before a run",
		"check shop --architecture sync":                               "unknown before a run",
		"check shop --architecture sync,async --fault kill:orders@60s": "about 2 min: 2 min of load",
	} {
		if got := planTime(makePlan(t, strings.Fields(command)...), earlierRun{}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// TestAWarmUpUntilSteadyIsPlanned: the flags of the warm-up set its least and longest time in the plan.
func TestAWarmUpUntilSteadyIsPlanned(t *testing.T) {
	for flags, want := range map[string][2]float64{ // least and limit
		"--warm-up steady":                         {0, 60},
		"--warm-up steady --warm-up-limit 20s":     {0, 20},
		"--warm-up-limit 20s --warm-up steady":     {0, 20},
		"--warm-up-limit 20s":                      {2, 20},
		"--warm-up 5s --warm-up-limit 20s --quick": {5, 20},
		"--quick": {0.5, 0},
	} {
		for _, command := range []string{"compare a=http://127.0.0.1:1 b=http://127.0.0.1:2 --rate 10 ",
			"explain shop "} {
			plan := makePlan(t, strings.Fields(command+flags)...)
			if l := plan.Study.Load; l.WarmUp != want[0] || l.WarmUpLimit != want[1] {
				t.Errorf("%s %s: a warm-up of %g to %g s, want %v", command, flags, l.WarmUp, l.WarmUpLimit, want)
			}
			if got := planTime(plan, earlierRun{}); strings.HasPrefix(got, "up to ") != (want[1] > 0) {
				t.Errorf("%s %s: %s", command, flags, got)
			}
			if plan.Study.Design.TrialTimeout <= want[1]+plan.Study.Load.Duration {
				t.Errorf("%s %s: a trial is ended after %g s", command, flags, plan.Study.Design.TrialTimeout)
			}
		}
	}
}

// TestATrialMayLastAsLongAsItsLoad: the time limit of a trial is longer than a long load, or than the loads
// of a search.
func TestATrialMayLastAsLongAsItsLoad(t *testing.T) {
	for command, least := range map[string]float64{
		"explain shop -d 2h":             2*3600 + 600,
		"explain shop -d 10m --capacity": 20 * 300,
		"bottleneck people -d 2h":        2*3600 + 600,
		"rehearse ../../predict/testdata/small.model.yaml --split stock -d 2h": 2*3600 + 600,
	} {
		if got := makePlan(t, strings.Fields(command)...).Study.Design.TrialTimeout; got < least {
			t.Errorf("%s: a trial is ended after %g s, want %g or more", command, got, least)
		}
	}
}

// TestPlanOfJobsIsEstimatedFromSmallerJobs: the time of a job grows with the scale, but not the overhead. For
// trials without data, those of their variant are used.
func TestPlanOfJobsIsEstimatedFromSmallerJobs(t *testing.T) {
	small := makePlan(t, "reproduce", "rego2021", "--quick", "--points", "s1")
	results := t.TempDir()
	folder, err := store.Create(results, small, lab.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	for i, variant := range []string{"http", "uds"} {
		trial := lab.Trial{Schema: lab.TrialSchema, Number: i + 1, Attempt: 1, Block: 1, Variant: variant,
			Phases: []lab.Phase{{Name: lab.PhaseStop, Seconds: 1}, {Name: lab.PhaseJob, Seconds: 2}}}
		trial.Point.Name = "s1"
		if variant == "uds" {
			trial.Phases[1].Seconds = 5
		}
		if err := folder.Save(trial, nil); err != nil {
			t.Fatal(err)
		}
	}
	same, err := lastRun(folder.Dir(), small.Study)
	if err != nil {
		t.Fatal(err)
	}
	if same.bytes == 0 {
		t.Error("the size of the folder is not read")
	}
	larger := small.Study
	larger.Design.Scale *= 100
	grown, err := lastRun(folder.Dir(), larger)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		earlier        earlierRun
		variant, point string
		want           float64
	}{
		{same, "http", "s1", 3}, {same, "uds", "s1", 6}, {grown, "http", "s1", 201}, {grown, "uds", "s9", 501},
		{grown, "grpc", "s1", 351}, {same, "grpc", "s1", 4.5},
	} {
		if got := c.earlier.mean(lab.PlannedTrial{Variant: c.variant, Point: c.point}, true); got != c.want {
			t.Errorf("%s at %s, %g times as large: %g s, want %g", c.variant, c.point, c.earlier.growth, got, c.want)
		}
	}
	want := "if jobs last 100 times as long as those in " + folder.Dir() + ", at scale 0.001"
	if got := planTime(lab.Plan{Study: larger, Trials: small.Trials}, grown); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q in the end", got, want)
	}
}

// TestPlanWithoutRepeatsNamesNone: a check plays no trial again.
func TestPlanWithoutRepeatsNamesNone(t *testing.T) {
	var out bytes.Buffer
	plan := makePlan(t, "check", "shop", "--architecture", "sync")
	if err := writePlan(&out, plan, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	expectTexts(t, "the plan", out.String(), "trials    1 in 1 block\n")
}

// TestPlanSaysWhenItEndsAtTheLatest: a plan with a time limit shows its end.
func TestPlanSaysWhenItEndsAtTheLatest(t *testing.T) {
	for within, want := range map[string]string{
		"":    "ends earlier if all is decided\n",
		"20m": "ends earlier if all is decided, and at the latest 20 min after its first trial\n",
	} {
		flags := []string{"reproduce", "rego2021", "--until", "decided"}
		if within != "" {
			flags = append(flags, "--within", within)
		}
		var out bytes.Buffer
		if err := writePlan(&out, makePlan(t, flags...), t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("--within %q: no %q in\n%s", within, want, &out)
		}
	}
}

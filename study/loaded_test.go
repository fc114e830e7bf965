package study_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// kiosk returns a system under load. Its architecture castle cannot be built, and its knob till cannot be
// steel together with a door.
func kiosk() map[string]lab.SystemInfo {
	knobs := []lab.Knob{{Name: "till", Values: []string{"paper", "steel"}}}
	metric := func(name string) lab.Metric { return lab.Metric{Name: name, Title: name, Unit: "s"} }
	return map[string]lab.SystemInfo{"kiosk": {
		Name: "kiosk",
		Architectures: []lab.Architecture{{Name: "stand", Summary: "on a corner", Knobs: knobs},
			{Name: "castle", Summary: "in the air", Knobs: knobs}},
		Parameters: []lab.Parameter{{Name: "rate", Max: 1e5, Optional: true},
			{Name: "followed", Max: 1, Optional: true, Share: true}},
		Metrics: []lab.Metric{metric("done"), metric("answered")},
		Check: func(v lab.Variant) error {
			if v.Architecture == "castle" {
				return errors.New("no ground\nno walls")
			}
			if v.Knobs["till"] == "steel" && v.Knobs["door"] != "" {
				return errors.New("steel needs no door")
			}
			return nil
		},
	}}
}

// kioskStudy returns a study of the kiosk with some more lines at its end.
func kioskStudy(more string) []byte {
	return []byte(`schema: cleave-study/1
name: kiosk
title: t
system: kiosk
baseline: a
variants:
  a: {architecture: stand}
  b: {architecture: stand, knobs: {till: paper}}
  c: {architecture: castle, optional: true}
points:
  low: {rate: 1}
  high: {rate: 2}
load: {duration: 10s, warm_up: 2s, ramp_up: 3s, objective: "p99<1s", search: {duration: 5s, resolution: 1.1}}
` + more)
}

func parseKiosk(t *testing.T, more string) *study.File {
	t.Helper()
	return parsed(t, kioskStudy(more), kiosk())
}

func TestOtherRuntimesAreLeftOut(t *testing.T) {
	info := kiosk()["kiosk"]
	for i := range info.Architectures {
		info.Architectures[i].Knobs = append(info.Architectures[i].Knobs,
			lab.Knob{Name: "runtime", Values: []string{"go", "java"}})
	}
	text := strings.Replace(strings.Replace(string(kioskStudy("")), "till: paper", "runtime: java", 1),
		"b: {architecture", "b: {summary: hot, architecture", 1)
	file := parsed(t, []byte(text), map[string]lab.SystemInfo{"kiosk": info})
	s := resolved(t, file, study.Options{Runtimes: []string{"go"}})
	want := lab.AbsentVariant{Name: "b", Summary: "hot", Reason: "its runtime is java, and only go is asked for",
		Unasked: true}
	if _, there := s.Variant("b"); there || s.Absent[len(s.Absent)-1] != want {
		t.Errorf("variants %v, absent %v, want b absent", s.Variants, s.Absent)
	}
	if _, err := file.Resolve(study.Options{Runtimes: []string{"java"}}); err == nil ||
		!strings.Contains(err.Error(), "the baseline a, which all others are compared with, would be left out") {
		t.Errorf("without the baseline: %v", err)
	}
}

func TestPointsThatThisHostCannotPlayAreNamed(t *testing.T) {
	info := kiosk()["kiosk"]
	most := 1.0
	info.Host = func(p lab.Point) error {
		if p.Levels["rate"] > most {
			return errors.New("the host is too small")
		}
		return nil
	}
	file := parsed(t, kioskStudy(""), map[string]lab.SystemInfo{"kiosk": info})
	s, err := file.Resolve(study.Options{})
	if want := []string{"point high: untestable here: the host is too small",
		"c: untestable here: no ground; no walls"}; err != nil || len(s.Points) != 1 ||
		s.Points[0].Name != "low" || !slices.Equal(s.Notes, want) {
		t.Errorf("points %v, notes %q, %v", s.Points, s.Notes, err)
	}
	most = 0
	// The error names the dropped points alone, without other notes of the study, such as that of NoGates.
	if _, err = file.Resolve(study.Options{NoGates: true}); err == nil || !strings.HasSuffix(err.Error(),
		"this host can play no point: point low: untestable here: the host is too small; "+
			"point high: untestable here: the host is too small") {
		t.Errorf("no point is left: %v", err)
	}
}

func TestAWarmUpGoesOnUntilSteady(t *testing.T) {
	// loads returns the loads of a study with and without --quick. written replaces its warm_up, quick is the
	// load of the quick profile.
	loads := func(written, quick string) (full, short lab.Load, err error) {
		text := strings.Replace(string(kioskStudy("quick: {points: [low], load: {"+quick+"}}\n")), "warm_up: 2s",
			written, 1)
		file, err := study.Parse("kiosk.yaml", []byte(text), kiosk())
		if err != nil {
			return full, short, err
		}
		all, err := file.Resolve(study.Options{})
		if err != nil {
			return full, short, err
		}
		less, err := file.Resolve(study.Options{Quick: true})
		return *all.Load, *less.Load, err
	}
	for _, c := range []struct {
		written, quick string
		full, short    [2]float64 // length and limit
	}{
		{"warm_up: steady", "", [2]float64{0, 60}, [2]float64{0, 60}},
		{"warm_up: steady, warm_up_limit: 20s", "warm_up_limit: 9s", [2]float64{0, 20}, [2]float64{0, 9}},
		{"warm_up_limit: 20s, warm_up: steady", "warm_up: 1s", [2]float64{0, 20}, [2]float64{1, 0}},
		{"warm_up: 5s, warm_up_limit: 20s", "warm_up: steady", [2]float64{5, 20}, [2]float64{0, 60}},
		{"warm_up: 5s", "duration: 1s", [2]float64{5, 0}, [2]float64{5, 0}},
	} {
		full, short, err := loads(c.written, c.quick)
		if err != nil || full.WarmUp != c.full[0] || full.WarmUpLimit != c.full[1] || short.WarmUp != c.short[0] ||
			short.WarmUpLimit != c.short[1] {
			t.Errorf("%s, quick %q: %g to %g s, quick %g to %g s, %v; want %v and %v", c.written, c.quick, full.WarmUp,
				full.WarmUpLimit, short.WarmUp, short.WarmUpLimit, err, c.full, c.short)
		}
	}
	for _, c := range [][2]string{{"warm_up: 30s, warm_up_limit: 20s", ""},
		{"warm_up: steady, warm_up_limit: 2s", ""}, {"warm_up: steady", "warm_up_limit: 1s"},
		{"warm_up: steady, warm_up_limit: 2h", ""}, {"warm_up: soon", ""}} {
		if _, _, err := loads(c[0], c[1]); err == nil || !strings.Contains(err.Error(), "warm_up") {
			t.Errorf("%s, quick %q: %v", c[0], c[1], err)
		}
	}
}

func TestQuickPlaysTheVariantsThatItNames(t *testing.T) {
	s, err := parseKiosk(t, "quick: {points: [low], variants: [a]}\n").Resolve(study.Options{Quick: true})
	if err != nil || len(s.Variants) != 1 || s.Variants[0].Name != "a" || len(s.Absent) != 2 ||
		!strings.Contains(s.Absent[1].Reason, "quick") ||
		!s.Absent[1].Unasked || s.Absent[0].Unasked || !slices.Equal(s.Unasked, []string{"high"}) {
		t.Errorf("variants %v, absent %v, points not asked for %v, %v", s.Variants, s.Absent, s.Unasked, err)
	}
	for _, name := range []string{"d", "b.knobs", "b.knobs.till"} { // b has these keys
		_, err := study.Parse("kiosk.yaml", kioskStudy("quick: {variants: ["+name+"]}\n"), kiosk())
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("quick names the variant %q", name)) {
			t.Errorf("an unknown variant: %v", err)
		}
	}
}

// TestAKnobIsRefusedOnce: the system, which refuses knobs too, is only asked about those that there are.
func TestAKnobIsRefusedOnce(t *testing.T) {
	text := strings.Replace(string(kioskStudy("")), "till: paper", "till: steel, door: x", 1)
	_, err := study.Parse("kiosk.yaml", []byte(text), kiosk())
	var problems study.Problems
	if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(err.Error(), "has no knob") {
		t.Errorf("%v, want one problem", err)
	}
}

func TestEmptyFactorsMakeNoPoint(t *testing.T) {
	text := strings.Replace(string(kioskStudy("")), "points:\n  low: {rate: 1}\n  high: {rate: 2}",
		"factors: {}", 1)
	_, err := study.Parse("kiosk.yaml", []byte(text), kiosk())
	if err == nil || err.Error() != "kiosk.yaml:1: the study needs points (or factors)" {
		t.Errorf("%v, want that it needs points", err)
	}
}

// TestWithoutACommonPointNothingIsPlayed: e plays at low alone, twins and restricted variants of the quick
// profile at high. Then e has no twin and is left out of the quick profile. Empty points would mean all
// points.
func TestWithoutACommonPointNothingIsPlayed(t *testing.T) {
	file := parsed(t, stall("design: {noise_floor: [e], noise_floor_points: [high]}\n"+
		"quick: {restricted_points: [high]}\n"), kiosk())
	for quick, want := range map[bool]string{false: "a b d e", true: "a b d"} {
		s, err := file.Resolve(study.Options{Quick: quick})
		if got := strings.Join(names(s), " "); err != nil || got != want {
			t.Errorf("quick %t: %s are played, %v; want %s", quick, got, err, want)
		}
	}
	s, err := file.Resolve(study.Options{Quick: true, Points: []string{"low"}})
	if _, there := s.Variant("e"); err != nil || !there {
		t.Errorf("at low, which was asked for, %v are played, %v; want e, too", names(s), err)
	}
	file = parsed(t, stall("design: {noise_floor: [a], noise_floor_points: [high]}\n"), kiosk())
	s, err = file.Resolve(study.Options{Points: []string{"low"}})
	if _, there := s.Variant("a" + study.TwinSuffix); err != nil || there {
		t.Errorf("at low %v are played, %v; want no twin that plays at high alone", names(s), err)
	}
}

func TestQuickChangesWhatItNamesOfTheLoad(t *testing.T) {
	file := parseKiosk(t, "quick: {points: [low], load: {duration: 1s, lateness: 50ms, search: {votes: 1}}}\n")
	full := resolved(t, file, study.Options{})
	quick := resolved(t, file, study.Options{Quick: true})
	if l := quick.Load; l.Duration != 1 || l.Lateness != 0.05 || l.WarmUp != 2 || l.RampUp != 0.3 ||
		l.Objective != "p99<1s" || l.Effort != (lab.SearchEffort{Duration: 5, Resolution: 1.1, Votes: 1}) {
		t.Errorf("quick load %+v, want another duration and votes", *l)
	}
	if l := full.Load; l.Duration != 10 || l.Effort.Votes != 0 {
		t.Errorf("the full study's load became %+v", *l)
	}
	if len(quick.Points) != 1 {
		t.Errorf("quick points %v, want low", quick.Points)
	}
}

func TestARampUpIsShorterThanTheLoad(t *testing.T) {
	late := strings.Replace(string(kioskStudy("")), "ramp_up: 3s", "ramp_up: 10s", 1)
	if _, err := study.Parse("kiosk.yaml", []byte(late), kiosk()); err == nil ||
		!strings.Contains(err.Error(), "begin over 10s") {
		t.Errorf("%v, want a ramp-up as long as the load refused", err)
	}
}

func TestTheMajorityOfProbesDecides(t *testing.T) {
	_, err := study.Parse("kiosk.yaml", kioskStudy("quick: {load: {search: {votes: 2}}}\n"), kiosk())
	if err == nil || !strings.Contains(err.Error(), "votes is 2") {
		t.Errorf("%v, want an even number of votes refused", err)
	}
}

func TestKnobsAreSetInAllVariants(t *testing.T) {
	file := parseKiosk(t, "")
	with := func(more map[string]string) study.Options {
		return study.Options{Knobs: func(lab.Variant) (map[string]string, error) { return more, nil }}
	}
	s := resolved(t, file, with(map[string]string{"till": "steel"}))
	for _, v := range s.Variants {
		if !maps.Equal(v.Knobs, map[string]string{"till": "steel"}) {
			t.Errorf("%s has the knobs %v", v.Name, v.Knobs)
		}
	}
	if file.Study.Variants[1].Knobs["till"] != "paper" {
		t.Error("Resolve has changed the file's own variants")
	}
	_, err := file.Resolve(with(map[string]string{"till": "steel", "door": "x"}))
	var problems study.Problems
	if !errors.As(err, &problems) || len(problems) != 2 || problems[0].Line != 7 ||
		!strings.Contains(err.Error(), "variant a: steel needs no door") {
		t.Errorf("%v, want both variants refused with their lines", err)
	}
}

func TestClaimsOfEveryKindSayWhatTheyNeed(t *testing.T) {
	for claim, want := range map[string]string{
		"kind: more, variant: a":                                             `needs the key "against"`,
		"kind: more, variant: a, against: b, high: 2":                        `no use for the keys "low" and "high"`,
		"kind: slower, variant: a, against: b, low: 2, high: 3":              `no use for the keys "low"`,
		"kind: slower, variant: a, against: b, low: 0":                       `no use for the keys "low"`,
		"kind: slower, variant: a, against: b, high: 0":                      `no use for the keys "low"`,
		"kind: equivalent, variant: a, against: b, low: 0":                   `needs the key "high"`,
		"kind: grows, variant: a, against: b, factor: rate, low: 1, high: 2": `no use for the keys "low"`,
		"kind: equivalent, variant: a":                                       `needs the key "against"`,
		"kind: equivalent, variant: a, against: b":                           "",
		"kind: equivalent, variant: a, against: b, low: 2, high: 1": "expected low below " +
			"high",
		"kind: equivalent, variant: a, against: a, metric: done, against_metric: answered":  "",
		"kind: equivalent, variant: a, against: a, metric: done, against_metric: forgotten": `no metric "forgotten"`,
		"kind: level, variant: a":                                         `needs the key "high"`,
		"kind: linear, variant: a, factor: rate, low: -2":                 `needs the key "high"`,
		"kind: linear, variant: a, factor: rate, low: -2, high: 0":        "",
		"kind: linear, variant: a, factor: rate, low: -2, high: -1":       "",
		"kind: more, variant: a, against: b, untestable: no meter":        "",
		"kind: more, variant: a, against: b, metric: done, untestable: x": "leave out one",
		"kind: level, variant: a, low: 0, high: 1":                        "",
		"kind: level, variant: a, low: 0, high: 1, against_metric: done":  "no use for",
	} {
		_, err := study.Parse("kiosk.yaml", kioskStudy("claims: [{id: x, text: t, "+claim+"}]\n"), kiosk())
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", claim, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", claim, err, want)
		}
	}
}

// TestScaleChangesTheLengthOfTheLoad: the parameters of a system under load are not scaled.
func TestScaleChangesTheLengthOfTheLoad(t *testing.T) {
	file := parseKiosk(t, "")
	whole := resolved(t, file, study.Options{})
	half, err := file.Resolve(study.Options{Scale: new(0.5)})
	if err != nil || half.Load.Duration != whole.Load.Duration/2 || half.Load.WarmUp != whole.Load.WarmUp {
		t.Errorf("half of %+v is %+v, %v", whole.Load, half.Load, err)
	}
	if _, err := file.Resolve(study.Options{Scale: new(0.05)}); err == nil ||
		!strings.Contains(err.Error(), "which turns loads of 10 s into loads of 0.5 s") {
		t.Errorf("a load of next to nothing: %v", err)
	}
}

// TestQuickTimeIsThatOfTheUnchangedProfile: options that change the quick profile leave out the time that it
// took its author.
func TestQuickTimeIsThatOfTheUnchangedProfile(t *testing.T) {
	file := parseKiosk(t, "quick: {blocks: 2, took: 90s}\n")
	for name, c := range map[string]struct {
		options study.Options
		took    float64
	}{
		"unchanged": {study.Options{}, 90},
		"profiled":  {study.Options{Profiled: new(1)}, 0},
		"other knobs": {study.Options{Knobs: func(lab.Variant) (map[string]string, error) { return nil, nil }},
			0},
	} {
		c.options.Quick = true
		if s := resolved(t, file, c.options); s.Took != c.took {
			t.Errorf("%s: took %v s, want %v", name, s.Took, c.took)
		}
	}
}

func TestProfiledTrialsComeAfterThoseOfTheirBlock(t *testing.T) {
	file := parseKiosk(t, "design: {blocks: 3, profiled_blocks: 2, noise_floor: [a]}\nquick: {blocks: 1}\n")
	s := resolved(t, file, study.Options{Refuses: func(v lab.Variant) error { return nil }})
	plan, err := study.Expand(s, "full", time.Now())
	testset.Must(t, err)
	// Two variants at two points, and a twin: six timed trials a block, four profiled.
	const timed, profiled = 6, 4
	for i, trial := range plan.Trials {
		block, place := i/(timed+profiled)+1, i%(timed+profiled)
		if trial.Number != i+1 || trial.Block != block || trial.Profiled != (place >= timed) ||
			trial.Profiled && strings.HasSuffix(trial.Variant, study.TwinSuffix) {
			t.Errorf("trial %d is %+v", i+1, trial)
		}
	}
	if want := 2*(timed+profiled) + timed; len(plan.Trials) != want {
		t.Errorf("%d trials, want %d", len(plan.Trials), want)
	}
	if last := s.Metrics[len(s.Metrics)-1]; !reflect.DeepEqual(last, lab.ProfiledMetric()) {
		t.Errorf("the last metric is %s", last.Name)
	}
	if err := study.CheckPlan("plan.json", plan, kiosk()); err != nil {
		t.Errorf("the plan cannot be played again: %v", err)
	}
	five := 5
	for name, c := range map[string]struct {
		options study.Options
		want    int
	}{"quick": {study.Options{Quick: true}, 0}, "quick, asked for": {study.Options{Quick: true, Profiled: &five},
		1}, "more than there are": {study.Options{Profiled: &five}, 3}} {
		if s, err := file.Resolve(c.options); err != nil || s.Design.ProfiledBlocks != c.want {
			t.Errorf("%s: %d profiled blocks, want %d (%v)", name, s.Design.ProfiledBlocks, c.want, err)
		}
	}
}

// TestAShareMayBeAFraction: all other parameters are whole numbers.
func TestAShareMayBeAFraction(t *testing.T) {
	point := func(levels string) error {
		text := strings.Replace(string(kioskStudy("")), "{rate: 1}", levels, 1)
		_, err := study.Parse("kiosk.yaml", []byte(text), kiosk())
		return err
	}
	if err := point("{rate: 1, followed: 0.125}"); err != nil {
		t.Errorf("a share of 0.125: %v", err)
	}
	for levels, want := range map[string]string{
		"{rate: 1, followed: 1.5}": "point low: followed is 1.5, expected a share from 0 to 1",
		"{rate: 1.5}":              "point low: rate is 1.5, expected a whole number from 0 to 100000",
	} {
		if err := point(levels); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ... %s", levels, err, want)
		}
	}
}

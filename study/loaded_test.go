package study_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// kiosk is a system under load: an architecture of it cannot be built, and one
// knob value neither.
func kiosk() map[string]lab.SystemInfo {
	knobs := []lab.Knob{{Name: "till", Values: []string{"paper", "steel"}}}
	metric := func(name string) lab.Metric { return lab.Metric{Name: name, Title: name, Unit: "s"} }
	return map[string]lab.SystemInfo{"kiosk": {
		Name:          "kiosk",
		Architectures: []lab.Architecture{{Name: "stand", Summary: "on a corner", Knobs: knobs}, {Name: "castle", Summary: "in the air", Knobs: knobs}},
		Parameters:    []lab.Parameter{{Name: "rate", Max: 1e5, Optional: true}},
		Metrics:       []lab.Metric{metric("done"), metric("answered")},
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

// kioskStudy is a study of it with more lines.
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
load: {duration: 10s, warm_up: 2s, objective: "p99<1s", search: {duration: 5s, resolution: 1.1}}
` + more)
}

func parseKiosk(t *testing.T, more string) *study.File {
	t.Helper()
	file, err := study.Parse("kiosk.yaml", kioskStudy(more), kiosk())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAnOptionalVariantThatCannotBeIsSetAside(t *testing.T) {
	s, err := parseKiosk(t, "claims: [{id: x, text: t, kind: slower, variant: c, against: a}]\n").Resolve(study.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Variants) != 2 || len(s.Absent) != 1 {
		t.Fatalf("%d variants and %d absent, want 2 and 1", len(s.Variants), len(s.Absent))
	}
	if want := (lab.AbsentVariant{Name: "c", Summary: "in the air", Reason: "no ground; no walls"}); s.Absent[0] != want {
		t.Errorf("absent: %+v, want %+v", s.Absent[0], want)
	}
	_, err = study.Parse("kiosk.yaml", []byte(strings.Replace(string(kioskStudy("")), ", optional: true", "", 1)), kiosk())
	if err == nil || !strings.Contains(err.Error(), "variant c: no ground; no walls") {
		t.Errorf("without optional: %v, want the reason", err)
	}
	_, err = study.Parse("kiosk.yaml", []byte(strings.Replace(string(kioskStudy("")), "baseline: a", "baseline: c", 1)), kiosk())
	if err == nil || !strings.Contains(err.Error(), `baseline names the variant "c"`) {
		t.Errorf("an absent baseline: %v, want it refused", err)
	}
}

func TestQuickChangesWhatItNamesOfTheLoad(t *testing.T) {
	file := parseKiosk(t, "quick: {points: [low], load: {duration: 1s, lateness: 50ms, search: {votes: 1}}}\n")
	full, err := file.Resolve(study.Options{})
	if err != nil {
		t.Fatal(err)
	}
	quick, err := file.Resolve(study.Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if l := quick.Load; l.Duration != 1 || l.Lateness != 0.05 || l.WarmUp != 2 || l.Objective != "p99<1s" || l.Effort != (lab.SearchEffort{Duration: 5, Resolution: 1.1, Votes: 1}) {
		t.Errorf("quick load %+v, want another duration and votes", *l)
	}
	if l := full.Load; l.Duration != 10 || l.Effort.Votes != 0 {
		t.Errorf("the full study's load became %+v", *l)
	}
	if len(quick.Points) != 1 {
		t.Errorf("quick points %v, want low", quick.Points)
	}
}

func TestTheMajorityOfProbesDecides(t *testing.T) {
	_, err := study.Parse("kiosk.yaml", kioskStudy("quick: {load: {search: {votes: 2}}}\n"), kiosk())
	if err == nil || !strings.Contains(err.Error(), "votes is 2") {
		t.Errorf("%v, want an even number of votes refused", err)
	}
}

func TestKnobsTurnedForAllVariants(t *testing.T) {
	file := parseKiosk(t, "")
	turn := func(more map[string]string) study.Options {
		return study.Options{Knobs: func(lab.Variant) (map[string]string, error) { return more, nil }}
	}
	s, err := file.Resolve(turn(map[string]string{"till": "steel"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Variants {
		if !maps.Equal(v.Knobs, map[string]string{"till": "steel"}) {
			t.Errorf("%s has the knobs %v", v.Name, v.Knobs)
		}
	}
	if file.Study.Variants[1].Knobs["till"] != "paper" {
		t.Error("Resolve has changed the file's own variants")
	}
	_, err = file.Resolve(turn(map[string]string{"till": "steel", "door": "x"}))
	var problems study.Problems
	if !errors.As(err, &problems) || len(problems) != 2 || problems[0].Line != 7 || !strings.Contains(err.Error(), "variant a: steel needs no door") {
		t.Errorf("%v, want both variants refused with their lines", err)
	}
}

func TestClaimsOfEveryKindSayWhatTheyNeed(t *testing.T) {
	for claim, want := range map[string]string{
		"kind: more, variant: a":                                                            `needs the key "against"`,
		"kind: equivalent, variant: a":                                                      `needs the key "against"`,
		"kind: equivalent, variant: a, against: b":                                          "",
		"kind: equivalent, variant: a, against: b, low: 2, high: 1":                         "expected low below high",
		"kind: equivalent, variant: a, against: a, metric: done, against_metric: answered":  "",
		"kind: equivalent, variant: a, against: a, metric: done, against_metric: forgotten": `no metric "forgotten"`,
		"kind: level, variant: a":                                                           "expected low below high",
		"kind: level, variant: a, low: 0, high: 1":                                          "",
		"kind: level, variant: a, low: 0, high: 1, against_metric: done":                    "no use for",
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

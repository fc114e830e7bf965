package study_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// stall returns the kiosk's study (kioskStudy) with further lines at its end, and two more variants: d with a
// knob, and e with this knob at one point only.
func stall(steps string) []byte {
	return []byte(strings.Replace(string(kioskStudy(steps)), "  c:",
		"  d: {architecture: stand, knobs: {till: steel}}\n  e: {architecture: stand, knobs: {till: steel}, "+
			"points: [low]}\n  c:", 1))
}

func TestStepsLeadFromVariantToVariant(t *testing.T) {
	file := parsed(t, stall("steps: {variants: [a, c, e], points: [low], metrics: [answered]}\n"), kiosk())
	till := []lab.KnobChange{{Knob: "till", From: "paper", To: "steel"}}
	s := resolved(t, file, study.Options{})
	want := []lab.PathStep{{Order: 1, Name: "a -> e", Changes: till, Before: "a", Variant: "e"}}
	if !reflect.DeepEqual(s.Steps, want) || !reflect.DeepEqual(s.Explained,
		&lab.Explained{Points: []string{"low"}, Metrics: []string{"answered"}}) {
		t.Errorf("steps %+v in %+v, want %+v: c cannot be built", s.Steps, s.Explained, want)
	}
	plan, err := study.Expand(s, "full", time.Time{})
	if err != nil || len(plan.Trials) != 10*7 { // ten blocks of a, b and d at two points, and e at one
		t.Errorf("%d trials, %v, want the 70 that there are without steps", len(plan.Trials), err)
	}
	if s, err = file.Resolve(study.Options{Points: []string{"high"}}); err != nil || s.Steps != nil ||
		s.Explained != nil {
		t.Errorf("steps %+v, %v, want none where they are not shown", s.Steps, err)
	}
}

// TestStepsAskTheSystem: if it names changes itself, these replace those of its knobs.
func TestStepsAskTheSystem(t *testing.T) {
	systems := kiosk()
	info := systems["kiosk"]
	info.Changes = func(from, to lab.Variant) []lab.KnobChange {
		return []lab.KnobChange{{Knob: "weight", From: from.Name, To: to.Name + to.Knobs["till"]}}
	}
	systems["kiosk"] = info
	file := parsed(t, kioskStudy("steps: {variants: [a, b]}\n"), systems)
	steel := func(lab.Variant) (map[string]string, error) { return map[string]string{"till": "steel"}, nil }
	s, err := file.Resolve(study.Options{Knobs: steel})
	if err != nil || len(s.Steps) != 1 || s.Steps[0].Changes[0] != (lab.KnobChange{Knob: "weight", From: "a",
		To: "bsteel"}) {
		t.Errorf("steps %+v, %v, want what the system says of the variants as they are played", s.Steps, err)
	}
}

// TestADeploymentIsAStep: another deployment is a change like that of a knob.
func TestADeploymentIsAStep(t *testing.T) {
	text := strings.Replace(string(kioskStudy("steps: {variants: [a, b]}\n")),
		"b: {architecture: stand, knobs: {till: paper}}",
		"b: {architecture: stand, deployment: docker-bridge}", 1)
	file := parsed(t, []byte(text), kiosk())
	s, err := file.Resolve(study.Options{})
	want := []lab.KnobChange{{Knob: "deployment", From: lab.Process, To: lab.DockerBridge}}
	if err != nil || len(s.Steps) != 1 || !reflect.DeepEqual(s.Steps[0].Changes, want) {
		t.Errorf("steps %+v (%v), want %+v", s.Steps, err, want)
	}
}

func TestMistakesInSteps(t *testing.T) {
	for steps, want := range map[string]string{
		"{variants: [a, z]}":                     `steps names the variant "z"`,
		"{variants: [a, d, a]}":                  `steps names the variant "a" twice`,
		"{variants: [a]}":                        "steps needs at least 2 variants, not 1",
		"{points: [low]}":                        `steps needs the key "variants"`,
		"{variants: [a, b]}":                     "a and b do not differ in any knob",
		"{variants: [a, e], points: [high]}":     "e does not play at high",
		"{variants: [a, d], points: [lo]}":       `steps names the point "lo" (did you mean "low"?)`,
		"{variants: [a, d], metrics: [answerd]}": `there is no metric "answerd" (did you mean "answered"?)`,
	} {
		_, err := study.Parse("stall.yaml", stall("steps: "+steps+"\n"), kiosk())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one problem that says %q", steps, err, want)
		}
	}
}

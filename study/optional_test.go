package study_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// TestAnOptionalVariantThatCannotBeIsSetAside: an optional variant that the system refuses becomes absent. If
// it is not optional, or is the baseline, the study is refused.
func TestAnOptionalVariantThatCannotBeIsSetAside(t *testing.T) {
	file := parseKiosk(t, "claims: [{id: x, text: t, kind: slower, variant: c, against: a}]\n")
	s := resolved(t, file, study.Options{})
	if len(s.Variants) != 2 || len(s.Absent) != 1 {
		t.Fatalf("%d variants and %d absent, want 2 and 1", len(s.Variants), len(s.Absent))
	}
	if want := (lab.AbsentVariant{Name: "c", Summary: "in the air",
		Reason: "no ground; no walls"}); s.Absent[0] != want {
		t.Errorf("absent: %+v, want %+v", s.Absent[0], want)
	}
	_, err := study.Parse("kiosk.yaml", []byte(strings.Replace(string(kioskStudy("")), ", optional: true", "",
		1)), kiosk())
	if err == nil || !strings.Contains(err.Error(), "variant c: no ground; no walls") {
		t.Errorf("without optional: %v, want the reason", err)
	}
	_, err = study.Parse("kiosk.yaml", []byte(strings.Replace(string(kioskStudy("")), "baseline: a",
		"baseline: c", 1)), kiosk())
	if err == nil || !strings.Contains(err.Error(), `baseline names the variant "c"`) {
		t.Errorf("an absent baseline: %v, want it refused", err)
	}
}

// TestMistakesInAnOptionalVariantAreReported: an optional variant with a mistake of its author is refused,
// also if the system could not have it anyway.
func TestMistakesInAnOptionalVariantAreReported(t *testing.T) {
	for written, want := range map[string]string{
		"knobs: {tell: steel}":  `architecture castle has no knob "tell"`,
		"knobs: {till: stele}":  `knob till is "stele", expected paper or steel`,
		"deployment: processes": `there is no deployment "processes"`,
		"points: [middle]":      `names the point "middle"`,
	} {
		text := strings.Replace(string(kioskStudy("")), "optional: true", "optional: true, "+written, 1)
		_, err := study.Parse("kiosk.yaml", []byte(text), kiosk())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", written, err, want)
		}
	}
}

// TestAStudyMayNeedAVariantThatIsSetAside for its twin and for the link of a host.
func TestAStudyMayNeedAVariantThatIsSetAside(t *testing.T) {
	text := strings.Replace(string(kioskStudy("design: {noise_floor: [c]}\nhosts: {far: {delay: 5ms}}\n")),
		"optional: true", "optional: true, nodes: {till: far}", 1)
	s := resolved(t, parsed(t, []byte(text), kiosk()), study.Options{})
	if len(s.Variants) != 2 || len(s.Absent) != 1 {
		t.Errorf("%d variants and %d absent, want 2 and 1", len(s.Variants), len(s.Absent))
	}
}

func TestAnOptionalVariantThatCannotBeDeployedIsSetAside(t *testing.T) {
	text := strings.Replace(string(kioskStudy("")), "  b: {architecture: stand,",
		"  b: {architecture: stand, deployment: docker-host, optional: true,", 1)
	file := parsed(t, []byte(text), kiosk())
	missing := func(v lab.Variant) error {
		if v.Deployment == lab.DockerHost {
			return errors.New("no daemon")
		}
		return nil
	}
	for name, c := range map[string]struct {
		options study.Options
		reason  string
	}{
		"no containers":     {study.Options{Refuses: missing}, "no daemon"},
		"containers":        {study.Options{}, ""},
		"processes instead": {study.Options{Refuses: missing, Deployment: lab.Process}, ""},
	} {
		s := resolved(t, file, c.options)
		_, there := s.Variant("b")
		if there != (c.reason == "") || len(s.Absent) > 1 && s.Absent[1].Reason != c.reason ||
			len(s.Variants)+len(s.Absent) != 3 {
			t.Errorf("%s: variants %v, absent %v", name, s.Variants, s.Absent)
		}
	}
}
